"""What a reader has learned from: the benchmarks of its trial, and of those that it began with."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from coattend.parameters import BenchmarkParameters
from coattend.parameters.strict import Parameters
from coattend.training.trial import record

RESEARCH = "research"
"""Word in the licence notes of data that are for research only."""


class TrainedOn(Parameters):
    """A benchmark that a reader was trained on, as its card tells of it."""

    name: str = Field(description="Its name.")
    title: str = Field(description="Its title.")
    licence: str = Field("", description="Licence note of its data.")
    published_at: str = Field("", description="Where they are published.")
    hub: str = Field("", description="Its name on the Hugging Face Hub.")

    @property
    def for_research(self) -> bool:
        """Whether they are for research only."""
        return RESEARCH in self.licence

    @property
    def told(self) -> str:
        """Its licence note, in words where there is none."""
        return self.licence or "their publishers state none that is known here."


def also_trained_on(content: Mapping[str, Any], store: Path, benchmarks: Mapping[str, Any]) -> tuple[TrainedOn, ...]:
    """The benchmarks beside its own that a trial's reader has learned from.

    Args:
        content: The trial's record.
        store: The folder of all trials, where those lie that it began with.
        benchmarks: Every benchmark's parameters.
    """
    found = {one.name: one for one in _chain(content, store, benchmarks)}
    return tuple(one for name, one in found.items() if name != content["benchmark"])


def _chain(content: Mapping[str, Any], store: Path, benchmarks: Mapping[str, Any]) -> Iterator[TrainedOn]:
    """Those of a trial, of the trial that it began with, of the one that this began with, and so on."""
    training = content["training"]
    for name in training.get("train_on") or (content["benchmark"],):
        if name in benchmarks:
            about = BenchmarkParameters.model_validate(benchmarks[name]).model_dump(include={*TrainedOn.model_fields})
            yield TrainedOn(**about | {"name": name})
        else:
            yield TrainedOn(name=name, title=name)
    start = training.get("start_from")
    if start is None:
        return
    before = record(store / start / "trial.json")
    if before is None:
        yield TrainedOn(name=start, title=f"the trial {start}, which it began with and which is gone")
    else:
        yield from _chain(before, store, benchmarks)
