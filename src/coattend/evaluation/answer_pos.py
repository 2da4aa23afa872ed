"""Parts of speech of right answers.

An answer's part of speech is that of its first word that is no article, preposition, conjunction or punctuation: "the
red fox" is an adjective, "in 1066" a number. Penn's tags are taken together coarsely.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.evaluation.boundaries import tagged
from coattend.parameters import BenchmarkParameters
from coattend.text.questions import BLANK, question_domains

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

COLUMNS = ["question_id", "passage_id", "task", "question", "options", "label", "answers"]
"""The columns of questions that are read."""

_PART_OF = {tag: part for part, tags in PARTS.items() for tag in tags}


class Place(NamedTuple):
    """Where an answer's words stand: in a text that was tagged, from a first character to the one behind the last."""

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
        questions: The columns `COLUMNS` of questions whose answers are known.
        passages: Text by passage id.
        tags: The tags table of the benchmark's texts.
        names: The tags by their ids.
        benchmark: How options become text: an option is tagged as readers read it, alone or in its question's blank.

    Returns:
        For each question one of `PARTS`, ``other`` or ``no answer``.
    """
    rows = questions.select(COLUMNS).to_pylist()
    places = {row["question_id"]: _place(row, passages[row["passage_id"]], benchmark) for row in rows}
    words = tagged({name: place.text for name, place in places.items() if place is not None}, tags, names)
    found = []
    for row in rows:
        place, text = places[row["question_id"]], words.get(row["question_id"])
        if row["task"] == "span" and not row["answers"]:
            found.append(NO_ANSWER)
        else:
            found.append(OTHER if place is None or text is None else _part(text.between(place.start, place.end)))
    return found


def _part(tags: Iterable[str]) -> str:
    return next((_PART_OF[tag] for tag in tags if tag in _PART_OF), OTHER)


def _place(question: Mapping[str, Any], passage: str, benchmark: BenchmarkParameters) -> Place | None:
    """Where a question's right answer stands; None where it stands in no text that was tagged."""
    if question["task"] == "span":
        answers = question["answers"]
        return Place(passage, answers[0]["start"], answers[0]["start"] + len(answers[0]["text"])) if answers else None
    right = question["options"][question["label"]]
    if question["task"] == "word" and not benchmark.words_as_options:
        there = re.search(rf"(?<!\S){re.escape(right)}(?!\S)", passage)
        return Place(passage, *there.span()) if there else None
    read = question_domains(
        *(question[name] for name in ("task", "question", "options")),
        fill_blanks=benchmark.fill_blanks,
        words_as_options=benchmark.words_as_options,
    )
    first, *others = read[question["label"]]
    start = 0 if others else BLANK.search(question["question"]).start()  # type: ignore[union-attr]
    return Place(others[0] if others else first, start, start + len(right))
