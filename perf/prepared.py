"""Real questions and readers, prepared by the project's own stages and parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from coattend import readers
from coattend.config import BenchmarkParameters, ReaderParameters
from coattend.config.entries import benchmark_entry
from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup
from perf.commands import ROOT

SAMPLE = "sample"


@dataclass(frozen=True)
class Prepared:
    """A project with the tables of some benchmarks.

    Attributes:
        project: The project's folder.
        env: The environment.
        benchmarks: The benchmarks that have tables.
    """

    project: Path
    env: str | None
    benchmarks: tuple[str, ...]

    @classmethod
    def of(cls, benchmarks: Sequence[str], *, project: Path = ROOT, env: str | None = None) -> "Prepared":
        """Run the data stages of benchmarks; that takes seconds where they are done."""
        from kedro.framework.project import settings
        from kedro.framework.startup import bootstrap_project

        from coattend.checks import DATA_STAGES

        bootstrap_project(project)
        with settings.SESSION_CLASS.create(project_path=project, env=env) as session:
            session.run(pipeline_names=list(DATA_STAGES), namespaces=list(benchmarks))
        return cls(project, env, tuple(benchmarks))

    def either(self, benchmark: str) -> str:
        """Return the benchmark if it is prepared, else the sample."""
        return benchmark if benchmark in self.benchmarks else SAMPLE

    def experiment(
        self, benchmark: str, reader: str, *, training: dict[str, Any] | None = None, **options: Any
    ) -> Experiment:
        """Set up the training of a reader on a benchmark.

        Args:
            benchmark: Name of the benchmark.
            reader: The reader's entry among the parameters.
            training: Changes of the training parameters.
            options: Changes of the reader's options.
        """
        parameters = self.parameters
        entry = dict(parameters["readers"][reader]) | options
        entry["training"] = dict(entry.get("training", {})) | (training or {})
        about = BenchmarkParameters.model_validate(parameters["benchmarks"][benchmark])
        reader_parameters = ReaderParameters.model_validate(entry).on(about)
        setup = ReaderSetup.resolve(reader_parameters, parameters)
        tagging, tokenizer = reader_parameters.tagging, setup.encoder.tokenizer
        load = self.load
        tables = BenchmarkTables(
            load(f"{benchmark}.questions"),
            load(f"{benchmark}.passages"),
            load(f"{benchmark}.{tagging}.{tokenizer}.tokens"),
            load(f"{benchmark}.{tagging}.tags")
            if readers.encoder_of(reader_parameters.reader) == "recurrent"
            else None,
            about,
        )
        return Experiment.from_config(tables, setup)

    @property
    def parameters(self) -> dict[str, Any]:
        """The project's parameters in the environment."""
        parameters: dict[str, Any] = self._context.params
        return parameters

    def load(self, name: str) -> Any:
        """Load an entry of the project's catalog."""
        return self._catalog.load(name)

    @cached_property
    def _catalog(self) -> Any:
        # A context makes a new one each time that it is asked.
        return self._context.catalog

    @cached_property
    def _context(self) -> Any:
        from kedro.framework.project import settings
        from kedro.framework.startup import bootstrap_project

        bootstrap_project(self.project)
        return settings.SESSION_CLASS.create(project_path=self.project, env=self.env).load_context()


def available(raw: Path | None, benchmarks: Sequence[str]) -> list[str]:
    """Return those of the benchmarks whose raw folders exist."""
    folders = {name: benchmark_entry(name)["sources"][0]["folder"] for name in benchmarks}
    return [name for name in benchmarks if raw is not None and (raw / folders[name]).is_dir()]
