"""Parts of speech of right answers, and of the words at which answers begin and end.

An answer's part of speech is that of its first word that is no article, preposition, conjunction or punctuation: "the
red fox" is an adjective, "in 1066" a number. Penn's tags are grouped coarsely. Boundary words: POI-Net, table 5 and
figure 3.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import BenchmarkParameters
from coattend.text.cloze import BLANK, question_domains
from coattend.text.hashing import text_id

PREDICTION_COLUMNS = ["question_id", "trial_id", "start", "end", "prediction"]
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
    # Tags are stored once for each distinct text, under the hash of it.
    ids = {name: text_id(text) for name, text in texts.items()}
    selected = pc.field("text_id").isin(pa.array(sorted(set(ids.values())), pa.string()))
    rows = tags.to_table(columns=["text_id", "tags", "starts"], filter=selected).to_pylist()
    words_of = {
        row["text_id"]: TaggedText([names[tag_id] for tag_id in row["tags"]], np.array(row["starts"])) for row in rows
    }
    return {name: words_of[key] for name, key in ids.items() if key in words_of and words_of[key].tags}


def boundary_tags(
    predictions: pa.Table, questions: pa.Table, passages: Mapping[str, TaggedText]
) -> dict[str, Counter[str]]:
    """Count the tags of boundary words: the first and the last of an answer, a one-word answer's twice.

    Args:
        predictions: The columns `PREDICTION_COLUMNS` of one trial's predictions.
        questions: With the columns question_id, passage_id and answers; those without an answer are left out.
        passages: Their words.

    Returns:
        ``gold``: of each question's first gold answer; ``predicted``: of the predicted ones; ``wrong``: the gold
        word's tag, where another word with another tag was predicted.
    """
    prediction_of = {row["question_id"]: row for row in predictions.to_pylist()}
    counts: dict[str, Counter[str]] = {"gold": Counter(), "predicted": Counter(), "wrong": Counter()}
    for question in questions.select(["question_id", "passage_id", "answers"]).to_pylist():
        text = passages.get(question["passage_id"])
        if text is None or not question["answers"]:
            continue
        first = question["answers"][0]
        right = text.ends(first["start"], first["start"] + len(first["text"]))
        counts["gold"].update(text.tags[word] for word in right)
        row = prediction_of.get(question["question_id"])
        # Without a predicted span there are no boundary words to compare.
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


PARTS = {
    "noun": ("NN", "NNS"),
    "proper noun": ("NNP", "NNPS"),
    "verb": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"),
    "adjective": ("JJ", "JJR", "JJS"),
    "adverb": ("RB", "RBR", "RBS"),
    "number": ("CD",),
    "pronoun": ("PRP",),
}
"""Part of speech to its tags, in the order in which they are shown."""

OTHER = "other"
"""An answer with no word of these, or whose words were never tagged."""

NO_ANSWER = "no answer"
"""That there is no answer is the answer."""

QUESTION_COLUMNS = ["question_id", "passage_id", "task", "question", "options", "label", "answers"]
"""Columns of a questions table that `parts_of_speech` reads."""

_PART_OF = {tag: part for part, tags in PARTS.items() for tag in tags}


class Place(NamedTuple):
    """Location of an answer in a tagged text: from its first character to the one after its last."""

    text: str
    start: int
    end: int


def parts_of_speech(
    questions: pa.Table,
    passages: Mapping[str, str],
    tags: pads.Dataset,
    names: Sequence[str],
    *,
    benchmark: BenchmarkParameters,
) -> list[str]:
    """The part of speech of each question's right answer, of several gold answers that of the first.

    Args:
        questions: The columns `QUESTION_COLUMNS` of questions whose answers are known.
        passages: Text by passage id.
        tags: The tags table of the benchmark's texts.
        names: The tags by their ids.
        benchmark: How options become text: an option is tagged as readers read it, alone or in its question's blank.

    Returns:
        For each question one of `PARTS`, ``other`` or ``no answer``.
    """
    rows = questions.select(QUESTION_COLUMNS).to_pylist()
    locations = {row["question_id"]: _place(row, passages[row["passage_id"]], benchmark) for row in rows}
    words = tagged({name: location.text for name, location in locations.items() if location is not None}, tags, names)
    parts = []
    for row in rows:
        location, text = locations[row["question_id"]], words.get(row["question_id"])
        if row["task"] == "span" and not row["answers"]:
            parts.append(NO_ANSWER)
        else:
            parts.append(
                OTHER if location is None or text is None else _part(text.between(location.start, location.end))
            )
    return parts


def _part(tags: Iterable[str]) -> str:
    return next((_PART_OF[tag] for tag in tags if tag in _PART_OF), OTHER)


def _place(question: Mapping[str, Any], passage: str, benchmark: BenchmarkParameters) -> Place | None:
    """Locate a question's right answer; None if no tagged text holds it."""
    if question["task"] == "span":
        answers = question["answers"]
        return Place(passage, answers[0]["start"], answers[0]["start"] + len(answers[0]["text"])) if answers else None
    right = question["options"][question["label"]]
    if question["task"] == "word" and not benchmark.words_as_options:
        # Candidates are whole words between blanks, and look-arounds keep the blanks out of the span.
        match = re.search(rf"(?<!\S){re.escape(right)}(?!\S)", passage)
        return Place(passage, *match.span()) if match else None
    domains = question_domains(
        *(question[name] for name in ("task", "question", "options")),
        fill_blanks=benchmark.fill_blanks,
        words_as_options=benchmark.words_as_options,
    )
    first, *others = domains[question["label"]]
    # Two texts: the option is read alone, behind the question. One text: it fills the question's blank.
    start = 0 if others else BLANK.search(question["question"]).start()  # type: ignore[union-attr]
    return Place(others[0] if others else first, start, start + len(right))
