"""What all parts of a profile look at, put together once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from coattend.evaluation.groups import members, subsets, within
from coattend.text.identity import bare


@dataclass(frozen=True)
class Material:
    """A benchmark's questions and passages.

    Attributes:
        questions: Rows of the questions table.
        groups: Split, subset or ``all``, and its questions: every split, and every subset of it.
        passages: Passage id to its row.
        plain: Passage id to its words in lower case, without punctuation.
    """

    questions: list[dict[str, Any]]
    groups: list[tuple[str, str, list[dict[str, Any]]]]
    passages: dict[str, dict[str, Any]]
    plain: dict[str, str]

    @classmethod
    def of(cls, questions: pa.Table, passages: pa.Table) -> "Material":
        """Put the two tables together."""
        asked = questions.to_pylist()
        groups = [
            (split, name, [asked[row] for row in np.flatnonzero(rows)])
            for split, inside in members(questions["split"]).items()
            for name, rows in within(inside, subsets(questions))
        ]
        read = {row["passage_id"]: row for row in passages.to_pylist()}
        return cls(asked, groups, read, {name: bare(row["text"]) for name, row in read.items()})

    def is_extractive(self, question: dict[str, Any], answer: str) -> bool:
        """Whether an answer stands in its passage word for word, whatever the case and the punctuation."""
        wanted = bare(answer)
        return bool(wanted) and f" {wanted} " in f" {self.plain[question['passage_id']]} "


def answer_of(question: dict[str, Any]) -> str | None:
    """The right option, or the first gold answer; None where there is none."""
    if question["options"] is not None:
        return None if question["label"] is None else question["options"][question["label"]]
    return question["answers"][0]["text"] if question["answers"] else None
