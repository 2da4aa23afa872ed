"""A sequence of records that lie in a mapped file, each made anew when it is asked for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar, overload

import msgpack
import numpy as np

from coattend.training.mapped import MappedFile, let_go

Record = TypeVar("Record")

AT_ONCE = 32
"""Records that are gone through before their pages are let go: Linux maps 16 pages where one is read."""


class Records(Sequence[Record], Generic[Record]):
    """Records of one kind by their number.

    Args:
        kind: A dataclass of plain Python values and tuples of them.
        content: The records' values, one after the other.
        ends: Where each ends.
    """

    def __init__(self, kind: Callable[..., Record], content: np.ndarray, ends: np.ndarray) -> None:
        self._kind, self._content, self._ends = kind, content, ends

    @classmethod
    def of(cls, kind: Callable[..., Record], given: Iterable[Record]) -> "Records[Record]":
        """Write records down.

        Args:
            kind: What they are.
            given: All of them; they are drawn one by one.
        """
        content, ends, end = MappedFile(), MappedFile(), 0
        for number, one in enumerate(given, 1):
            end += content.write(msgpack.packb(tuple(vars(one).values()), unicode_errors="surrogatepass"))
            ends.write(np.int64(end))
            if number % AT_ONCE == 0:
                let_go()
        return cls(kind, content.array(np.uint8), ends.array(np.int64))

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> Record: ...

    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...

    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        number = range(len(self))[place]  # Counts from the end, and knows where that is.
        start = self._ends[number - 1] if number else 0
        return self._kind(
            *msgpack.unpackb(self._content[start : self._ends[number]], use_list=False, unicode_errors="surrogatepass")
        )

    def __iter__(self) -> Iterator[Record]:
        for number in range(len(self)):
            yield self[number]
            if number % AT_ONCE == 0:
                let_go()
