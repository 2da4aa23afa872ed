"""A pack on the machine: its benchmarks as experiments, and the machine itself."""

import json
import os
import platform
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from coattend.batches.dataset import QuestionSet
from coattend.config import BenchmarkParameters, ReaderParameters, TokenizerParameters, TrainingParameters
from coattend.readers.encoders.pretrained import EMBEDDED, encoder_folder
from coattend.text.tokenizer import load_tokenizer
from coattend.trials.device import device_name, processor_name, select_device
from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup, TrainingQuestions
from perf.gpu import named_texts


class OutOfTime(BaseException):
    """A command has used its minutes. No error: what catches errors of trainings lets it through."""


@dataclass(frozen=True)
class Deadline:
    """The moment by which a command stops itself."""

    moment: float

    @classmethod
    def after(cls, minutes: float) -> "Deadline":
        """Return the moment after so many minutes from now."""
        return cls(time.monotonic() + 60 * minutes)

    @property
    def seconds(self) -> float:
        """Seconds that are left."""
        return self.moment - time.monotonic()

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Raise `OutOfTime` at the moment, whatever this process is doing then."""

        def stop(*_: object) -> None:
            raise OutOfTime

        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, max(self.seconds, 0.001))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Pack:
    """A pack that was unpacked, with the same doors as `perf.prepared.Prepared`.

    Attributes:
        folder: The pack's folder.
        about: What ``pack.json`` holds.
    """

    folder: Path
    about: dict[str, Any]
    _trained_on: dict[tuple[Any, ...], TrainingQuestions] = field(default_factory=dict)
    _asked: dict[tuple[Any, ...], QuestionSet] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path) -> "Pack":
        """Open a pack; a benchmark's tables are built at their first use."""
        return cls(folder, json.loads((folder / "pack.json").read_text()))

    @property
    def work(self) -> Path:
        """The folder of what commands write beside their results: tables, trials and their checkpoints."""
        return self.folder / "work"

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The benchmarks that are packed."""
        return tuple(self.about["benchmarks"])

    @property
    def is_tiny(self) -> bool:
        """True if the pack is for a rehearsal."""
        return bool(self.about["tiny"])

    def either(self, benchmark: str) -> str:
        """Return the benchmark if it is packed, else the first one that is."""
        return benchmark if benchmark in self.benchmarks else self.benchmarks[0]

    def parameters(self, benchmark: str) -> BenchmarkParameters:
        """Return a benchmark's parameters."""
        return BenchmarkParameters.model_validate(self.about["parameters"]["benchmarks"][benchmark])

    def experiment(
        self, benchmark: str, reader: str, *, training: dict[str, Any] | None = None, **options: Any
    ) -> Experiment:
        """Set up the training of a reader on a benchmark, as `Prepared.experiment` does."""
        entry = {"reader": reader, "name": reader} | self.about["parameters"]["readers"].get(reader, {})
        entry |= {"encoder": "minilm", **options}
        entry["training"] = dict(entry.get("training") or {}) | (training or {})
        return self.experiment_of(benchmark, entry)

    def experiment_of(self, benchmark: str, entry: dict[str, Any]) -> Experiment:
        """Set up the training of a reader's entry on a benchmark."""
        setup = ReaderSetup.resolve(ReaderParameters.model_validate(entry), self.about["parameters"])
        tables = self.tables(benchmark)
        whole = BenchmarkTables(tables.questions, tables.passages, tables.tokens, None, self.parameters(benchmark))
        return Experiment.from_config(whole, setup)

    def training_questions(self, experiment: Experiment) -> TrainingQuestions:
        """Return the training questions of an experiment; alike ones are read once, which takes RACE half a minute."""
        key = _questions_key(experiment)
        if key not in self._trained_on:
            self._trained_on[key] = experiment.training_questions()
        return self._trained_on[key]

    def evaluation_questions(self, experiment: Experiment) -> QuestionSet:
        """Return the questions that an experiment is scored on, likewise."""
        key = _questions_key(experiment)
        if key not in self._asked:
            self._asked[key] = experiment.source.evaluation(experiment.training)
        return self._asked[key]

    def tables(self, benchmark: str) -> named_texts.Tables:
        """Return a benchmark's tables, in which names stand for texts."""
        folder = self.work / "tables" / benchmark
        if not (folder / "done").exists():
            arrays, about = named_texts.read(self.folder / f"{benchmark}.zip")
            # Another version of the tokenizers library writes the same tokenizer in other words.
            metadata = about["metadata"] | {"tokenizer": load_tokenizer(TokenizerParameters(source=EMBEDDED)).digest}
            restored = named_texts.restore(arrays, pieces=self._pieces, metadata=metadata)
            named_texts.store(restored, folder)
            (folder / "done").touch()
        return named_texts.load(folder)

    @cached_property
    def _pieces(self) -> list[str]:
        """The words of the tokenizer by their ids."""
        folder = encoder_folder(EMBEDDED)
        assert folder is not None, "the pack has its files"
        vocabulary: dict[str, int] = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
        return sorted(vocabulary, key=vocabulary.__getitem__)


def _questions_key(experiment: Experiment) -> tuple[Any, ...]:
    """Return what decides on the questions of an experiment over the packed texts."""
    training, source = experiment.training, experiment.source
    return source.benchmark, source.task, source.layout(training), training.held_out, training.max_questions


@cache
def device() -> str:
    """Return ``cuda`` if there is a GPU, else ``cpu``, as in a rehearsal; it is set up as for a training."""
    return select_device(TrainingParameters())


def describe_machine(pack: Pack) -> dict[str, Any]:
    """Describe the GPU, processor, versions and the commit of the code, as the performance page has them."""
    is_gpu = device() == "cuda"
    properties = torch.cuda.get_device_properties(0) if is_gpu else None
    return {
        "gpu": device_name("cuda") if is_gpu else None,
        "gpu_memory_gib": round(properties.total_memory / 2**30) if properties else None,
        "cuda": torch.version.cuda,
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "bf16": ["cuda"] if is_gpu and torch.cuda.is_bf16_supported() else [],
        "memory_gib": None,
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers")},
        "code": pack.about["code"],
    }
