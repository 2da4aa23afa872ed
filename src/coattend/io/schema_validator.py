"""Validator of the catalog: checks the schema of a table when it is saved and when it is loaded."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
from kedro.validation import CheckFailure, DataValidationError

from coattend.io.checked import TablePlan
from coattend.io.local_dataset import writing_cure
from coattend.io.sharded import ShardPlan
from coattend.schemas import SCHEMAS


class SchemaValidator:
    """Compares a table, a stream of tables, a plan or a stored table with a schema of `coattend.schemas.SCHEMAS`."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.schema = SCHEMAS[table]

    def validate(self, data: Any) -> Any:
        """Return ``data`` after a check; a mapping is checked entry by entry, and None passes.

        Streams, plans and callables in a mapping are checked table by table when they are consumed.

        Raises:
            DataValidationError: If a column is missing, unknown, of another type, or null where it must not be.
        """
        if data is None:
            return None
        if isinstance(data, Mapping):
            return {
                name: self._lazily(table) if callable(table) else self.validate(table) for name, table in data.items()
            }
        if isinstance(data, pa.Table):
            return self._check_table(data)
        if isinstance(data, pads.FileSystemDataset):
            for fragment in data.get_fragments():
                self._check_stored(fragment)
            return data
        if isinstance(data, TablePlan):
            return replace(data, make=lambda: map(self._check_table, data.make()))
        if isinstance(data, ShardPlan):
            return replace(data, make=lambda names: ((name, self._check_table(t)) for name, t in data.make(names)))
        return map(self._check_table, data)

    def _lazily(self, load: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: self.validate(load())

    def _check_stored(self, fragment: pads.ParquetFileFragment) -> None:
        schema = fragment.physical_schema
        missing = [name for name in self.schema.names if name not in schema.names]
        if missing:
            cure = writing_cure("Write it again", fragment.path)
            self._fail(f"missing in {fragment.path}, which another version wrote. {cure}", missing[0])
        self._check_schema(schema)

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
            actual = schema.field(field.name).type
            if actual != field.type:
                self._fail(f"{actual} instead of {field.type}", field.name)
        for name in schema.names:
            if name not in self.schema.names:
                self._fail("not a column of this table", name)

    def _fail(self, problem: str, column: str) -> None:
        message = f"table {self.table!r}, column {column!r}: {problem}"
        raise DataValidationError(message, failures=[CheckFailure(message=message, check=problem, column=column)])
