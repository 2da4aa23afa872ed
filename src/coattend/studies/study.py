"""A study, and the readers' entries that its variants expand to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from coattend.config.entries import is_trained, reader_entry
from coattend.config.reader import Layer, ReaderParameters, merge
from coattend.config.source import BESIDE, WIRING_FIELDS, listed
from coattend.config.study import PaperParameters, StudyParameters
from coattend.config.yaml import TextFile
from coattend.errors import CoattendError, message_of

_VALUES = ("seeds", "protocol", "budget_hours", "training", "options", "thresholds", "base", BESIDE)
"""Fields of a study that an environment may change; of its base only the reader's wiring, and language models are added
to those beside it."""
_BLOCKS = ("base", "training", "options", "thresholds")
"""Those that are merged field by field; other values replace those of the file."""


@dataclass(frozen=True)
class Study:
    """A study: its paper, the content of its entry, and the file that it was read from."""

    paper: PaperParameters
    parameters: StudyParameters
    file: TextFile

    @property
    def name(self) -> str:
        """File and entry, such as ``duma_table7``."""
        return self.parameters.name

    @cached_property
    def dumped(self) -> dict[str, Any]:
        """Its parameters as plain values."""
        return self.parameters.model_dump(mode="json")

    def changed(self, values: Mapping[str, Any]) -> "Study":
        """Return the study with other values for some fields. Its shape stays that of the file, but for variants that
        repeat others over a second encoder: they are left out where the base names no encoder."""
        changed = self._with_values(values) if values else self
        if "encoder" in changed.parameters.base:
            return changed
        return replace(changed, parameters=changed.parameters.without_repeats())

    def _with_values(self, values: Mapping[str, Any]) -> "Study":
        for field in values:
            if field not in _VALUES:
                cure = f"Environments change values only: {', '.join(_VALUES)}"
                raise CoattendError("cannot be changed here", where=f"studies.{self.name}.{field}", cure=cure)
        for field in _BLOCKS:
            if not isinstance(values.get(field) or {}, Mapping):
                raise CoattendError("must be a block of fields", where=f"studies.{self.name}.{field}")
        for field in values.get("base") or {}:
            if field not in WIRING_FIELDS:
                cure = f"Environments change there: {', '.join(WIRING_FIELDS)}"
                raise CoattendError("cannot be changed here", where=f"studies.{self.name}.base.{field}", cure=cure)
        values_now = dict(self.dumped)
        blocks = {field: values_now[field] | (values.get(field) or {}) for field in _BLOCKS}
        values_now |= {**values, **blocks, BESIDE: [*values_now[BESIDE], *listed(values.get(BESIDE))]}
        try:
            return replace(self, parameters=StudyParameters.model_validate(values_now))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(("studies", self.name, *map(str, first["loc"])))
            raise CoattendError(message_of(first), where=where) from None

    def also(self, variant: str, benchmark: str) -> list[str]:
        """Return the other benchmarks that a variant is trained on."""
        return [name for name in merge(self.training_layers(variant)).get("train_on", {}) if name != benchmark]

    @property
    def trainings(self) -> list[tuple[str, str]]:
        """Each variant with each benchmark that it is trained on; one that is scored on several may be trained once."""
        parameters = self.parameters
        readers = {variant: ReaderParameters.model_validate(self.entry(variant)) for variant in parameters.variants}
        pairs = (
            (variant, reader.trained_on(benchmark))
            for variant, reader in readers.items()
            for benchmark in parameters.benchmarks_of(variant)
        )
        return list(dict.fromkeys(pairs))

    @property
    def read(self) -> list[str]:
        """All benchmarks that a variant is scored or trained on."""
        parameters = self.parameters
        others = (
            name
            for variant in parameters.variants
            for benchmark in parameters.benchmarks_of(variant)
            for name in self.also(variant, benchmark)
        )
        return list(dict.fromkeys((*parameters.benchmarks, *others)))

    def benchmark(self, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return a benchmark's entry with the study's changes to its training."""
        return {**entry, "training": entry.get("training", {}) | self.parameters.training.get(name, {})}

    def entry(self, variant: str, readers: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return a variant as the entry of a reader, which starts from one of ``readers``, else of the base
        environment."""
        training = merge(self.training_layers(variant, readers))
        training.pop("start_from", None)  # A variant's trials are found when they are there.
        return {**merge(self.entry_layers(variant, readers)), "name": variant, "benchmarks": None, "training": training}

    def entry_layers(self, variant: str, readers: Mapping[str, Any] | None = None) -> list[Layer]:
        """Return the blocks with a variant's fields and options; later ones count."""
        base, change = self.parameters.base, self.parameters.variants[variant].change
        start = self._start(variant, readers)
        # Another reader does not know the base's options, but reads with the same encoder and tags.
        same_reader = change.get("reader", base["reader"]) == base["reader"]
        base_fields = base if same_reader else {field: base[field] for field in WIRING_FIELDS if field in base}
        return [
            Layer(f"readers.{start['name']}", start),
            Layer(f"studies.{self.name}.base", base_fields),
            Layer(f"studies.{self.name}.variants.{variant}.change", change),
            # An entry of the parameters may have another name than its reader.
            Layer(f"readers.{start['name']}", {"reader": start["reader"]}),
            # They are those of readers that are trained.
            Layer(f"studies.{self.name}.options", self.parameters.options if is_trained(start) else {}),
        ]

    def training_layers(self, variant: str, readers: Mapping[str, Any] | None = None) -> list[Layer]:
        """Return the blocks with a variant's training, later ones count. What a reader's entry says of single
        benchmarks does not: a study says itself how a benchmark is trained on."""
        parameters, start = self.parameters, self._start(variant, readers)
        change = parameters.variants[variant].change
        return [
            Layer(f"studies.{self.name}.protocol", {"frozen": True} if parameters.protocol == "frozen" else {}),
            Layer(f"readers.{start['name']}.training", start.get("training", {})),
            Layer(f"studies.{self.name}.base.training", parameters.base.get("training", {})),
            Layer(f"studies.{self.name}.variants.{variant}.change.training", change.get("training", {})),
            # Seeds are the study's for all its variants, whatever an environment has a reader trained with.
            Layer(f"studies.{self.name}.seeds", {"seeds": list(parameters.seeds)}),
        ]

    def _start(self, variant: str, readers: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the reader's entry that a variant starts from."""
        base_reader: str = self.parameters.base["reader"]
        reader = self.parameters.variants[variant].change.get("reader", base_reader)
        entry: Mapping[str, Any] = (readers or {}).get(reader) or reader_entry(reader)
        return {"name": reader, **{field: value for field, value in entry.items() if field != "training_on"}}
