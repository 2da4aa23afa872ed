"""How a trained reader is asked: what has to be done to a text before it reads it, kept beside its trial."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from coattend.answering.trained_on import TrainedOn, also_trained_on
from coattend.datasets.seals import check, is_whole, sealed
from coattend.errors import CoattendError
from coattend.masking import masked, masked_text
from coattend.parameters import BenchmarkParameters, TaggingParameters
from coattend.parameters.strict import Parameters
from coattend.parameters.training import TrainingParameters
from coattend.training.plan import Plan
from coattend.training.trial import record
from coattend.training.words import WordTokens

FILE = "recipe.json"


class Recipe(Parameters):
    """What stands between a text and a reader, and where the reader comes from."""

    trial_id: str = Field(description="The trial that trained it.")
    model_digest: str | None = Field(None, description="Digest of its weights and their description.")
    name: str = Field(description="Name of its reader's entry.")
    benchmark: str = Field(description="What it was trained on.")
    title: str = Field(description="That benchmark's title.")
    licence: str = Field("", description="Licence note of that benchmark's data.")
    published_at: str = Field("", description="Where these data are published.")
    also_trained_on: tuple[TrainedOn, ...] = Field((), description="Other benchmarks that it has learned from.")
    task: Literal["options", "span", "word"] = Field(description="What the benchmark's questions ask for.")
    reader: str = Field(description="Name of the reader in the registry.")
    head: str = Field(description="Its head.")
    options: dict[str, Any] = Field(description="The reader's options, resolved.")
    encoder: str = Field(description="Where its encoder, and so its tokenizer, came from.")
    tokenizer: str = Field(description="Digest of that tokenizer; empty where it reads words alone.")
    reads_words: bool = Field(description="Whether it reads words, and subwords at most beside them.")
    tagging: TaggingParameters = Field(description="How words are found and tagged.")
    tagger: str = Field(description="Name of the tagger that was found for that.")
    fill_blanks: bool = Field(description="Whether an option fills the question's blank, or stands behind it.")
    words_as_options: bool = Field(description="Whether candidates for a word are read like options.")
    max_length: int = Field(description="Longest sequence in tokens.")
    stride: int = Field(description="Tokens between the windows of a long passage.")
    stride_counts: Literal["overlap", "advance"] = Field(description="What stride counts.")
    max_answer_length: int = Field(description="Longest span in tokens.")
    null_threshold: float | None = Field(None, description="How much likelier no answer must be; null: always one.")

    @property
    def trained_on(self) -> tuple[TrainedOn, ...]:
        """All that it has learned from, its own benchmark first."""
        about = {"title": self.title, "licence": self.licence, "published_at": self.published_at}
        return TrainedOn(name=self.benchmark, **about), *self.also_trained_on

    @property
    def licences(self) -> str:
        """The licence notes of all that it has learned from, in one line."""
        if not self.also_trained_on:
            return self.licence
        return " ".join(f"{one.title}: {one.told}" for one in self.trained_on)

    def without_credentials(self) -> "Recipe":
        """The same as others may see it; what it takes to ask the reader is no credential."""
        return self.model_copy(update={"options": masked(self.options), "encoder": masked_text(self.encoder)})

    @property
    def needs_options(self) -> bool:
        """Whether a question without options cannot be asked."""
        return self.task == "options" or self.words_as_options

    @property
    def training(self) -> TrainingParameters:
        """What of its training decides about how it is asked."""
        names = ("max_length", "stride", "stride_counts", "max_answer_length")
        return TrainingParameters(**{name: getattr(self, name) for name in names}, precision="fp32")


def recipe_of(
    plan: Plan,
    trial: dict[str, Any],
    benchmark: BenchmarkParameters,
    tagging: TaggingParameters,
    also: tuple[TrainedOn, ...] = (),
) -> Recipe:
    """The recipe of a trial.

    Args:
        plan: How it was trained.
        trial: What it came to.
        benchmark: What it was trained on.
        tagging: The profile that its texts were tagged with.
        also: Other benchmarks that its reader has learned from.
    """
    training = plan.training
    return Recipe(
        trial_id=trial["trial_id"],
        model_digest=trial["model_digest"],
        name=plan.name,
        benchmark=benchmark.name,
        title=benchmark.title,
        licence=benchmark.licence,
        published_at=benchmark.published_at,
        also_trained_on=also,
        task=plan.source.task,
        reader=plan.reader,
        head=plan.head,
        options=plan.options,
        encoder=plan.encoder.source,
        tokenizer=(plan.source.tokens if plan.pieces is None else plan.pieces.tokens).tokenizer,
        reads_words=isinstance(plan.source.tokens, WordTokens),
        tagging=tagging,
        tagger=plan.source.tokens.tagger,
        fill_blanks=plan.source.fill_blanks,
        words_as_options=plan.source.words_as_options,
        max_length=training.max_length,
        stride=training.stride,
        stride_counts=training.stride_counts,
        max_answer_length=training.max_answer_length,
        null_threshold=trial["null_threshold"],
    )


def keep_recipes(
    plan: Plan,
    model: dict[str, Any],
    store: Path,
    benchmark: BenchmarkParameters,
    tagging: TaggingParameters,
    benchmarks: Mapping[str, Any],
) -> None:
    """Write the recipe of each finished trial into its folder.

    Trials that read their questions in part only have none: they are no use outside of a comparison.

    Args:
        plan: How they were trained.
        model: What training returned.
        store: The folder of all trials.
        benchmark: What they are asked; where that is not what they were trained on, nothing is written.
        tagging: The profile that texts were tagged with.
        benchmarks: Every benchmark's parameters.
    """
    if plan.training.reads != "all":
        return
    for trial in model["trials"]:
        if trial["failure"] is None:
            folder = store / trial["folder"]
            content = record(folder / "trial.json")
            if content is None:
                cure = "Run the pipeline training again: it mends it"
                raise CoattendError("is not what was written", where=str(folder / "trial.json"), cure=cure)
            if content["benchmark"] == plan.benchmark:
                also = also_trained_on(content, store, benchmarks)
                write(recipe_of(plan, trial, benchmark, tagging, also), folder)


def weights_of(folder: Path) -> Path:
    """Where a reader's weights lie: in the folder ``model``, or, laid out for the Hugging Face Hub, at the top.

    Args:
        folder: The folder of a trial, or of a packed reader.
    """
    return folder / "model" if (folder / "model").is_dir() else folder


def write(recipe: Recipe, folder: Path) -> None:
    """Write a recipe, unless the folder has the same already."""
    text = recipe.model_dump_json(indent=1) + "\n"
    file = folder / FILE
    if file.is_file() and is_whole(file) and file.read_bytes() == text.encode():
        return
    with sealed(file) as temporary:
        temporary.write_text(text)


def read(folder: Path) -> Recipe:
    """Read a folder's recipe.

    Raises:
        CoattendError: If there is none, or one that this version does not know.
    """
    file = folder / FILE
    try:
        check(file, cure="Run the pipeline evaluation of its reader again: it mends it")
        return Recipe.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        cure = "Run the pipeline evaluation of its reader, which writes it; there is none for readers of parts"
        raise CoattendError("says nowhere how it is asked", where=str(folder), cure=cure) from None
    except (OSError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise CoattendError(f"is no recipe that this version can read ({reason})", where=str(file)) from None
