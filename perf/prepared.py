"""Readers and real questions, as the project's own stages and parameters make them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kedro.framework.project import settings
from kedro.framework.startup import bootstrap_project

from coattend.configuration import benchmark_entry
from coattend.parameters import BenchmarkParameters, EncoderParameters, ReaderParameters, TokenizerParameters
from coattend.training.plan import Plan
from coattend.training.plans import plan_of

ROOT = Path(__file__).parents[1]
SAMPLE = "sample"
DATA_STAGES = ("ingestion", "tagging", "tokenization")


@dataclass(frozen=True)
class Prepared:
    """A project whose tables are made.

    Attributes:
        project: Its folder.
        env: Its environment.
        benchmarks: Those whose tables there are.
    """

    project: Path
    env: str | None
    benchmarks: tuple[str, ...]

    @classmethod
    def of(cls, benchmarks: Sequence[str], *, project: Path = ROOT, env: str | None = None) -> "Prepared":
        """Run the data stages of benchmarks; what is done already takes seconds."""
        bootstrap_project(project)
        with settings.SESSION_CLASS.create(project_path=project, env=env) as session:
            session.run(pipeline_names=list(DATA_STAGES), namespaces=list(benchmarks))
        return cls(project, env, tuple(benchmarks))

    def either(self, benchmark: str) -> str:
        """A benchmark if it is prepared, else the sample."""
        return benchmark if benchmark in self.benchmarks else SAMPLE

    def plan(self, benchmark: str, reader: str, *, training: dict[str, Any] | None = None, **options: Any) -> Plan:
        """How a reader is trained on a benchmark.

        Args:
            benchmark: Its name.
            reader: Its entry among the parameters.
            training: Differences from how the benchmark is trained on.
            options: Differences from the reader's options.
        """
        parameters = self._context.params
        entry = dict(parameters["readers"][reader]) | options
        entry["training"] = dict(entry.get("training", {})) | (training or {})
        chosen = ReaderParameters.model_validate(entry)
        encoder = EncoderParameters.model_validate(parameters["encoders"][chosen.encoder])
        tokenizer = TokenizerParameters.model_validate(parameters["tokenizers"][encoder.tokenizer])
        load = self._context.catalog.load
        tags = load(f"{benchmark}.{chosen.tagging}.tags") if _reads_words(chosen.reader) else None
        return plan_of(
            load(f"{benchmark}.questions"),
            load(f"{benchmark}.passages"),
            load(f"{benchmark}.{chosen.tagging}.{encoder.tokenizer}.tokens"),
            tags,
            BenchmarkParameters.model_validate(parameters["benchmarks"][benchmark]),
            chosen,
            encoder,
            tokenizer,
        )

    @cached_property
    def _context(self) -> Any:
        bootstrap_project(self.project)
        return settings.SESSION_CLASS.create(project_path=self.project, env=self.env).load_context()


def _reads_words(reader: str) -> bool:
    from coattend import readers

    return readers.encoder_of(reader) == "recurrent"


def at_hand(raw: Path | None, wanted: Sequence[str]) -> list[str]:
    """Of the benchmarks that are wanted, those whose folders are there."""
    folders = {name: benchmark_entry(name)["sources"][0]["folder"] for name in wanted}
    return [name for name in wanted if raw is not None and (raw / folders[name]).is_dir()]
