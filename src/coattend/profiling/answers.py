"""Where answers are: how often each option is the right one, and how many answers stand in the passage."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from coattend.profiling.groups import groups
from coattend.profiling.lengths import answer_of
from coattend.profiling.rows import Row
from coattend.text.identity import bare


def answers(questions: pa.Table, passages: dict[str, dict[str, Any]]) -> Iterator[Row]:
    """Balance of the labels, types of questions, and the share of extractive answers.

    An answer is extractive if it stands in the passage word for word, whatever the case and the punctuation.

    Args:
        questions: The benchmark's questions.
        passages: Passage id to its row.
    """
    asked = questions.to_pylist()
    for split, subset, rows in groups(questions):
        own = [asked[row] for row in rows]
        labels = Counter(row["label"] for row in own if row["label"] is not None)
        for label, count in sorted(labels.items()):
            yield Row("answers", split, subset, f"option {label + 1} is right, %", 100 * count / labels.total())
        types = Counter(name for row in own for name in row["question_types"] or ())
        for name, count in sorted(types.items()):
            yield Row("answers", split, subset, f"{name}, % of questions", 100 * count / len(own))
        found = [(answer_of(row), passages[row["passage_id"]]["text"]) for row in own]
        extractive = [stands_in(answer, text) for answer, text in found if answer is not None]
        if extractive:
            yield Row("answers", split, subset, "extractive, %", 100 * sum(extractive) / len(extractive))


def stands_in(answer: str, passage: str) -> bool:
    """Whether an answer stands in the passage word for word, whatever the case and the punctuation."""
    wanted = bare(answer)
    return bool(wanted) and f" {wanted} " in f" {bare(passage)} "
