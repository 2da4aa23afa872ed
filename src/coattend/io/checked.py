"""Kedro datasets of one file: JSON, text and Parquet tables, written atomically and checked when read."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NewType

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from kedro.io import AbstractDataset

from coattend.errors import CoattendError
from coattend.io.atomic import (
    DataError,
    atomic_write,
    local_path,
    matches_checksum,
    verify_checksum,
    write_with_checksum,
)
from coattend.io.sharded import TablePreview, preview_rows
from coattend.schemas import SCHEMAS

JSONPreview = NewType("JSONPreview", str)


class JSONDataset(AbstractDataset[Any, Any]):
    """JSON file.

    Args:
        filepath: Path of the file.
        optional: Load a missing file as None instead of raising; `exists` still returns False.
        metadata: Read by kedro-viz and the tracking hooks.
    """

    def __init__(self, *, filepath: str, optional: bool = False, metadata: dict[str, object] | None = None) -> None:
        self.filepath = local_path(filepath)
        self.optional = optional
        self.metadata = metadata

    def load(self) -> Any:
        """Read the file."""
        try:
            verify_checksum(self.filepath, cure="Delete it and run its stage again")
            return json.loads(self.filepath.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            if self.optional:
                return None
            raise DataError(
                "does not exist", where=str(self.filepath), cure="Run the stage that writes it first"
            ) from error
        except (ValueError, OSError) as error:
            raise DataError(
                "is not a whole JSON file", where=str(self.filepath), cure="Delete it and run its stage again"
            ) from error

    def save(self, data: Any) -> None:
        """Write the file unless its content is the same; refuse NaN and infinity."""
        try:
            text = json.dumps(data, indent=1, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise DataError(f"JSON cannot hold what was to be written: {error}", where=str(self.filepath)) from error
        # An unchanged file keeps its modification time.
        if self._has_content(text + "\n"):
            return
        with write_with_checksum(self.filepath) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")

    def _has_content(self, text: str) -> bool:
        try:
            return matches_checksum(self.filepath) and self.filepath.read_bytes() == text.encode()
        except OSError:
            return False

    def _exists(self) -> bool:
        return self.filepath.is_file()

    def _describe(self) -> dict[str, str]:
        return {"filepath": str(self.filepath)}

    def preview(self) -> JSONPreview:
        """Return the whole content for kedro-viz."""
        return JSONPreview(json.dumps(self.load()))


class TextDataset(AbstractDataset[str, str]):
    """Text file in UTF-8.

    Args:
        filepath: Path of the file.
        metadata: Read by kedro-viz and the tracking hooks.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, object] | None = None) -> None:
        self.filepath = local_path(filepath)
        self.metadata = metadata

    def load(self) -> str:
        """Read the file."""
        try:
            return self.filepath.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise DataError(
                "does not exist", where=str(self.filepath), cure="Run the stage that writes it first"
            ) from error
        except (UnicodeDecodeError, OSError) as error:
            raise DataError(
                "is not a text in UTF-8", where=str(self.filepath), cure="Delete it and run its stage again"
            ) from error

    def save(self, data: str) -> None:
        """Write the file; replace what UTF-8 cannot encode by a question mark."""
        with atomic_write(self.filepath) as temporary:
            temporary.write_text(data, encoding="utf-8", errors="replace")

    def _exists(self) -> bool:
        return self.filepath.is_file()

    def _describe(self) -> dict[str, str]:
        return {"filepath": str(self.filepath)}


KEY_METADATA = b"key"
"""Key in the schema's metadata: a digest of everything that the table is computed from."""

REBUILD = "Run its stage again: it mends it"


@dataclass(frozen=True)
class TablePlan:
    """A table that is computed only if the stored one has another key.

    Attributes:
        key: A digest of everything that the table is computed from.
        make: Computes the table in parts.
    """

    key: str
    make: Callable[[], Iterable[pa.Table]]


class TableDataset(AbstractDataset[pa.Table | Iterable[pa.Table] | TablePlan, pads.Dataset | None]):
    """Parquet file that saves a table, a stream of tables or a `TablePlan`, and loads as a `pyarrow.dataset.Dataset`.

    The key of a plan is stored in the metadata of the schema; a plan with the same key is not computed again.

    Args:
        filepath: Path of the Parquet file.
        table: A key of `coattend.schemas.SCHEMAS`, so that an empty stream still has its columns.
        optional: Load a missing file as None instead of raising; `exists` still returns False.
        metadata: Read by kedro-viz and the tracking hooks.
    """

    def __init__(
        self, *, filepath: str, table: str, optional: bool = False, metadata: dict[str, object] | None = None
    ) -> None:
        self.filepath = local_path(filepath)
        self._schema = SCHEMAS[table]
        self.optional = optional
        self.metadata = metadata

    def load(self) -> pads.Dataset | None:
        """Open the table lazily."""
        try:
            verify_checksum(self.filepath, cure=REBUILD)
            return pads.dataset(self.filepath, format="parquet")
        except FileNotFoundError as error:
            if self.optional:
                return None
            raise DataError(
                "does not exist", where=str(self.filepath), cure="Run the stage that writes it first"
            ) from error
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError("is not a whole Parquet file", where=str(self.filepath), cure=REBUILD) from error

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

    def _exists(self) -> bool:
        return self.filepath.is_file()

    def _describe(self) -> dict[str, str]:
        return {"filepath": str(self.filepath)}

    def preview(self, nrows: int = 10) -> TablePreview:
        """Return the first rows for kedro-viz, lists written as text."""
        return preview_rows(self.load() or pads.dataset(self._schema.empty_table()), nrows)
