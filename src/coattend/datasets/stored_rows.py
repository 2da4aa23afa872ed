"""Rows that sharded tables of other benchmarks or earlier runs hold, found by the hash of their text."""

import re
from collections.abc import Iterator, Mapping
from math import gcd
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from kedro.io import AbstractDataset

from coattend.datasets.atomic import DataError, local

_NAME = re.compile(r"(\d+)-of-(\d+)")


class StoredRows:
    """Rows of the sharded tables below a folder, whatever benchmark they belong to.

    Args:
        folder: Where to look.
        pattern: Which folders below it are tables.
    """

    def __init__(self, folder: Path, pattern: str) -> None:
        self._folder, self._pattern = folder, pattern

    def find(self, ids: pa.Array, *, shard: str, made_by: Mapping[bytes, bytes]) -> list[pa.Table]:
        """The rows with some text ids, each once, in no certain order.

        A file is never trusted for being there: its metadata has to say that its rows were made in the same way, and
        its pages have to bear out their checksums.

        Args:
            ids: Text ids of one shard of a table that is distributed by its ids.
            shard: The shard's name, ``0003-of-0008``.
            made_by: What a file's metadata has to hold.
        """
        found: list[pa.Table] = []
        for path in self._files(shard):
            if not len(ids):
                break
            part = _rows(path, ids, made_by)
            if part is not None:
                found.append(part)
                ids = ids.filter(pc.invert(pc.is_in(ids, part.column("text_id").combine_chunks())))
        return found

    def _files(self, shard: str) -> Iterator[Path]:
        """Files that may hold ids of a shard: an id's remainder by either number of shards says where it is."""
        mine = _NAME.fullmatch(shard)
        for folder in sorted(self._folder.glob(self._pattern)):
            for path in sorted(folder.glob("*.parquet")):
                other = _NAME.fullmatch(path.stem)
                if mine and other:
                    (number, count), (its, its_count) = (map(int, match.groups()) for match in (mine, other))
                    common = gcd(count, its_count)
                    if number % common == its % common:
                        yield path


def _rows(path: Path, ids: pa.Array, made_by: Mapping[bytes, bytes]) -> pa.Table | None:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            if not made_by.items() <= (file.schema_arrow.metadata or {}).items():
                return None
            wanted = pc.is_in(file.read(["text_id"]).column("text_id"), ids)
            return file.read().filter(wanted) if pc.any(wanted).as_py() else None
    except (OSError, pa.ArrowException):  # It is being replaced, or is damaged: its own table will tell.
        return None


class StoredRowsDataset(AbstractDataset[None, StoredRows]):
    """Where to look up what other benchmarks and earlier runs have made.

    Args:
        filepath: The folder.
        pattern: Which folders below it are sharded tables.
        metadata: Not used here; read by kedro-viz.
    """

    def __init__(self, *, filepath: str, pattern: str, metadata: dict[str, Any] | None = None) -> None:
        self._folder, self._pattern = local(filepath), pattern
        self.metadata = metadata

    def load(self) -> StoredRows:
        """The place, whether anything is there or not."""
        return StoredRows(self._folder, self._pattern)

    def save(self, data: None) -> None:
        """It is only read."""
        raise DataError("is only read", where=str(self._folder), cure="Write the tables below it")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._folder), "pattern": self._pattern}
