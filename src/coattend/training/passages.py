"""Texts of passages, mapped: by their own ids, and by those of the questions about them."""

from collections.abc import Iterator, Mapping
from functools import cached_property

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.training.mapped import mapped_table, streamed
from coattend.training.rows import Rows

_COLUMNS = ["passage_id", "text"]


class Passages(Mapping[str, str]):
    """Text by passage id.

    Args:
        passages: A passages table.
    """

    def __init__(self, passages: pads.Dataset) -> None:
        schema = pa.schema([passages.schema.field(name) for name in _COLUMNS])
        table = mapped_table(streamed(passages, _COLUMNS), schema)
        self._texts, self._rows = table["text"], Rows(table["passage_id"])

    def __getitem__(self, passage_id: str) -> str:
        return self._texts[self._rows[passage_id]].as_py()

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class PassageOf(Mapping[str, str]):
    """Passage text by question id; passages are read when the first is asked for.

    Args:
        questions: Questions.
        passages: The passages table of their benchmark.
    """

    def __init__(self, questions: pa.Table, passages: pads.Dataset) -> None:
        self._questions, self._passages = questions, passages

    def __getitem__(self, question_id: str) -> str:
        return self._texts[self._questions["passage_id"][self._rows[question_id]].as_py()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _rows(self) -> Rows:
        return Rows(self._questions["question_id"])

    @cached_property
    def _texts(self) -> Passages:
        return Passages(self._passages)
