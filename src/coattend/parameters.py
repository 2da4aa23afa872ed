"""The parameters of benchmarks, text profiles, encoders and readers, typed and explained.

Unknown keys are refused with the nearest known one. Nothing here imports torch.
"""

from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from coattend.errors import CoattendError, did_you_mean

Task = Literal["options", "span", "word"]


class Parameters(BaseModel):
    """Frozen, and strict about names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceParameters(Parameters):
    """One kind of raw file of a benchmark."""

    format: str = Field(description="Native format: a module of coattend.benchmarks, such as dream or squad.")
    folder: str = Field(description="Folder of the files, below the raw folder.")
    files: dict[str, list[str]] = Field(description="Split to file patterns inside the folder; one match is enough.")
    archives: list[str] = Field([], description="Archives whose members are matched where the folder has no files.")
    annotations: list[str] = Field([], description="Files with types of questions, as DREAM's annotators wrote them.")
    options: dict[str, Any] = Field({}, description="Options of the format, such as entities of cnn.")
    fallback: bool = Field(False, description="Whether it is used only for splits that no source before it has.")
    subset: str | None = Field(None, description="Subset name for questions whose format names none.")
    optional: bool = Field(False, description="Whether the source may be missing altogether.")


class DownloadParameters(Parameters):
    """A file of a benchmark that can be fetched."""

    url: str = Field(pattern="^https?://", description="Where it is published.")
    file: str = Field(description="Where it shall lie, below the raw folder.")
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$", description="Its digest; null: not known.")

    @field_validator("file")
    @classmethod
    def _inside(cls, file: str) -> str:
        if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts:
            raise ValueError("file must lie below the raw folder")
        return file


class BookParameters(Parameters):
    """How cloze questions are made from books."""

    folder: str = Field("books", description="Folder of the books, below the raw folder.")
    files: list[str] = Field(["*.txt"], min_length=1, description="File patterns inside the folder.")
    dev: float = Field(0.1, gt=0, lt=1, description="Share of the books whose questions are dev; at least one book.")
    test: float = Field(0.1, ge=0, lt=1, description="Share of the books whose questions are test.")
    step: int = Field(5, ge=1, description="Sentences from one passage to the next; with 21 none is used twice.")
    seed: int = Field(0, description="The same seed draws the same questions from the same books.")

    @model_validator(mode="after")
    def _leaves_train(self) -> "BookParameters":
        if self.dev + self.test >= 1:
            raise ValueError("dev and test together must leave books to train on")
        return self


class TrainingParameters(Parameters):
    """How a reader is trained on a benchmark."""

    seeds: tuple[int, ...] = Field((0,), min_length=1, description="One trial is trained for each seed.")
    epochs: float = Field(2.0, gt=0, description="Passes over the training questions.")
    learning_rate: float = Field(8e-5, gt=0, description="Peak rate of AdamW.")
    warmup: float = Field(0.06, ge=0, lt=1, description="Share of all steps in which the rate rises linearly.")
    weight_decay: float = Field(0.01, ge=0, description="AdamW's decay of matrices; biases and norms are left out.")
    clip: float = Field(1.0, gt=0, description="Largest norm of a step's gradient.")
    tokens_per_batch: int = Field(6144, ge=64, description="Padded tokens that one forward pass may hold.")
    accumulate: int = Field(1, ge=1, description="Batches whose gradients are added before a step.")
    max_length: int = Field(
        512, ge=16, description="Longest sequence in tokens; the passage is cut, never the question."
    )
    precision: Literal["auto", "bf16", "fp32"] = Field(
        "auto", description="auto: bf16 where the processor or GPU has it."
    )
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto: a GPU if there is one.")
    evaluations: int = Field(5, ge=1, description="How often the held-out questions are scored during training.")
    patience: int | None = Field(None, ge=1, description="Stop after so many evaluations without gain; null: never.")
    held_out: float = Field(0.05, gt=0, lt=1, description="Share of training passages held out to choose checkpoints.")
    selection: Literal["held_out", "dev"] = Field(
        "held_out", description="Where checkpoints are chosen; dev is labelled."
    )
    stride: int = Field(
        128, ge=0, description="Tokens between the windows of a long passage, as stride_counts says; for spans."
    )
    stride_counts: Literal["overlap", "advance"] = Field(
        "overlap", description="What stride counts: tokens that two windows share, or tokens from start to start."
    )
    permute_entities: bool = Field(
        False, description="Whether anonymised entities (CNN) change names among themselves in every batch."
    )
    train_on: dict[str, str | tuple[str, ...]] = Field(
        {}, description="Subsets to train on, by benchmark, such as {cbt: NE}; empty: the whole benchmark."
    )
    max_questions: int | None = Field(None, ge=1, description="Use so many training questions only; null: all.")
    max_answer_length: int = Field(30, ge=1, description="Longest predicted span in tokens.")

    @field_validator("seeds")
    @classmethod
    def _different(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) < len(seeds):
            raise ValueError("seeds must differ from one another")
        return seeds


class RerankingParameters(Parameters):
    """How the best candidates of a cloze reader are ranked again with language models."""

    n_best: int = Field(5, ge=2, description="So many of a question's candidates are ranked again.")
    order: int = Field(3, ge=1, le=8, description="Words of the longest n-gram of the language models.")
    max_words: int = Field(3_000_000, ge=1, description="The language models learn from so many words at most.")
    class_bands: int = Field(16, ge=1, description="Bands of frequency that divide the words of a tag into classes.")
    epochs: int = Field(10, ge=1, description="Passes of MIRA over the questions that weights are tuned on.")
    aggressiveness: float = Field(0.01, gt=0, description="Largest step of MIRA, its C.")


class BenchmarkParameters(Parameters):
    """A benchmark: where its files are, how its text is processed, how readers train on it."""

    name: str = Field("", description="Name of this entry; filled in from the entry's key.")
    title: str = Field(description="Name as the literature writes it.")
    tasks: tuple[Task, ...] = Field(min_length=1, description="What its questions ask for.")
    sources: tuple[SourceParameters, ...] = Field(min_length=1, description="Its raw files.")
    trained_on: str | None = Field(
        None, description="Benchmark whose trained readers are scored on this one; null: its own."
    )
    published_at: str = Field("", description="Where its files are published; shown when they are missing.")
    published: dict[str, dict[str, float]] = Field(
        {}, description="Published numbers: a split, split/subset or overview to names and values of the profile."
    )
    downloads: tuple[DownloadParameters, ...] = Field((), description="Its files that can be fetched.")
    licence: str = Field("", description="Licence note of the data.")
    generator: dict[str, Any] | None = Field(
        None, description="Settings of the sample's generator; null for real data."
    )
    books: BookParameters | None = Field(
        None, description="Books that its questions are made from; null: they are not made from books."
    )
    fill_blanks: bool = Field(False, description="Whether an option fills the question's blank, or stands behind it.")
    submission: Literal["squad", "recam"] | None = Field(
        None, description="Form in which its own scorer reads predictions; null: it has none."
    )
    words_as_options: bool = Field(
        False, description="Whether readers of options answer its words: each candidate filled into the blank."
    )
    drop_asked: bool = Field(
        False, description="Whether training questions that are asked in another split too are left out."
    )
    shards: int | None = Field(
        None,
        ge=1,
        le=4096,
        description="In how many files its texts, tags and tokens are kept; null: as suits its size.",
    )
    workers: int | None = Field(None, ge=1, description="Processes that tag and tokenise; null: one a core.")
    max_characters: int = Field(100_000, ge=100, description="Longer texts are rejected and listed.")
    training: TrainingParameters = Field(TrainingParameters(), description="How readers train on it.")
    recurrent: dict[str, Any] = Field(
        {}, description="Differences from `training` for readers with a recurrent encoder, whose tokens are words."
    )
    reranking: RerankingParameters = Field(RerankingParameters(), description="How cloze answers are ranked again.")

    @property
    def is_written(self) -> bool:
        """Whether this project writes its raw files itself."""
        return self.generator is not None or self.books is not None

    @property
    def answerable(self) -> tuple[str, ...]:
        """The tasks of the heads that can answer its questions."""
        as_options = "word" in self.tasks and self.words_as_options
        return (*self.tasks, "options") if as_options and "options" not in self.tasks else self.tasks


class TaggingParameters(Parameters):
    """A profile of word tokens and POS tags."""

    tagger: Literal["nltk", "textblob", "auto"] = Field(
        "auto", description="auto: NLTK's perceptron tagger, or textblob's lexicon where its data cannot be had."
    )
    tagset: Literal["penn", "extended"] = Field(
        "penn", description="penn: 36 tags, punctuation is ERR; extended: punctuation has its own tags."
    )
    lowercase_before_tagging: bool = Field(False, description="As the POI-Net release does; it loses proper nouns.")


class TokenizerParameters(Parameters):
    """A profile of subword tokens."""

    source: str = Field("embedded", description="'embedded' (MiniLM), a folder, or a Hugging Face name.")


class EncoderParameters(Parameters):
    """A pretrained encoder."""

    source: str = Field("embedded", description="'embedded' (MiniLM), a folder, or a Hugging Face name.")
    tokenizer: str = Field("minilm", description="Tokenizer profile whose tokens it reads.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Dropout inside the encoder, attention included.")


class ReaderParameters(Parameters):
    """A reader of the registry with its options.

    Options of the reader itself (``turns``, ``fuse``, ``pooling`` ...) stand beside these fields; the reader's own
    configuration checks them before anything is trained.
    """

    name: str = Field(description="Name of this entry.")
    reader: str = Field(description="Name in the registry of readers; by default the entry's own.")
    encoder: str = Field("minilm", description="Encoder profile.")
    tagging: str = Field("nltk_penn", description="Tagging profile whose tags it reads.")
    head: str | None = Field(None, description="null: the one of the reader's heads that the benchmark asks for.")
    benchmarks: tuple[str, ...] | None = Field(None, description="Benchmarks it is registered on; null: all that fit.")
    training: dict[str, Any] = Field({}, description="Differences from the benchmark's training parameters.")
    options: dict[str, Any] = Field({}, description="The reader's own options.")

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        own = {key: value for key, value in values.items() if key in cls.model_fields}
        rest = {key: value for key, value in values.items() if key not in cls.model_fields}
        return own | {"options": {**own.get("options", {}), **rest}}


def training_of(benchmark: BenchmarkParameters, reader: ReaderParameters, *, recurrent: bool) -> TrainingParameters:
    """The benchmark's training parameters with the differences of recurrent readers and then the reader's own.

    Raises:
        CoattendError: If a difference names no such parameter, or has a wrong value.
    """
    of_encoder = benchmark.recurrent if recurrent else {}
    try:
        return TrainingParameters.model_validate({**benchmark.training.model_dump(), **of_encoder, **reader.training})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        own = field.partition(".")[0] in reader.training
        where = f"readers.{reader.name}.training" if own else f"benchmarks.{benchmark.name}.recurrent"
        raise CoattendError(
            first["msg"],
            where=f"{where}.{field}",
            cure=did_you_mean(field, list(TrainingParameters.model_fields)),
        ) from None
