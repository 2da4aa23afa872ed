"""Parameters of encoders and readers, and the training parameters that a reader has on a benchmark."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import Field, ValidationError, model_validator

from coattend import readers
from coattend.config.base import Parameters
from coattend.config.benchmark import BenchmarkParameters
from coattend.config.source import WIRING_FIELDS
from coattend.config.training import TrainingParameters
from coattend.errors import CoattendError, did_you_mean, message_of
from coattend.readers.encoders.configs import CHARACTERS

UNTRAINED = f"{CHARACTERS} (untrained)"
"""Name of the untrained encoder over characters on pages, in MLflow and in cards."""

FAR = 3.0
"""Factor by which a learning rate lies far outside the published ones: the ranges themselves span three to eight."""


class UntrainedParameters(Parameters):
    """Size of an encoder that starts untrained, with random weights."""

    layers: int = Field(4, ge=1, description="Layers.")
    hidden: int = Field(256, ge=8, description="Width of its vectors.")
    heads: int = Field(4, ge=1, description="Heads of its self-attention.")
    max_length: int = Field(1024, ge=16, description="Tokens of the longest sequence that it reads.")

    @model_validator(mode="after")
    def _heads_divide(self) -> "UntrainedParameters":
        if self.hidden % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.hidden}")
        return self


class FineTuningParameters(Parameters):
    """What is published about fine-tuning a pretrained encoder, by which trainings are checked."""

    learning_rate: tuple[float, float] = Field(description="The lowest and the highest peak rate that are published.")
    max_length: int = Field(
        ge=16, description="Tokens of the longest sequence that it was pretrained on; longer ones are refused."
    )
    source: str = Field(description="Where the rates are published.")

    @model_validator(mode="after")
    def _in_order(self) -> "FineTuningParameters":
        low, high = self.learning_rate
        if not 0 < low <= high:
            raise ValueError(f"learning_rate must be a low and a high rate above 0: {low:g} and {high:g} are not")
        return self


class EncoderParameters(Parameters):
    """An encoder: a pretrained one, or an untrained one over characters."""

    source: str = Field(
        "embedded",
        description="'embedded' (MiniLM), a folder or a Hugging Face name of an encoder, a decoder such as Llama or a "
        "T5, or 'characters': an untrained transformer over the characters of the training questions.",
    )
    tokenizer: str = Field("minilm", description="Tokenizer profile whose tokens it reads.")
    dropout: float | None = Field(
        0.0, ge=0, lt=1, description="Dropout inside the encoder, attention included; null: as the encoder has it."
    )
    layers: int | None = Field(
        None, ge=1, description="So many of its first layers alone, where a reader trains or freezes it; null: all."
    )
    untrained: UntrainedParameters = Field(
        UntrainedParameters(), description="Size of the encoder where its source is 'characters'."
    )
    fine_tuning: FineTuningParameters | None = Field(
        None, description="Published rates and length, by which trainings are checked; null: nothing is checked."
    )

    @property
    def is_untrained(self) -> bool:
        """True if it starts from random weights."""
        return self.source == CHARACTERS


def encoder_title(source: str, layers: int | None) -> str:
    """An encoder as pages show it, with the number of layers that are kept if some are left out."""
    title = UNTRAINED if source == CHARACTERS else source
    return title if layers is None else f"{title}, {layers} layers"


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

    def on(self, benchmark: BenchmarkParameters) -> "ReaderParameters":
        """The same reader with the benchmark's encoder and tagging where its entry names none."""
        named = {field: getattr(benchmark, field) for field in WIRING_FIELDS if field not in self.model_fields_set}
        return self.model_copy(update={field: name for field, name in named.items() if name is not None})

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
    training = check_training(training_layers(benchmark, reader, recurrent=recurrent))
    all_subsets = training.train_on == {benchmark.name: ()}
    return training.model_copy(update={"train_on": {}}) if all_subsets else training


def check_training(layers: Sequence[Layer]) -> TrainingParameters:
    """Return the training parameters that layers make, later ones count; an error names the layer's block."""
    try:
        return TrainingParameters.model_validate(merge(layers))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        block = next(layer.block for layer in reversed(layers) if field.partition(".")[0] in layer.values)
        names = list(TrainingParameters.model_fields)
        cure = did_you_mean(field, names) if field not in names else None
        raise CoattendError(message_of(first), where=f"{block}.{field}", cure=cure) from None


def check_fine_tuning(name: str, encoder: EncoderParameters, training: TrainingParameters) -> str | None:
    """Compare the training of a reader with what is published about its encoder, and return a warning if its learning
    rate lies far outside; a frozen encoder has none, and adapters take higher ones.

    Raises:
        CoattendError: If sequences may be longer than those that the encoder was pretrained on.
    """
    published = encoder.fine_tuning
    if published is None:
        return None
    if training.max_length > published.max_length:
        problem = f"is {training.max_length}, and {encoder.source} was pretrained on {published.max_length} at most"
        cure = f"Set it to {published.max_length} or less; training.over_windows reads longer passages of options"
        raise CoattendError(problem, where=f"training.max_length with the encoder {name!r}", cure=cure)
    low, high = published.learning_rate
    if training.frozen or training.lora or low / FAR <= training.learning_rate <= high * FAR:
        return None
    return (
        f"training.learning_rate is {training.learning_rate:g}, and {encoder.source} is fine-tuned with {low:g} to "
        f"{high:g} ({published.source}): it may learn nothing, or collapse"
    )


def can_be_taught(head: str, options: Mapping[str, Any]) -> bool:
    """Return True if a head scores every option, or every token as the first and the last of a span: what a teacher
    tells."""
    if readers.task_of(head) == "options":
        return True
    return head in ("span", "pointer") and options.get("score") != "softmax"
