"""Parameters of encoders and readers, and the training parameters that a reader has on a benchmark."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import Field, ValidationError, model_validator

from coattend.config.base import Parameters
from coattend.config.benchmark import BenchmarkParameters
from coattend.config.training import TrainingParameters
from coattend.errors import CoattendError, did_you_mean


class EncoderParameters(Parameters):
    """A pretrained encoder."""

    source: str = Field("embedded", description="'embedded' (MiniLM), a folder, or a Hugging Face name.")
    tokenizer: str = Field("minilm", description="Tokenizer profile whose tokens it reads.")
    dropout: float | None = Field(
        0.0, ge=0, lt=1, description="Dropout inside the encoder, attention included; null: as the encoder has it."
    )


class ReaderParameters(Parameters):
    """A reader of the registry. Its options (``turns``, ``fuse``, ``pooling`` ...) stand beside these fields, and its
    own configuration checks them before anything is trained."""

    name: str = Field(description="Name of this entry.")
    reader: str = Field(description="Name in the registry of readers; by default the entry's own.")
    encoder: str = Field("minilm", description="Encoder profile.")
    tagging: str = Field("nltk_penn", description="Tagging profile whose tags it reads.")
    head: str | None = Field(None, description="null: the one of the reader's heads that the benchmark asks for.")
    benchmarks: tuple[str, ...] | None = Field(None, description="Benchmarks it is registered on; null: all that fit.")
    training: dict[str, Any] = Field({}, description="Differences from the benchmark's training parameters.")
    training_on: dict[str, dict[str, Any]] = Field(
        {}, description="Such differences by benchmark; where `training` says something too, it counts."
    )
    options: dict[str, Any] = Field({}, description="The reader's own options.")

    def trained_on(self, benchmark: str) -> str:
        """The benchmark whose trials it has where it is scored on one: that one, or the only other that it names."""
        benchmarks = list(self.training.get("train_on", {}))
        return benchmarks[0] if len(benchmarks) == 1 else benchmark

    def with_seeds(self, seeds: tuple[int, ...] | None) -> "ReaderParameters":
        """The same reader, trained with other seeds; None: with its own."""
        return self if seeds is None else self.model_copy(update={"training": self.training | {"seeds": list(seeds)}})

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or not isinstance(values.get("options", {}), Mapping):
            return values
        # Whatever is no field of the entry is an option of the reader.
        fields = {key: value for key, value in values.items() if key in cls.model_fields}
        options = {key: value for key, value in values.items() if key not in cls.model_fields}
        return fields | {"options": {**fields.get("options", {}), **options}}


class Layer(NamedTuple):
    """The values by field that a block of parameters, such as ``benchmarks.dream.frozen``, has for an entry."""

    block: str
    values: Mapping[str, Any]


def training_layers(benchmark: BenchmarkParameters, reader: ReaderParameters, *, recurrent: bool) -> list[Layer]:
    """The blocks with training parameters of a reader on a benchmark, later ones count: the benchmark's own, its
    differences for this kind of reader, and the reader's."""
    frozen = reader.training.get("frozen", benchmark.training.frozen)
    encoder = "recurrent" if recurrent else "frozen" if frozen else None
    return [
        Layer(f"benchmarks.{benchmark.name}.training", benchmark.training.model_dump(exclude_unset=True)),
        *([Layer(f"benchmarks.{benchmark.name}.{encoder}", getattr(benchmark, encoder))] if encoder else ()),
        Layer(f"readers.{reader.name}.training_on.{benchmark.name}", reader.training_on.get(benchmark.name, {})),
        Layer(f"readers.{reader.name}.training", reader.training),
    ]


def merge(layers: Iterable[Layer]) -> dict[str, Any]:
    """The values of all layers, of each field those of the last layer that has it."""
    return {field: value for layer in layers for field, value in layer.values.items()}


def training_of(benchmark: BenchmarkParameters, reader: ReaderParameters, *, recurrent: bool) -> TrainingParameters:
    """The training parameters of a reader on a benchmark, as `training_layers` has them; an error names the block."""
    layers = training_layers(benchmark, reader, recurrent=recurrent)
    try:
        training = TrainingParameters.model_validate(merge(layers))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        block = next(layer.block for layer in reversed(layers) if field.partition(".")[0] in layer.values)
        names = list(TrainingParameters.model_fields)
        cure = did_you_mean(field, names) if field not in names else None
        raise CoattendError(first["msg"].removeprefix("Value error, "), where=f"{block}.{field}", cure=cure) from None
    all_subsets = training.train_on == {benchmark.name: ()}
    return training.model_copy(update={"train_on": {}}) if all_subsets else training
