"""Rows of a file of questions, and a reader's answers to them: in this process, or in others."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa

from coattend.answering.answerer import Answerer
from coattend.answering.asked import Asked, Refused
from coattend.benchmarks.checks import storable
from coattend.tables import ANSWERS


class Row(NamedTuple):
    """A row of the file.

    Attributes:
        id: The question's own id, or a hash of its texts.
        place: Where it stands.
        asked: The question, or what is wrong with the row.
    """

    id: str
    place: str
    asked: Asked | Refused


class Answering:
    """Answers shards of rows. It is picklable: another process gets the reader's folder alone, and loads it once.

    A shard is answered with one thread, also where it is the only one: how many threads share a sum decides about its
    last digits, and the same file shall have the same answers with however many processes.

    Args:
        answerer: The reader. One that was loaded from no folder answers in this process alone.
    """

    def __init__(self, answerer: Answerer) -> None:
        self._answerer: Answerer | None = answerer
        self._folder, self._limits = answerer.folder, answerer.limits

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_answerer": None}

    def __call__(self, shard: tuple[str, Sequence[Row]]) -> tuple[str, pa.Table]:
        """The answers to a shard.

        Args:
            shard: Its name and its rows.

        Returns:
            Its name, and a table of `coattend.tables.ANSWERS` with a row for each of its rows.
        """
        if self._answerer is None:
            self._answerer = Answerer.load(self._folder, limits=self._limits)
        name, rows = shard
        with _one_thread():
            return name, _answered(rows, self._answerer)


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _answered(rows: Sequence[Row], answerer: Answerer) -> pa.Table:
    given = answerer.answers([row.asked for row in rows if isinstance(row.asked, Asked)])
    told = []
    for row in rows:
        one = row.asked if isinstance(row.asked, Refused) else next(given)
        # A question that holds half a surrogate pair is refused, and no table can store it as it is.
        question = None if isinstance(row.asked, Refused) else storable(row.asked.question)
        result = {"problem": one.message} if isinstance(one, Refused) else one
        told.append({"id": row.id, "place": row.place, "question": question} | result)
    return pa.Table.from_pylist(told, schema=ANSWERS)
