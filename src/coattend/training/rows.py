"""Which row of a table has a name."""

import hashlib
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
import pyarrow as pa

from coattend.training.mapped import ROWS, in_order, let_go


class Rows(Mapping[str, int]):
    """Row by name, as a mapped array of sorted numbers: a hash of the name in the high bits, the row in the low ones.

    Of rows with one name the last counts.

    Args:
        names: The names of all rows, mapped where they are many.
    """

    def __init__(self, names: pa.ChunkedArray) -> None:
        self._names, self._low = names, (1 << len(names).bit_length()) - 1
        self._keys = in_order(self._numbered(), np.uint64, lambda keys: keys >> np.uint64(58))

    def _numbered(self) -> Iterator[np.ndarray]:
        names, high = _each(self._names), np.uint64(~self._low & (1 << 64) - 1)
        for first in range(0, len(self._names), ROWS):
            hashes = np.fromiter(map(_hashed, islice(names, ROWS)), np.uint64)
            yield hashes & high | np.arange(first, first + len(hashes), dtype=np.uint64)

    def __getitem__(self, name: str) -> int:
        most = _hashed(name) | self._low
        place = int(np.searchsorted(self._keys, np.uint64(most), side="right")) - 1
        while place >= 0 and (found := int(self._keys[place])) | self._low == most:
            row = found & self._low
            if self._names[row].as_py() == name:
                return row
            place -= 1
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for row, name in enumerate(_each(self._names)) if self[name] == row)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _hashed(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest())


def _each(names: pa.ChunkedArray) -> Iterator[str]:
    for first in range(0, len(names), ROWS):
        yield from names.slice(first, ROWS).to_pylist()
        let_go()
