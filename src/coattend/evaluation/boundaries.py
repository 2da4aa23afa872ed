"""Parts of speech of the words at which answers begin and end (POI-Net, table 5 and figure 3)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.text.identity import text_id

COLUMNS = ["question_id", "trial_id", "start", "end", "prediction"]
"""The columns of predictions that are read."""


class TaggedText(NamedTuple):
    """A text's words.

    Attributes:
        tags: The part of speech of each [W].
        starts: Its first character [W].
    """

    tags: Sequence[str]
    starts: np.ndarray

    def word_at(self, offset: int) -> int:
        """The word at a character, or before it where there is none."""
        return max(0, int(np.searchsorted(self.starts, offset, side="right")) - 1)

    def ends(self, start: int, end: int) -> tuple[int, int]:
        """The first and the last word of a span of characters."""
        return self.word_at(start), self.word_at(max(start, end - 1))

    def between(self, start: int, end: int) -> Sequence[str]:
        """The parts of speech of its words."""
        first, last = self.ends(start, end)
        return self.tags[first : last + 1]


def tagged(texts: Mapping[str, str], tags: pads.Dataset, names: Sequence[str]) -> dict[str, TaggedText]:
    """The words of texts that were tagged.

    Args:
        texts: Text by any name.
        tags: A tags table.
        names: The tags by their ids.

    Returns:
        The words by the text's name; texts without words are left out.
    """
    ids = {name: text_id(text) for name, text in texts.items()}
    wanted = pc.field("text_id").isin(pa.array(sorted(set(ids.values())), pa.string()))
    rows = tags.to_table(columns=["text_id", "tags", "starts"], filter=wanted).to_pylist()
    found = {row["text_id"]: TaggedText([names[one] for one in row["tags"]], np.array(row["starts"])) for row in rows}
    return {name: found[key] for name, key in ids.items() if key in found and found[key].tags}


def boundary_tags(
    predictions: pa.Table, questions: pa.Table, passages: Mapping[str, TaggedText]
) -> dict[str, Counter[str]]:
    """Count the tags of boundary words: the first and the last of an answer, a one-word answer's twice.

    Args:
        predictions: The columns `COLUMNS` of one trial's predictions.
        questions: With the columns question_id, passage_id and answers; those without an answer are left out.
        passages: Their words.

    Returns:
        ``gold``: of each question's first gold answer; ``predicted``: of the predicted ones; ``wrong``: the gold
        word's tag, where another word with another tag was predicted.
    """
    given = {row["question_id"]: row for row in predictions.to_pylist()}
    counts: dict[str, Counter[str]] = {"gold": Counter(), "predicted": Counter(), "wrong": Counter()}
    for question in questions.select(["question_id", "passage_id", "answers"]).to_pylist():
        text = passages.get(question["passage_id"])
        if text is None or not question["answers"]:
            continue
        first = question["answers"][0]
        right = text.ends(first["start"], first["start"] + len(first["text"]))
        counts["gold"].update(text.tags[word] for word in right)
        row = given.get(question["question_id"])
        if row is None or row["start"] is None or not row["prediction"]:
            continue
        chosen = text.ends(row["start"], row["end"])
        counts["predicted"].update(text.tags[word] for word in chosen)
        counts["wrong"].update(_missed(text, right, chosen))
    return counts


def _missed(text: TaggedText, right: tuple[int, int], chosen: tuple[int, int]) -> Iterator[str]:
    for gold, word in zip(right, chosen, strict=True):
        if word != gold and text.tags[word] != text.tags[gold]:
            yield text.tags[gold]
