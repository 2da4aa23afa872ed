"""One table in one Parquet file, written as a stream and atomically."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from kedro.io import AbstractDataset

from coattend.datasets.atomic import DataError, local
from coattend.datasets.preview import TablePreview, preview_rows
from coattend.datasets.seals import check, is_whole, sealed
from coattend.errors import CoattendError
from coattend.tables import SCHEMAS

KEY = b"key"
"""Metadata of a stored table's schema: what it was made from."""

MENDED = "Run its stage again: it mends it"


@dataclass(frozen=True)
class TablePlan:
    """A table that need not be made if it is there already.

    Attributes:
        key: A digest of everything that it is made from.
        make: Computes it, table by table.
    """

    key: str
    make: Callable[[], Iterable[pa.Table]]


class TableDataset(AbstractDataset[pa.Table | Iterable[pa.Table] | TablePlan, pads.Dataset | None]):
    """Saves a table, a stream of tables or a plan; loads lazily as a `pyarrow.dataset.Dataset`.

    A plan's key is kept in the metadata of the schema, and what has the same key is not written again.

    Args:
        filepath: Where the Parquet file lies.
        table: A key of `coattend.tables.SCHEMAS`, so that an empty stream still has its columns.
        optional: Whether a missing file is loaded as None instead of being an error. It still does not exist.
        metadata: Not used here; read by kedro-viz and the tracking hooks.
    """

    def __init__(
        self, *, filepath: str, table: str, optional: bool = False, metadata: dict[str, Any] | None = None
    ) -> None:
        self._path = local(filepath)
        self._schema = SCHEMAS[table]
        self.optional = optional
        self.metadata = metadata

    def load(self) -> pads.Dataset | None:
        """Open the table; its rows are read when they are asked for."""
        try:
            check(self._path, cure=MENDED)
            return pads.dataset(self._path, format="parquet")
        except FileNotFoundError as error:
            if self.optional:
                return None
            raise DataError(
                "does not exist", where=str(self._path), cure="Run the stage that writes it first"
            ) from error
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError("is not a whole Parquet file", where=str(self._path), cure=MENDED) from error

    def save(self, data: pa.Table | Iterable[pa.Table] | TablePlan) -> None:
        """Write all tables one after the other, or none."""
        schema = self._schema
        if isinstance(data, TablePlan):
            if self._key() == data.key:
                return
            schema = schema.with_metadata({KEY: data.key})
        try:
            tables = data.make() if isinstance(data, TablePlan) else [data] if isinstance(data, pa.Table) else data
            with (
                sealed(self._path) as temporary,
                pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
            ):
                for table in tables:
                    writer.write_table(table)
        except CoattendError as error:
            raise DataError(error.problem, where=error.where, cure=error.cure) from error

    def _key(self) -> str | None:
        """What the stored table was made from; None where there is none, or a damaged one."""
        try:
            if not is_whole(self._path):
                return None
            return (pq.read_schema(self._path).metadata or {}).get(KEY, b"").decode()
        except (OSError, ValueError, pa.ArrowException):
            return None

    def _exists(self) -> bool:
        return self._path.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}

    def preview(self, nrows: int = 10) -> TablePreview:
        """First rows for kedro-viz, lists written as text."""
        return preview_rows(self.load() or pads.dataset(self._schema.empty_table()), nrows)
