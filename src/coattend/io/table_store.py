"""Stored tables by name: those of a benchmark, rows that another benchmark's tables already hold, and what readers and
studies left behind in earlier runs."""

import re
from collections.abc import Iterator, Mapping
from math import gcd
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from coattend.io.checked import JSONDataset, TableDataset
from coattend.io.local_dataset import LookupDataset
from coattend.io.schema_validator import SchemaValidator
from coattend.io.sharded import ShardedTableDataset, TablePreview


class Profiles(NamedTuple):
    """Names of the tagging and tokenizer profiles of a tokens table."""

    tagging: str
    tokenizer: str


class StoredTables:
    """Opens tables by benchmark and profile, at the paths of the catalog's entries below a folder.

    Paths have the placeholders ``{benchmark}``, ``{tagging}`` and ``{tokenizer}``.
    """

    def __init__(self, folder: Path, paths: dict[str, str]) -> None:
        self._folder, self._paths = folder, paths

    def open(self, table: str, benchmark: str, **profiles: str) -> pads.Dataset:
        """Open ``questions``, ``passages``, ``tags`` or ``tokens``, the last two of a ``tagging`` and ``tokenizer``.

        Raises:
            DataError: If the table is missing or damaged.
            DataValidationError: If it has other columns.
        """
        path = str(self._folder / self._paths[table].format(benchmark=benchmark, **profiles))
        one_file = path.endswith(".parquet")
        dataset = TableDataset(filepath=path, table=table) if one_file else ShardedTableDataset(filepath=path)
        return SchemaValidator(table).validate(dataset.load())

    def path(self, table: str, benchmark: str) -> Path:
        """Return the path of a table of a benchmark that needs no profile."""
        return self._folder / self._paths[table].format(benchmark=benchmark)

    def benchmarks(self) -> list[str]:
        """Return the names of all benchmarks with a questions table, sorted."""
        pattern = self._paths["questions"]
        # The pattern tells at which depth of a path the benchmark's name stands.
        depth = Path(pattern).parts.index("{benchmark}")
        tables = self._folder.glob(pattern.format(benchmark="*"))
        return sorted(path.relative_to(self._folder).parts[depth] for path in tables)

    def tokenized(self, benchmark: str) -> list[Profiles]:
        """Return the profiles of all tokens tables of a benchmark, sorted."""
        pattern = self._paths["tokens"]
        parts = Path(pattern).parts
        tagging, tokenizer = parts.index("{tagging}"), parts.index("{tokenizer}")
        tables = self._folder.glob(pattern.format(benchmark=benchmark, tagging="*", tokenizer="*"))
        folders = [path.relative_to(self._folder).parts for path in tables if path.is_dir()]
        return sorted(Profiles(names[tagging], names[tokenizer]) for names in folders)


class StoredTablesDataset(LookupDataset[StoredTables]):
    """Loads as a `StoredTables`, which opens the tables of any benchmark."""

    cure = "Run the data stages, which write tables"

    def __init__(self, *, filepath: str, paths: dict[str, str], metadata: dict[str, object] | None = None) -> None:
        super().__init__(filepath=filepath, metadata=metadata)
        self._paths = paths

    def load(self) -> StoredTables:
        """Return the store, even where no table exists."""
        return StoredTables(self.filepath, self._paths)


_SHARD_NAME = re.compile(r"(\d+)-of-(\d+)")


class StoredRows:
    """Looks up rows by text id in all sharded tables below a folder whose folders match a glob, of any benchmark."""

    def __init__(self, folder: Path, pattern: str) -> None:
        self._folder, self._pattern = folder, pattern

    def find(self, ids: pa.Array, *, shard: str, made_by: Mapping[bytes, bytes]) -> list[pa.Table]:
        """Return the stored rows of the text ids of one shard, such as ``0003-of-0008``, each once, unordered.

        A file is used only if its metadata says that its rows were computed in the same way (``made_by``) and its pages
        match their checksums.
        """
        parts: list[pa.Table] = []
        for path in self._files(shard):
            if not len(ids):
                break
            if (part := _rows(path, ids, made_by)) is not None:
                parts.append(part)
                # Rows that one file has need not be looked for in the next.
                ids = ids.filter(pc.invert(pc.is_in(ids, part.column("text_id").combine_chunks())))
        return parts

    def _files(self, shard: str) -> Iterator[Path]:
        """Yield the files that may hold ids of a shard, whatever the number of shards of their table.

        The remainder of an id by the number of shards decides its shard, so the remainders by the greatest common
        divisor of the two numbers have to agree.
        """
        requested = _SHARD_NAME.fullmatch(shard)
        for folder in sorted(self._folder.glob(self._pattern)):
            for path in sorted(folder.glob("*.parquet")):
                candidate = _SHARD_NAME.fullmatch(path.stem)
                if requested and candidate:
                    number, count = map(int, requested.groups())
                    other_number, other_count = map(int, candidate.groups())
                    common = gcd(count, other_count)
                    if number % common == other_number % common:
                        yield path


