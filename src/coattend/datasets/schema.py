"""The catalog's validator: a table has its schema, when it is saved and when it is loaded."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
from kedro.validation import CheckFailure, DataValidationError

from coattend.datasets.sharded import ShardPlan
from coattend.datasets.table import TablePlan
from coattend.tables import SCHEMAS


class SchemaValidator:
    """Compare a table, a stream of tables, a plan of shards or a stored table with a named schema, or several by name.

    Args:
        table: A key of `coattend.tables.SCHEMAS`.
    """

    def __init__(self, table: str) -> None:
        self.table = table
        self.schema = SCHEMAS[table]

    def validate(self, data: Any) -> Any:
        """Return ``data``; streams and plans are checked table by table while they are drawn, tables by name that are
        still to be loaded when they are, an absent table never.

        Raises:
            DataValidationError: If a column is missing, unknown, of another type, or null where it must not be.
        """
        if data is None:
            return None
        if isinstance(data, Mapping):
            return {name: self._later(one) if callable(one) else self.validate(one) for name, one in data.items()}
        if isinstance(data, pa.Table):
            return self._check_table(data)
        if isinstance(data, pads.FileSystemDataset):
            for fragment in data.get_fragments():
                self._check_schema(fragment.physical_schema)
            return data
        if isinstance(data, TablePlan):
            draw = data.make
            return replace(data, make=lambda: self._check_stream(draw()))
        if isinstance(data, ShardPlan):
            make = data.make
            return replace(data, make=lambda names: ((name, self._check_table(t)) for name, t in make(names)))
        return self._check_stream(data)

    def _later(self, load: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: self.validate(load())

    def _check_stream(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for table in tables:
            yield self._check_table(table)

    def _check_table(self, table: pa.Table) -> pa.Table:
        self._check_schema(table.schema)
        for field in self.schema:
            if not field.nullable and table.column(field.name).null_count:
                self._fail("nulls where none are allowed", field.name)
        return table

    def _check_schema(self, schema: pa.Schema) -> None:
        for field in self.schema:
            if field.name not in schema.names:
                self._fail("missing", field.name)
            found = schema.field(field.name).type
            if found != field.type:
                self._fail(f"{found} instead of {field.type}", field.name)
        for name in schema.names:
            if name not in self.schema.names:
                self._fail("not a column of this table", name)

    def _fail(self, problem: str, column: str) -> None:
        message = f"table {self.table!r}, column {column!r}: {problem}"
        raise DataValidationError(message, failures=[CheckFailure(message=message, check=problem, column=column)])
