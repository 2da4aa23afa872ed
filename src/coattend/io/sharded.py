"""Tables in shards with a manifest, so that a run that was cut off goes on where it stopped."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NewType

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pydantic import BaseModel

from coattend.errors import CoattendError
from coattend.io.atomic import LOCK, atomic_write, exclusive_lock, matches_checksum, write_with_checksum
from coattend.io.local_dataset import DataError, LocalDataset, writing_cure
from coattend.text.hashing import file_digest

REBUILD = "Run its stage again, which mends it"
"""Cure of a damaged table."""

TablePreview = NewType("TablePreview", dict[str, Sequence[object]])


def preview_rows(data: pads.Dataset, nrows: int) -> TablePreview:
    """Return the first rows in the ``split`` form of a data frame, as text: kedro-viz cannot show list columns."""
    rows = data.head(nrows).to_pylist()
    cells = [["" if value is None else str(value) for value in row.values()] for row in rows]
    return TablePreview({"index": list(range(len(rows))), "columns": data.schema.names, "data": cells})


class Shard(BaseModel):
    """A shard in the manifest, with a digest of everything that it is computed from."""

    key: str
    rows: int
    sha256: str


class Manifest(BaseModel):
    """The manifest of a table; an origin is recorded once all of its shards are."""

    complete: bool
    origin: str | None
    shards: dict[str, Shard]


@dataclass(frozen=True)
class ShardPlan:
    """The shards of a table, and how to compute those that are missing, in any order."""

    origin: str
    """A digest of everything that the whole table is computed from; a table of the same origin is complete."""
    keys: Callable[[], Mapping[str, str]]
    """Returns, for each shard, a digest of everything that it is computed from."""
    make: Callable[[Sequence[str]], Iterator[tuple[str, pa.Table]]]


class ShardedTableDataset(LocalDataset[ShardPlan, pads.Dataset]):
    """Folder of Parquet shards with a manifest of their keys and checksums.

    A save computes only the shards whose key changed or whose file does not match the manifest, and records each one as
    soon as it is written. A folder without a complete manifest does not exist as a dataset.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, object] | None = None) -> None:
        super().__init__(filepath=filepath, metadata=metadata)
        self._manifest_path = self.filepath / "_manifest.json"

    def load(self) -> pads.Dataset:
        """Open the table lazily, after a check of every shard; wait for a run that is just writing it."""
        manifest = self._manifest()
        if not manifest.complete and (self.filepath / LOCK).exists():
            with exclusive_lock(self.filepath, f"{self.filepath} is being written"):
                manifest = self._manifest()
        if not manifest.complete:
            cure = writing_cure("Run the stage that writes it first", self.filepath)
            raise DataError("is not finished", where=str(self.filepath), cure=cure)
        for name, shard in manifest.shards.items():
            if not self._is_intact(name, shard):
                cure = writing_cure(REBUILD, self.filepath)
                raise DataError("is not the file that was written", where=str(self._file(name)), cure=cure)
        return pads.dataset([self._file(name) for name in sorted(manifest.shards)], format="parquet")

    def save(self, data: ShardPlan) -> None:
        """Compute the shards that are missing or out of date."""
        try:
            with exclusive_lock(self.filepath, f"{self.filepath} is being written"):
                self._make_missing(data)
        except CoattendError as error:
            raise DataError(error.problem, where=error.where, cure=error.cure) from error

    def origin(self) -> str | None:
        """Return the origin of the stored table; None if it is missing or incomplete."""
        return self._manifest().origin

    def _make_missing(self, plan: ShardPlan) -> None:
        manifest = self._manifest()
        recorded = manifest.shards
        intact = {name: shard for name, shard in recorded.items() if self._is_intact(name, shard)}
        if manifest.complete and manifest.origin == plan.origin and intact == recorded:
            return
        # Keys may cost a pass over the sources, which an unchanged table is spared by the return above.
        keys = plan.keys()
        current = {name: shard for name, shard in intact.items() if keys.get(name) == shard.key}
        missing = [name for name in sorted(keys) if name not in current]
        # From here on the folder is incomplete, until the last manifest is written.
        if missing or current != recorded:
            self._write_manifest(current)
        for name, table in plan.make(missing) if missing else ():
            with atomic_write(self._file(name)) as temporary:
                pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
            current[name] = Shard(key=keys[name], rows=table.num_rows, sha256=file_digest(self._file(name)))
            self._write_manifest(current)
        # Files that no key names any more go last, when all others are on the disk.
        for stale in set(self.filepath.glob("*.parquet")) - {self._file(name) for name in current}:
            stale.unlink()
        self._write_manifest(current, origin=plan.origin)

    def _manifest(self) -> Manifest:
        """Return the manifest; an empty one if it is unreadable, an incomplete one if it fails its checksum."""
        try:
            manifest = Manifest.model_validate_json(self._manifest_path.read_bytes())
            return manifest.model_copy(update={"complete": manifest.complete and matches_checksum(self._manifest_path)})
        except (FileNotFoundError, ValueError):
            return Manifest(complete=False, origin=None, shards={})

    def _write_manifest(self, shards: dict[str, Shard], *, origin: str | None = None) -> None:
        """Record the shards; with an origin, mark the table as complete."""
        manifest = Manifest(complete=origin is not None, origin=origin, shards=shards)
        with write_with_checksum(self._manifest_path) as temporary:
            temporary.write_text(json.dumps(manifest.model_dump(), indent=1, sort_keys=True))

    def _is_intact(self, name: str, shard: Shard) -> bool:
        file = self._file(name)
        return file.is_file() and file_digest(file) == shard.sha256

    def _file(self, name: str) -> Path:
        return self.filepath / f"{name}.parquet"

    def _exists(self) -> bool:
        return self._manifest().complete

    def preview(self, nrows: int = 10) -> TablePreview:
        """First rows for kedro-viz, lists written as text."""
        return preview_rows(self.load(), nrows)


def shards(data: pads.Dataset) -> dict[str, pads.ParquetFileFragment]:
    """Return the shards of a loaded table by name."""
    return {Path(fragment.path).stem: fragment for fragment in data.get_fragments()}