def _rows(path: Path, ids: pa.Array, made_by: Mapping[bytes, bytes]) -> pa.Table | None:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            if not made_by.items() <= (file.schema_arrow.metadata or {}).items():
                return None
            # The narrow id column decides whether the rest of the file is read at all.
            matches = pc.is_in(file.read(["text_id"]).column("text_id"), ids)
            return file.read().filter(matches) if pc.any(matches).as_py() else None
    # The file is being replaced or is damaged; loading its own table reports that.
    except (OSError, pa.ArrowException):
        return None


class StoredRowsDataset(LookupDataset[StoredRows]):
    """Loads as a `StoredRows`: rows that other benchmarks and earlier runs have computed."""

    cure = "Write the tables below it"

    def __init__(self, *, filepath: str, pattern: str, metadata: dict[str, object] | None = None) -> None:
        super().__init__(filepath=filepath, metadata=metadata)
        self._pattern = pattern

    def load(self) -> StoredRows:
        """Return the lookup, even where no table exists."""
        return StoredRows(self.filepath, self._pattern)

    def _describe(self) -> dict[str, str]:
        return super()._describe() | {"pattern": self._pattern}


class StoredAnswers:
    """Metrics and predictions of a benchmark's readers, below a folder with one folder per reader."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def readers(self) -> list[str]:
        """Return the names of the readers that were scored, sorted."""
        return sorted(path.parent.name for path in self._folder.glob("*/metrics.json"))

    def metrics(self, reader: str) -> Any:
        """Return a reader's metrics, as the catalog entry ``{benchmark}.{reader}.metrics`` holds them; None if it was
        not scored. Raise DataError if they are damaged."""
        return JSONDataset(filepath=str(self._folder / reader / "metrics.json"), optional=True).load()

    def predictions(self, reader: str) -> pads.Dataset | None:
        """Open a reader's predictions; None if there are none. Raise DataError if they are damaged."""
        path = str(self._folder / reader / "predictions.parquet")
        table = TableDataset(filepath=path, table="predictions", optional=True).load()
        return table and SchemaValidator("predictions").validate(table)


class StoredAnswersDataset(LookupDataset[StoredAnswers]):
    """Loads as a `StoredAnswers`: what the readers of a benchmark answered in this run and in earlier ones."""

    cure = "Run the stage evaluation, which writes the files below it"

    def load(self) -> StoredAnswers:
        """Return the lookup, even where no reader was scored."""
        return StoredAnswers(self.filepath)

    def preview(self) -> TablePreview:
        """List the readers that were scored for kedro-viz."""
        answers = self.load()
        columns = ["reader", "task", "splits", "seeds"]
        rows = []
        for reader in answers.readers():
            metrics = answers.metrics(reader)
            seeds = ", ".join(str(trial["seed"]) for trial in metrics["trials"])
            rows.append([reader, metrics["task"], ", ".join(metrics["splits"]), seeds])
        return TablePreview({"index": list(range(len(rows))), "columns": columns, "data": rows})


class StoredFindings:
    """Findings of studies, below a folder with one folder per study."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def studies(self) -> list[str]:
        """Return the names of the studies that were run, sorted."""
        return sorted(path.parent.name for path in self._folder.glob("*/findings.json"))

    def findings(self, study: str) -> Any:
        """Return a study's findings, as the catalog entry ``study.{study}.findings`` holds them; None if it was not
        run. Raise DataError if they are damaged."""
        return JSONDataset(filepath=str(self._folder / study / "findings.json"), optional=True).load()


class StoredFindingsDataset(LookupDataset[StoredFindings]):
    """Loads as a `StoredFindings`: what studies came to in this run and in earlier ones."""

    cure = "Run studies, which write the files below it"

    def load(self) -> StoredFindings:
        """Return the lookup, even where no study was run."""
        return StoredFindings(self.filepath)

    def preview(self) -> TablePreview:
        """List the studies that were run for kedro-viz."""
        names = self.load().studies()
        return TablePreview(
            {"index": list(range(len(names))), "columns": ["study"], "data": [[name] for name in names]}
        )
