"""Groups of questions in which a reader may do better or worse: by what they ask, how long things are, and how rare."""

import re
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from coattend.evaluation import groups
from coattend.evaluation.parts_of_speech import NO_ANSWER, OTHER, PARTS

COLUMNS = [*groups.COLUMNS, "question", "options"]
"""The columns of questions that are read."""

POS = "answer_pos"
"""A column that is not in the questions table: it hangs on how the texts were tagged."""

ASKED = ("who", "what", "when", "where", "why", "how", "which")
# The optional endings cover whom, whose and contractions such as what's.
_ASKING = re.compile(rf"\b({'|'.join(ASKED)})(?:m|se|'s)?\b", re.IGNORECASE)
_MOST_GROUPS = 5

Groups = dict[str, np.ndarray]
"""Name of a group to a mask of its questions [questions], in the order in which groups are shown."""


def by_question_type(questions: pa.Table, passages: Mapping[str, str]) -> Groups:
    """By the first question word: who (whom, whose), what, when, where, why, how, which; other where there is none."""
    matches = [_ASKING.search(text) for text in questions["question"].to_pylist()]
    words = np.array([match[1].lower() if match else "other" for match in matches])
    return {word: words == word for word in (*ASKED, "other") if (words == word).any()}


def by_question_length(questions: pa.Table, passages: Mapping[str, str]) -> Groups:
    """By words of the question."""
    return _by_length(np.array([len(text.split()) for text in questions["question"].to_pylist()]))


def by_document_length(questions: pa.Table, passages: Mapping[str, str]) -> Groups:
    """By words of the passage."""
    return _by_length(np.array([len(passages[name].split()) for name in questions["passage_id"].to_pylist()]))


def by_answer_length(questions: pa.Table, passages: Mapping[str, str]) -> Groups:
    """By words of the right option, or of the shortest gold answer; 0 where there is none."""
    return _by_length(np.array([len(min(texts, key=len, default="").split()) for texts in gold_answers(questions)]))


def by_answer_frequency(questions: pa.Table, passages: Mapping[str, str]) -> Groups:
    """By the rank of the right candidate among all, the one that the passage holds most often first.

    Candidates that it holds equally often share the best of their ranks (AoA Reader's slides, "answer's frequency").
    """
    ranks = []
    for name, options, label in zip(
        *(questions[key].to_pylist() for key in ("passage_id", "options", "label")), strict=True
    ):
        words = passages[name].split()
        counts = [words.count(option) for option in options or ()]
        # Only candidates that occur more often rank better; rank 0 marks a question without options.
        ranks.append(1 + sum(count > counts[label] for count in counts) if counts else 0)
    rank_of = np.array(ranks)
    return {f"rank {rank}": rank_of == rank for rank in np.unique(rank_of).tolist() if rank}


def by_answer_pos(questions: pa.Table, passages: Mapping[str, str]) -> Groups:
    """By the part of speech of the right answer, read from the column `POS`."""
    part_of = np.array(questions[POS].to_pylist())
    return {part: part_of == part for part in (*PARTS, OTHER, NO_ANSWER) if (part_of == part).any()}


def by_annotation(questions: pa.Table, passages: Mapping[str, str]) -> Groups:
    """By the benchmark's own question types, such as DREAM's, an annotator each; a question may have several."""
    return groups.types(questions)


def by_subset(questions: pa.Table, passages: Mapping[str, str]) -> Groups:
    """By the benchmark's own subset, such as RACE's middle and high schools; none where it has none."""
    return groups.members(questions["subset"])


def gold_answers(questions: pa.Table) -> list[list[str]]:
    """The texts of each question's gold answers: one for options and words, any number for spans."""
    rows = zip(*(questions[key].to_pylist() for key in ("options", "label", "answers")), strict=True)
    return [
        [answer["text"] for answer in answers or ()] if options is None or label is None else [options[label]]
        for options, label, answers in rows
    ]


BREAKDOWNS: dict[str, Callable[[pa.Table, Mapping[str, str]], Groups]] = {
    "by_question_type": by_question_type,
    "by_question_length": by_question_length,
    "by_document_length": by_document_length,
    "by_answer_length": by_answer_length,
    "by_answer_frequency": by_answer_frequency,
    "by_answer_pos": by_answer_pos,
    "by_annotation": by_annotation,
    "by_subset": by_subset,
}
"""Breakdowns by the name that a study asks for them with."""


def _by_length(lengths: np.ndarray) -> Groups:
    """At most five groups of about equally many questions; equal lengths stay together."""
    # `lower` takes lengths that occur as edges, and equal edges merge their groups.
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, _MOST_GROUPS + 1)[1:-1], method="lower"))
    bins = np.searchsorted(edges, lengths)
    masks = {}
    for bin_index in np.unique(bins).tolist():
        rows = bins == bin_index
        low, high = int(lengths[rows].min()), int(lengths[rows].max())
        masks[f"{low}" if low == high else f"{low} to {high}"] = rows
    return masks
