"""A study and the readers that its variants are."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from coattend import configuration, environment
from coattend.errors import CoattendError
from coattend.parameters.study import PaperParameters, StudyParameters

_VALUES = ("seeds", "protocol", "budget_hours", "training", "options", "base")
"""What an environment may change in a study; of its base only what the reader reads."""


@dataclass(frozen=True)
class Study:
    """A study and where it stands.

    Attributes:
        paper: What it comes from.
        parameters: What it asks.
        file: Its file.
    """

    paper: PaperParameters
    parameters: StudyParameters
    file: Path

    @property
    def name(self) -> str:
        """File and entry, such as ``duma_table7``."""
        return self.parameters.name

    def changed(self, values: Mapping[str, Any]) -> "Study":
        """The study with other values for some fields; its shape stays as its file has it.

        Raises:
            CoattendError: If there is no such field, or it decides the study's shape.
        """
        if not values:
            return self
        for field in values:
            if field not in _VALUES:
                cure = f"Environments change values only: {', '.join(_VALUES)}"
                raise CoattendError("cannot be changed here", where=f"studies.{self.name}.{field}", cure=cure)
        for field in values.get("base", {}):
            if field not in environment.WIRING:
                cure = f"Environments change there: {', '.join(environment.WIRING)}"
                raise CoattendError("cannot be changed here", where=f"studies.{self.name}.base.{field}", cure=cure)
        asked = self.parameters.model_dump(mode="json")
        asked |= values | {field: asked[field] | values.get(field, {}) for field in ("base", "training", "options")}
        try:
            return replace(self, parameters=StudyParameters.model_validate(asked))
        except ValidationError as error:
            where = f"studies.{self.name}"
            raise CoattendError(error.errors()[0]["msg"].removeprefix("Value error, "), where=where) from None

    def starts_from(self, variant: str) -> str | None:
        """The variant with whose trials those of another begin."""
        return self.parameters.variants[variant].change.get("training", {}).get("start_from")

    def also(self, variant: str, benchmark: str) -> list[str]:
        """Other benchmarks that a variant is trained on."""
        return [name for name in self.entry(variant)["training"].get("train_on", {}) if name != benchmark]

    @property
    def read(self) -> list[str]:
        """Every benchmark that a variant is scored or trained on."""
        asked = self.parameters
        also = (name for one in asked.variants for place in asked.benchmarks_of(one) for name in self.also(one, place))
        return list(dict.fromkeys((*asked.benchmarks, *also)))

    def benchmark(self, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        """A benchmark's entry with what the study changes in its training."""
        return {**entry, "training": entry.get("training", {}) | self.parameters.training.get(name, {})}

    def entry(self, variant: str, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A variant as the entry of a reader.

        Args:
            variant: Its name.
            known: Readers' entries that it starts from; None: those of the base environment.
        """
        base, change = self.parameters.base, self.parameters.variants[variant].change
        reader = change.get("reader", base["reader"])
        start = dict((known or {}).get(reader) or configuration.reader_entry(reader))
        start.pop("training_on", None)  # A study says itself how a benchmark is trained on.
        wiring = {field: base[field] for field in environment.WIRING if field in base}
        own = base if reader == base["reader"] else wiring
        training = start.get("training", {}) | base.get("training", {}) | change.get("training", {})
        training.pop("start_from", None)  # A variant's trials are found when they are there.
        # Seeds are the study's for all its variants, whatever an environment has a reader trained with.
        training["seeds"] = list(self.parameters.seeds)
        if self.parameters.protocol == "frozen":
            training.setdefault("frozen", True)
        named = {"name": variant, "reader": start["reader"], "benchmarks": None}
        return {**start, **own, **change, **self.parameters.options, **named, "training": training}
