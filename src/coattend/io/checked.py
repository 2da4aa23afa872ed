"""Kedro datasets of one file: JSON, text and Parquet tables, written atomically and checked when read."""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NewType

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from coattend.errors import CoattendError
from coattend.io.atomic import atomic_write, matches_checksum, verify_checksum, write_if_changed, write_with_checksum
from coattend.io.local_dataset import DataError, Loaded, LocalDataset, Saved, writing_cure
from coattend.io.sharded import REBUILD, TablePreview, preview_rows
from coattend.schemas import SCHEMAS

JSONPreview = NewType("JSONPreview", str)


class FileDataset(LocalDataset[Saved, Loaded | None]):
    """Base of entries that are one file, which is checked against its checksum when it is read.

    A missing file that is ``optional`` loads as None; `exists` still returns False.
    """

    format_problem: ClassVar[str]
    cure: ClassVar[str] = "Delete it and run its stage again"

    def __init__(self, *, filepath: str, optional: bool = False, metadata: dict[str, object] | None = None) -> None:
        super().__init__(filepath=filepath, metadata=metadata)
        self.optional = optional

    def load(self) -> Loaded | None:
        """Check and read the file."""
        cure = writing_cure(self.cure, self.filepath)
        try:
            verify_checksum(self.filepath, cure=cure)
            return self._read()
        except FileNotFoundError as error:
            if self.optional:
                return None
            cure = writing_cure("Run the stage that writes it first", self.filepath)
            raise DataError("does not exist", where=str(self.filepath), cure=cure) from error
        # Decoding errors and Arrow's are ValueErrors.
        except (ValueError, OSError) as error:
            raise DataError(self.format_problem, where=str(self.filepath), cure=cure) from error

    @abstractmethod
    def _read(self) -> Loaded:
        """Read the file, which matches its checksum."""


class JSONDataset(FileDataset[Any, Any]):
    """JSON file."""

    format_problem = "is not a whole JSON file"

    def _read(self) -> Any:
        return json.loads(self.filepath.read_text(encoding="utf-8"))

    def save(self, data: Any) -> None:
        """Write the file unless its content is the same; refuse NaN and infinity."""
        try:
            text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
        except (TypeError, ValueError) as error:
            raise DataError(f"JSON cannot hold what was to be written: {error}", where=str(self.filepath)) from error
        write_if_changed(self.filepath, text)

    def preview(self) -> JSONPreview:
        """Return the whole content for kedro-viz."""
        return JSONPreview(json.dumps(self.load(), ensure_ascii=False))


class TextDataset(FileDataset[str, str]):
    """Text file in UTF-8."""

    format_problem = "is not a text in UTF-8"

    def _read(self) -> str:
        return self.filepath.read_text(encoding="utf-8")

    def save(self, data: str) -> None:
        """Write the file; replace what UTF-8 cannot encode by a question mark."""
        with atomic_write(self.filepath) as temporary:
            temporary.write_text(data, encoding="utf-8", errors="replace")


KEY_METADATA = b"key"
"""Key in the schema's metadata: a digest of everything that the table is computed from."""


@dataclass(frozen=True)
class TablePlan:
    """A table that is computed, in parts, only if the stored one has another key."""

    key: str
    """A digest of everything that the table is computed from."""
    make: Callable[[], Iterable[pa.Table]]


class TableDataset(FileDataset[pa.Table | Iterable[pa.Table] | TablePlan, pads.Dataset]):
    """Parquet file that saves a table, a stream of tables or a `TablePlan`, and loads as a `pyarrow.dataset.Dataset`.

    The key of a plan is stored in the metadata of the schema; a plan with the same key is not computed again. ``table``
    is a key of `coattend.schemas.SCHEMAS`, so that an empty stream still has its columns.
    """

    format_problem = "is not a whole Parquet file"
    cure = REBUILD

    def __init__(
        self, *, filepath: str, table: str, optional: bool = False, metadata: dict[str, object] | None = None
    ) -> None:
        super().__init__(filepath=filepath, optional=optional, metadata=metadata)
        self._schema = SCHEMAS[table]

    def _read(self) -> pads.Dataset:
        return pads.dataset(self.filepath, format="parquet")

    def save(self, data: pa.Table | Iterable[pa.Table] | TablePlan) -> None:
        """Write all parts one after the other, or nothing."""
        schema = self._schema
        if isinstance(data, TablePlan):
            if self._key() == data.key:
                return
            schema = schema.with_metadata({KEY_METADATA: data.key})
        try:
            tables = data.make() if isinstance(data, TablePlan) else [data] if isinstance(data, pa.Table) else data
            with (
                write_with_checksum(self.filepath) as temporary,
                pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
            ):
                for table in tables:
                    writer.write_table(table)
        except CoattendError as error:
            raise DataError(error.problem, where=error.where, cure=error.cure) from error

    def _key(self) -> str | None:
        """Return the key of the stored table; None if there is none or it is damaged."""
        try:
            if not matches_checksum(self.filepath):
                return None
            metadata: dict[bytes, bytes] = pq.read_schema(self.filepath).metadata or {}
            return metadata.get(KEY_METADATA, b"").decode()
        except (OSError, ValueError, pa.ArrowException):
            return None

    def preview(self, nrows: int = 10) -> TablePreview:
        """Return the first rows for kedro-viz, lists written as text."""
        return preview_rows(self.load() or pads.dataset(self._schema.empty_table()), nrows)
