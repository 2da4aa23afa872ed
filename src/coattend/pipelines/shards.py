"""Number, keys and workers of the stages that process a stored table shard by shard."""

import hashlib
import math
from collections.abc import Iterable
from pathlib import Path

from coattend.pipelines.annotations import Dataset, FileMetaData, ParquetFileFragment
from coattend.text.hashing import file_digest

SHARD_BYTES = 2_000_000
"""Approximate bytes of text of a shard, which a worker holds at a time."""
MIN_PARALLEL_BYTES = SHARD_BYTES
"""Bytes of text below which starting processes takes longer than the work."""
MIN_SHARDS, MAX_SHARDS = 8, 4096


def shard_count(tables: Iterable[Dataset]) -> int:
    """Choose a number of shards that keeps each small: a power of two, so that growing moves few texts."""
    metadata = [fragment.metadata for table in tables for fragment in table.get_fragments()]
    needed = math.ceil(sum(map(_stored_bytes, metadata)) / SHARD_BYTES)
    # The next power of two that is not below the number needed.
    return min(max(1 << (needed - 1).bit_length(), MIN_SHARDS), MAX_SHARDS)


def column_digest(fragment: ParquetFileFragment, columns: list[str], *parts: str) -> str:
    """Hash string columns of a shard, in their order, and other parts that decide about its result."""
    content = hashlib.sha256("\n".join(parts).encode())
    for column in fragment.to_table(columns=columns).columns:
        # A blank line marks the end of each column, so that columns do not run into one another.
        content.update("\n".join(column.cast("string").to_pylist()).encode() + b"\n\n")
    return content.hexdigest()


def tables_digest(tables: Iterable[Dataset], *parts: str) -> str:
    """Hash stored tables, files with their names, and other parts that decide about a result."""
    content = hashlib.sha256("\n".join(parts).encode())
    for table in tables:
        for fragment in table.get_fragments():
            path = Path(fragment.path)
            content.update(f"{path.name} {file_digest(path)}\n".encode())
    return content.hexdigest()


def worker_count(fragments: Iterable[ParquetFileFragment], workers: int | None) -> int | None:
    """Return the configured number of workers, or one if there is little to do."""
    size = sum(_stored_bytes(fragment.metadata) for fragment in fragments)
    return 1 if size < MIN_PARALLEL_BYTES else workers


def _stored_bytes(metadata: FileMetaData) -> int:
    return sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
