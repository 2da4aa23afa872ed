"""One table in many Parquet files, each remembered with the key of what it was made from."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from kedro.io import AbstractDataset

from coattend.datasets.atomic import DataError, alone, local, replacing
from coattend.datasets.preview import TablePreview, preview_rows
from coattend.datasets.seals import is_whole, sealed
from coattend.errors import CoattendError
from coattend.text.identity import file_digest

SHARD = ("key", "rows", "sha256")
"""What a manifest says of each shard."""


@dataclass(frozen=True)
class ShardPlan:
    """What shards a table shall have, and how to make those that are not there yet.

    Attributes:
        origin: A digest of everything that the whole table is made from: what has the same is not looked at again.
        keys: Computes, shard by shard, a digest of everything that it is made from.
        make: Computes the named shards, in any order.
    """

    origin: str
    keys: Callable[[], Mapping[str, str]]
    make: Callable[[Sequence[str]], Iterator[tuple[str, pa.Table]]]


class ShardedTableDataset(AbstractDataset[ShardPlan, pads.Dataset]):
    """A folder of shards and a manifest that says which are whole and what they were made from.

    A save makes only the shards whose key changed or whose file is not what the manifest says, and records each as
    soon as it is written: a run that was cut off goes on where it stopped. A folder without a finished manifest is
    not a table.

    Args:
        filepath: The folder.
        metadata: Not used here; read by kedro-viz and the tracking hooks.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._folder = local(filepath)
        self._manifest_path = self._folder / "_manifest.json"
        self.metadata = metadata

    def load(self) -> pads.Dataset:
        """Open the table, if all of its shards are the files that were written."""
        manifest = self._manifest()
        if not manifest["complete"]:
            raise DataError("is not finished", where=str(self._folder), cure="Run the stage that writes it first")
        for name, shard in manifest["shards"].items():
            if not self._is_whole(name, shard):
                raise DataError(
                    "is not the file that was written",
                    where=str(self._file(name)),
                    cure="Run its stage again: it mends it",
                )
        return pads.dataset([self._file(name) for name in sorted(manifest["shards"])], format="parquet")

    def save(self, data: ShardPlan) -> None:
        """Make the shards that are missing or were made from something else."""
        try:
            with alone(self._folder, f"{self._folder} is being written"):
                self._make_missing(data)
        except CoattendError as error:
            raise DataError(error.problem, where=error.where, cure=error.cure) from error

    def origin(self) -> str | None:
        """What the table that is there was made from; None where there is none, or not all of it."""
        origin: str | None = self._manifest()["origin"]
        return origin

    def _make_missing(self, plan: ShardPlan) -> None:
        manifest = self._manifest()
        old = manifest["shards"]
        whole = {name: shard for name, shard in old.items() if self._is_whole(name, shard)}
        if manifest["complete"] and manifest["origin"] == plan.origin and whole == old:
            return
        keys = plan.keys()
        kept = {name: shard for name, shard in whole.items() if keys.get(name) == shard["key"]}
        missing = [name for name in sorted(keys) if name not in kept]
        if missing or kept != old:
            self._write_manifest(kept)
        for name, table in plan.make(missing) if missing else ():
            with replacing(self._file(name)) as temporary:
                pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
            kept[name] = {"key": keys[name], "rows": table.num_rows, "sha256": file_digest(self._file(name))}
            self._write_manifest(kept)
        for stale in set(self._folder.glob("*.parquet")) - {self._file(name) for name in kept}:
            stale.unlink()
        self._write_manifest(kept, origin=plan.origin)

    def _manifest(self) -> dict[str, Any]:
        """What is there. Of a damaged manifest the shards are left that are what it says of them."""
        try:
            manifest = json.loads(self._manifest_path.read_text())
            shards = {name: {key: shard[key] for key in SHARD} for name, shard in manifest["shards"].items()}
            complete = bool(manifest["complete"]) and is_whole(self._manifest_path)
            return {"complete": complete, "origin": manifest["origin"], "shards": shards}
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            return {"complete": False, "origin": None, "shards": {}}

    def _write_manifest(self, shards: dict[str, Any], *, origin: str | None = None) -> None:
        """Say what is there; with an origin, that it is everything."""
        manifest = {"complete": origin is not None, "origin": origin, "shards": shards}
        with sealed(self._manifest_path) as temporary:
            temporary.write_text(json.dumps(manifest, indent=1, sort_keys=True))

    def _is_whole(self, name: str, shard: dict[str, Any]) -> bool:
        file = self._file(name)
        return file.is_file() and file_digest(file) == shard["sha256"]

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.parquet"

    def _exists(self) -> bool:
        return bool(self._manifest()["complete"])

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._folder)}

    def preview(self, nrows: int = 10) -> TablePreview:
        """First rows for kedro-viz, lists written as text."""
        return preview_rows(self.load(), nrows)


def shards(data: pads.Dataset) -> dict[str, pads.ParquetFileFragment]:
    """The shards of a loaded table by name."""
    return {Path(fragment.path).stem: fragment for fragment in data.get_fragments()}
