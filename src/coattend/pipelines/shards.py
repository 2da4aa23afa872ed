"""What the stages that work shard by shard ask of a stored table."""

import hashlib
import math
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

_LITTLE = 2_000_000
"""Bytes of text below which starting processes takes longer than the work."""


_SHARD = 2_000_000
"""Bytes of text that a shard has about: what a worker holds at any time."""
_FEWEST, _MOST = 8, 4096


def fitting_shards(tables: Iterable[pads.Dataset]) -> int:
    """A number of shards that keeps each small, whatever the size: a power of two, so that growing moves few texts."""
    metadata = [fragment.metadata for table in tables for fragment in table.get_fragments()]
    needed = math.ceil(sum(map(_bytes, metadata)) / _SHARD)
    return min(max(1 << (needed - 1).bit_length(), _FEWEST), _MOST)


def values_key(fragment: pads.ParquetFileFragment, columns: list[str], *parts: str) -> str:
    """A hash of some string columns of a shard, in their order, and of other things that decide about its result."""
    content = hashlib.sha256("\n".join(parts).encode())
    for column in fragment.to_table(columns=columns).columns:
        content.update("\n".join(column.cast(pa.string()).to_pylist()).encode() + b"\n\n")
    return content.hexdigest()


def file_key(fragment: pads.ParquetFileFragment) -> str:
    """A hash of a shard's file."""
    with fragment.open() as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def origin(tables: Iterable[pads.Dataset], *parts: str) -> str:
    """A hash of stored tables, files with their names, and of other things that decide about what is made of them."""
    content = hashlib.sha256("\n".join(parts).encode())
    for table in tables:
        for fragment in table.get_fragments():
            content.update(f"{Path(fragment.path).name} {file_key(fragment)}\n".encode())
    return content.hexdigest()


def workers_for(fragments: Iterable[pads.ParquetFileFragment], workers: int | None) -> int | None:
    """How many processes shall work on shards: the wanted number, or one where there is little to do."""
    size = sum(_bytes(fragment.metadata) for fragment in fragments)
    return 1 if size < _LITTLE else workers


def _bytes(metadata: pq.FileMetaData) -> int:
    return sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
