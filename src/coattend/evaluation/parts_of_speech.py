"""Parts of speech of right answers, and of the words at which answers begin and end.

An answer's part of speech is that of its first word that is no article, preposition, conjunction or punctuation: "the
red fox" is an adjective, "in 1066" a number. Penn's tags are grouped coarsely. Boundary words: POI-Net, table 5 and
figure 3.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import BenchmarkParameters
from coattend.schemas import QuestionRow
from coattend.text.cloze import BLANK, domains_of
from coattend.text.hashing import text_id

PREDICTION_COLUMNS = ["question_id", "trial_id", "start", "end", "prediction"]
"""The columns of predictions that are read."""


class TaggedText(NamedTuple):
    """The part of speech and the first character of each word of a text [W]."""

    tags: Sequence[str]
    starts: np.ndarray

    def word_at(self, offset: int) -> int:
        """The word at a character, or before it where there is none."""
        return max(0, int(np.searchsorted(self.starts, offset, side="right")) - 1)

    def ends(self, start: int, end: int) -> tuple[int, int]:
        """The first and the last word of a span of characters."""
        return self.word_at(start), self.word_at(max(start, end - 1))


def tagged(texts: Mapping[str, str], tags: pads.Dataset, names: Sequence[str]) -> dict[str, TaggedText]:
    """The words of texts that were tagged, by the text's name; ``names`` are those of the tags, by their ids."""
    # Tags are stored once for each distinct text, under the hash of it.
    ids = {name: text_id(text) for name, text in texts.items()}
    selected = pc.field("text_id").isin(pa.array(sorted(set(ids.values())), pa.string()))
    rows = tags.to_table(columns=["text_id", "tags", "starts"], filter=selected).to_pylist()
    words_of = {
        row["text_id"]: TaggedText([names[tag_id] for tag_id in row["tags"]], np.array(row["starts"])) for row in rows
    }
    return {name: words_of[key] for name, key in ids.items() if key in words_of and words_of[key].tags}


class BoundaryTags(NamedTuple):
    """Counts of the tags of boundary words: the first and the last of an answer, a one-word answer's twice."""

    gold: Counter[str]  # Of each question's first gold answer.
    predicted: Counter[str]
    wrong: Counter[str]  # The gold word's tag, where another word with another tag was predicted.


def boundary_tags(predictions: pa.Table, questions: pa.Table, passages: Mapping[str, TaggedText]) -> BoundaryTags:
    """Count the tags of boundary words of one trial's predictions; questions without an answer are left out."""
    prediction_of = {row["question_id"]: row for row in predictions.to_pylist()}
    counts = BoundaryTags(Counter(), Counter(), Counter())
    for question in questions.select(["question_id", "passage_id", "answers"]).to_pylist():
        text = passages.get(question["passage_id"])
        if text is None or not question["answers"]:
            continue
        first = question["answers"][0]
        gold = text.ends(first["start"], first["start"] + len(first["text"]))
        counts.gold.update(text.tags[word] for word in gold)
        row = prediction_of.get(question["question_id"])
        # Without a predicted span there are no boundary words to compare.
        if row is None or row["start"] is None or not row["prediction"]:
            continue
        predicted = text.ends(row["start"], row["end"])
        counts.predicted.update(text.tags[word] for word in predicted)
        for gold_word, word in zip(gold, predicted, strict=True):
            if word != gold_word and text.tags[word] != text.tags[gold_word]:
                counts.wrong[text.tags[gold_word]] += 1
    return counts


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
    """The part of speech of each question's right answer, of several the first: of `PARTS`, `OTHER` or `NO_ANSWER`.

    An option is tagged as readers of the benchmark read it, alone or in its question's blank.
    """
    rows: list[QuestionRow] = questions.select(QUESTION_COLUMNS).to_pylist()
    locations = [_place(row, passages[row["passage_id"]], benchmark) for row in rows]
    # Words are looked up by text: questions share passages.
    texts = {location.text for location in locations if location is not None}
    words = tagged({text: text for text in texts}, tags, names)
    return [_part(row, location, words) for row, location in zip(rows, locations, strict=True)]


def _part(question: QuestionRow, location: Place | None, words: Mapping[str, TaggedText]) -> str:
    if question["task"] == "span" and not question["answers"]:
        return NO_ANSWER
    if location is None or location.text not in words:
        return OTHER
    text = words[location.text]
    first, last = text.ends(location.start, location.end)
    return next((_PART_OF[tag] for tag in text.tags[first : last + 1] if tag in _PART_OF), OTHER)


def _place(question: QuestionRow, passage: str, benchmark: BenchmarkParameters) -> Place | None:
    """Locate a question's right answer; None if no tagged text holds it."""
    if question["options"] is None or question["label"] is None:
        first_gold = next(iter(question["answers"] or ()), None)
        if first_gold is None:
            return None
        return Place(passage, first_gold["start"], first_gold["start"] + len(first_gold["text"]))
    right = question["options"][question["label"]]
    if question["task"] == "word" and not benchmark.words_as_options:
        # Candidates are whole words between blanks, and look-arounds keep the blanks out of the span.
        match = re.search(rf"(?<!\S){re.escape(right)}(?!\S)", passage)
        return Place(passage, *match.span()) if match else None
    domains = domains_of(question, benchmark)
    first, *others = domains[question["label"]]
    # Two texts: the option is read alone, behind the question. One text: it fills the question's blank.
    start = 0 if others else BLANK.search(question["question"]).start()  # type: ignore[union-attr]
    return Place(others[0] if others else first, start, start + len(right))
