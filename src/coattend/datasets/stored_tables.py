"""The tables of all benchmarks, for those who learn only while they run which benchmark is meant."""

from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset as pads
from kedro.io import AbstractDataset

from coattend.datasets.atomic import DataError, local
from coattend.datasets.schema import SchemaValidator
from coattend.datasets.sharded import ShardedTableDataset
from coattend.datasets.table import TableDataset


class Profiles(NamedTuple):
    """The settings that subwords were made with."""

    tagging: str
    tokenizer: str


class StoredTables:
    """Opens tables by the name of their benchmark, as the entries of the catalog do.

    Args:
        folder: Where the tables lie.
        paths: Where below it each lies, with ``{benchmark}``, ``{tagging}`` and ``{tokenizer}`` for the names.
    """

    def __init__(self, folder: Path, paths: dict[str, str]) -> None:
        self._folder, self._paths = folder, paths

    def open(self, table: str, benchmark: str, **profiles: str) -> pads.Dataset:
        """Open a table.

        Args:
            table: ``questions``, ``passages``, ``tags`` or ``tokens``.
            benchmark: Whose it is.
            profiles: Names of the ``tagging`` and ``tokenizer`` that it was made with, for tags and tokens.

        Raises:
            DataError: If it is not there, or not whole.
            DataValidationError: If it has other columns.
        """
        path = str(self._folder / self._paths[table].format(benchmark=benchmark, **profiles))
        one_file = path.endswith(".parquet")
        dataset = TableDataset(filepath=path, table=table) if one_file else ShardedTableDataset(filepath=path)
        return SchemaValidator(table).validate(dataset.load())

    def benchmarks(self) -> list[str]:
        """The benchmarks that there are questions of, sorted."""
        place = self._paths["questions"]
        part = Path(place).parts.index("{benchmark}")
        found = self._folder.glob(place.format(benchmark="*"))
        return sorted(path.relative_to(self._folder).parts[part] for path in found)

    def tokenized(self, benchmark: str) -> list[Profiles]:
        """The settings that there are subwords of a benchmark with, sorted."""
        place = self._paths["tokens"]
        parts = Path(place).parts
        found = self._folder.glob(place.format(benchmark=benchmark, tagging="*", tokenizer="*"))
        named = [path.relative_to(self._folder).parts for path in found if path.is_dir()]
        places = [parts.index("{tagging}"), parts.index("{tokenizer}")]
        return sorted(Profiles(*(names[place] for place in places)) for names in named)


class StoredTablesDataset(AbstractDataset[None, StoredTables]):
    """Loads as a way to open the tables of any benchmark.

    Args:
        filepath: Where the tables lie.
        paths: Where below it each lies, as the catalog's own entries say.
        metadata: Not used here; read by kedro-viz.
    """

    def __init__(self, *, filepath: str, paths: dict[str, str], metadata: dict[str, Any] | None = None) -> None:
        self._folder, self._paths = local(filepath), paths
        self.metadata = metadata

    def load(self) -> StoredTables:
        """The tables, whether or not any are there."""
        return StoredTables(self._folder, self._paths)

    def save(self, data: None) -> None:
        """It is only read."""
        raise DataError("is only read", where=str(self._folder), cure="Run the data stages, which write tables")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._folder)}
