"""Run specification of a trained reader: all that it takes to run it again, in one file beside its weights."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from coattend import readers
from coattend.batches.word_tokens import WordTokens
from coattend.config import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TaggingParameters,
    TokenizerParameters,
)
from coattend.config.base import Parameters
from coattend.config.reader import encoder_title
from coattend.config.source import run_command
from coattend.config.training import TrainingParameters
from coattend.errors import CoattendError, first_line
from coattend.io.atomic import verify_checksum, write_if_changed
from coattend.io.table_store import StoredTables
from coattend.masking import masked, masked_text
from coattend.text.tokenizer import load_tokenizer
from coattend.trials.device import device_and_precision
from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup
from coattend.trials.store import FinishedTrial
from coattend.trials.trial import RUN_SPEC_FILE, TrialOutcome

FILE = RUN_SPEC_FILE
"""Name of the file in a trial's folder, and in a packed reader."""

RESEARCH = "research"
"""Word in the licence notes of data that are for research only."""


class TrainedOn(Parameters):
    """A benchmark that a reader was trained on."""

    name: str = Field(description="Its name.")
    title: str = Field(description="Its title.")
    licence: str = Field("", description="Licence note of its data.")
    published_at: str = Field("", description="Address where its data are published.")
    hub: str = Field("", description="Its name on the Hugging Face Hub.")

    @property
    def for_research(self) -> bool:
        """True if its data are for research only."""
        return RESEARCH in self.licence

    @property
    def licence_note(self) -> str:
        """Its licence note, or a sentence that there is none."""
        return self.licence or "their publishers state none that is known here."


class AskedModel(Parameters):
    """A language model that answers as it is."""

    digest: str = Field(description="Digest of its files.")
    examples: tuple[tuple[str, tuple[str, ...], int], ...] = Field(
        (), description="Training questions that it is shown: each prompt, its options, and the right one's number."
    )


class RunSpec(Parameters):
    """Everything between a text and a trained reader, and the data that the reader was trained on."""

    trial_id: str = Field(description="The trial that trained it.")
    model_digest: str | None = Field(None, description="Digest of its weights and their description.")
    name: str = Field(description="Name of its reader's entry.")
    benchmark: str = Field(description="Name of the benchmark that it was trained on.")
    title: str = Field(description="That benchmark's title.")
    licence: str = Field("", description="Licence note of that benchmark's data.")
    published_at: str = Field("", description="Address where these data are published.")
    hub: str = Field("", description="That benchmark's name on the Hugging Face Hub.")
    language: str = Field("en", description="Code of the language of that benchmark's texts.")
    also_trained_on: tuple[TrainedOn, ...] = Field((), description="Other benchmarks that it was trained on.")
    task: Literal["options", "span", "word"] = Field(description="The task of the benchmark's questions.")
    reader: str = Field(description="Name of the reader in the registry.")
    head: str = Field(description="Its head.")
    options: dict[str, Any] = Field(description="The reader's options, resolved.")
    encoder: str = Field(description="Source of its encoder, and so of its tokenizer.")
    encoder_layers: int | None = Field(None, description="So many of its first layers that are kept; null: all.")
    tokenizer: str = Field(description="Digest of that tokenizer; empty if it reads words alone.")
    tokenizer_profile: str = Field(description="Name of the tokenizer profile of its tokens.")
    reads_words: bool = Field(description="True if it reads words, and subwords at most for their context.")
    tagging: TaggingParameters = Field(description="Settings of the tagging profile.")
    tagging_profile: str = Field(description="Name of the tagging profile of its tags.")
    tagger: str = Field(description="Name of the tagger that these settings resolved to.")
    fill_blanks: bool = Field(description="True if an option fills the question's blank, False if it follows it.")
    words_as_options: bool = Field(description="True if candidates for a word are read like options.")
    training: TrainingParameters = Field(description="Its training parameters, with the precision that was used.")
    language_model: AskedModel | None = Field(None, description="The language model that it is; null: it is trained.")
    merged: bool = Field(False, description="True if its adapters are merged into its encoder's weights.")
    null_threshold: float | None = Field(
        None, description="Margin by which no answer must outscore the best span; null: it always answers."
    )

    @property
    def trained_on(self) -> tuple[TrainedOn, ...]:
        """All benchmarks that it was trained on, its own first."""
        fields = {"title": self.title, "licence": self.licence, "published_at": self.published_at, "hub": self.hub}
        home = TrainedOn(name=self.benchmark, **fields)
        return home, *self.also_trained_on

    @property
    def about(self) -> str:
        """Its name, the data that it learned from or was scored on, and its trial, in one line."""
        learned = "a language model as it is, scored on" if self.language_model else "trained on"
        return f"{self.name}, {learned} {self.title} (trial {self.trial_id})"

    @property
    def licences(self) -> str:
        """The licence notes of all benchmarks that it was trained on, in one line."""
        if not self.also_trained_on:
            return self.licence
        return " ".join(f"{benchmark.title}: {benchmark.licence_note}" for benchmark in self.trained_on)

    @property
    def encoder_title(self) -> str:
        """Its encoder as pages show it."""
        return encoder_title(self.encoder, self.encoder_layers)

    @property
    def is_servable(self) -> bool:
        """False for a reader that is given parts of its questions only, which is of no use outside a comparison."""
        return self.training.reads == "all"

    @property
    def has_adapters(self) -> bool:
        """True if its weights are adapters of its encoder, whose own files are needed too."""
        return self.training.lora is not None and not self.merged

    @property
    def needs_options(self) -> bool:
        """True if a question must come with options."""
        return self.task == "options" or self.words_as_options or self.language_model is not None

    @property
    def needs_tagger(self) -> bool:
        """True if its inputs depend on the tagger: it reads the tagger's words, or its tags."""
        if self.reads_words or readers.encoder_of(self.reader) != "transformer":
            return True
        return any(self.options.get(name) for name in ("tag_embedding", "hidden_tag_embedding"))

    @property
    def inference_training(self) -> TrainingParameters:
        """The training parameters that matter for a single question, in float32."""
        lengths = ("max_length", "stride", "stride_counts", "over_windows", "max_answer_length")
        return TrainingParameters(**{name: getattr(self.training, name) for name in lengths}, precision="fp32")

    def without_credentials(self) -> "RunSpec":
        """Copy the spec for publication, with credentials in options and addresses masked."""
        return self.model_copy(update={"options": masked(self.options), "encoder": masked_text(self.encoder)})


def run_spec_of(experiment: Experiment, outcome: TrialOutcome, store: Path) -> RunSpec:
    """Describe the reader of a finished trial; the store has the trials that it started from."""
    benchmark = experiment.benchmarks[experiment.benchmark]
    return RunSpec(
        trial_id=outcome["trial_id"],
        model_digest=outcome["model_digest"],
        name=experiment.name,
        benchmark=benchmark.name,
        title=benchmark.title,
        licence=benchmark.licence,
        published_at=benchmark.published_at,
        hub=benchmark.hub,
        language=benchmark.language,
        also_trained_on=also_trained_on(experiment, outcome["seed"], store),
        task=experiment.source.task,
        reader=experiment.reader,
        head=experiment.head,
        options=experiment.options,
        encoder=experiment.encoder.source,
        encoder_layers=experiment.model_options.get("encoder_layers"),
        tokenizer=experiment.tokenizer,
        tokenizer_profile=experiment.preparation.tokenizer,
        reads_words=isinstance(experiment.source.tokens, WordTokens),
        tagging=experiment.preparation.tagging_parameters,
        tagging_profile=experiment.preparation.tagging,
        tagger=experiment.source.tokens.tagger,
        fill_blanks=experiment.source.fill_blanks,
        words_as_options=experiment.source.words_as_options,
        training=_training_of(experiment, outcome["seed"]),
        null_threshold=outcome["null_threshold"],
    )


def _training_of(experiment: Experiment, seed: int) -> TrainingParameters:
    """Resolve training parameters to what one trial used, and drop what names this machine."""
    training = experiment.training
    _, bf16 = device_and_precision(training)
    resolved: dict[str, Any] = {
        "seeds": (seed,),
        "precision": "bf16" if bf16 else "fp32",
        "start_from": experiment.parent_trial(seed),
        "distillation": experiment.distillation(seed),
        "device": "auto",
        "processes": 1,
    }
    # A trial whose training tags are right is the same trial whatever noise its evaluation has.
    if "train" not in training.tag_noise_in:
        resolved["tag_noise"] = 0.0
    return training.model_copy(update=resolved)


def also_trained_on(experiment: Experiment, seed: int, store: Path) -> tuple[TrainedOn, ...]:
    """List the benchmarks other than its own that a trial, one that it started from, or its teacher, learned from."""
    by_name = {benchmark.name: benchmark for benchmark in _trained_on(experiment, seed, store)}
    return tuple(benchmark for name, benchmark in by_name.items() if name != experiment.benchmark)


def _trained_on(experiment: Experiment, seed: int, store: Path) -> Iterator[TrainedOn]:
    for name in experiment.training.train_on or (experiment.benchmark,):
        yield TrainedOn(**experiment.benchmarks[name].model_dump(include={*TrainedOn.model_fields}))
    distillation = experiment.distillation(seed)
    before = {experiment.parent_trial(seed): "it began with"}
    before |= {distillation.teacher: "it learned from"} if distillation else {}
    for trial, what in before.items():
        if trial is None:
            continue
        # Its own specification names what those before it were trained on.
        try:
            yield from read(store / trial).trained_on
        except CoattendError:
            yield TrainedOn(name=trial, title=f"the trial {trial}, which {what} and which is gone")


def write(spec: RunSpec, folder: Path) -> None:
    """Write a spec into a folder, unless the same one is there already. A trial keeps the name that it was trained
    under, whatever entry or variant of the same content describes it again."""
    with suppress(CoattendError):
        before = read(folder)
        spec = spec.model_copy(update={"name": before.name}) if before.trial_id == spec.trial_id else spec
    # An unchanged file keeps its date: finished trials are described at every run.
    write_if_changed(folder / FILE, spec.model_dump_json(indent=1) + "\n")


def read(folder: Path) -> RunSpec:
    """Read the spec of a folder; raise if there is none, or it is damaged or of another version."""
    file = folder / FILE
    cure = "Run the pipeline training of its reader again: it mends it, and does not train it again"
    try:
        verify_checksum(file, cure=cure)
        return RunSpec.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise CoattendError("says nowhere how it is asked", where=str(folder), cure=cure) from None
    except (OSError, ValidationError) as error:
        reason = first_line(error)
        problem = f"is no run specification that this version can read ({reason})"
        raise CoattendError(problem, where=str(file), cure=cure) from None


def read_servable(folder: Path) -> RunSpec:
    """Read the spec of a reader that is to answer questions, and so must read all of them."""
    spec = read(folder)
    if not readers.is_trained(spec.reader) and spec.language_model is None:
        cure = "Score it again: it says how, and does not answer again"
        raise CoattendError("does not say which language model it is", where=str(folder), cure=cure)
    if not spec.is_servable:
        cure = "Name a trial of a reader that reads all of its questions"
        raise CoattendError("reads its questions in part only: it is no model to ask", where=str(folder), cure=cure)
    return spec


def weights_of(folder: Path) -> Path:
    """Return the folder of the weights of a trial or a packed reader: ``model``, or on the Hub the folder itself."""
    return folder / "model" if (folder / "model").is_dir() else folder


def restore_experiment(
    trial: FinishedTrial,
    tables: StoredTables,
    benchmark: BenchmarkParameters,
    tagging: str | None = None,
    *,
    tagging_parameter: str = "",
) -> Experiment:
    """Configure a trial's experiment again, over the tables as they are now, or those of another tagging profile, which
    is chosen by a parameter, if there is one."""
    spec = read(trial.folder)
    if not readers.is_trained(spec.reader):
        problem = "is of a language model as it is, which has no attention to show and no weights to verify"
        raise CoattendError(problem, where=f"trial {trial}", cure="Name a trial of a reader that is trained")
    # Variants that are compared may be shown over the tags of one profile.
    tagging = tagging or spec.tagging_profile
    _check_tables(spec, tables, tagging, tagging_parameter)
    benchmark_tables = BenchmarkTables(
        tables.open("questions", spec.benchmark),
        tables.open("passages", spec.benchmark),
        tables.open("tokens", spec.benchmark, tagging=tagging, tokenizer=spec.tokenizer_profile),
        tables.open("tags", spec.benchmark, tagging=tagging) if spec.reads_words else None,
        benchmark,
    )
    reader = ReaderParameters(
        name=spec.name,
        reader=spec.reader,
        head=spec.head,
        tagging=tagging,
        options=spec.options,
        training=spec.training.model_dump(),
    )
    encoder = EncoderParameters(source=spec.encoder, tokenizer=spec.tokenizer_profile, layers=spec.encoder_layers)
    setup = ReaderSetup(reader, encoder, TokenizerParameters(source=spec.encoder), spec.tagging)
    return Experiment.from_config(benchmark_tables, setup)


def _check_tables(spec: RunSpec, tables: StoredTables, tagging: str, tagging_parameter: str) -> None:
    """Raise unless there are tokens of a tagging profile that the reader's own tokenizer and tagger made."""
    # Tokens of another tokenizer or tagger would give the reader other inputs.
    tokenizer = load_tokenizer(TokenizerParameters(source=spec.encoder)).digest
    profiles = tables.tokenized(spec.benchmark)
    if (tagging, spec.tokenizer_profile) in profiles:
        tokens = tables.open("tokens", spec.benchmark, tagging=tagging, tokenizer=spec.tokenizer_profile)
        metadata = tokens.schema.metadata or {}
        tagger = metadata.get(b"tagger", b"").decode()
        if metadata.get(b"tokenizer", b"").decode() == tokenizer and (tagger == spec.tagger or not spec.needs_tagger):
            return
    available = ", ".join(f"{profile.tagging}.{profile.tokenizer}" for profile in profiles) or "none"
    command = run_command(pipelines="ingestion,tagging,tokenization", namespaces=spec.benchmark, with_params=False)
    raise CoattendError(
        f"there are no tokens of {spec.benchmark} by its tokenizer ({spec.encoder}) and its tagger "
        f"({spec.tagger}); there are: {available}",
        where=f"trial {spec.trial_id}",
        cure=f"Run, with the parameters of its training: {command}"
        + (f"; or set {tagging_parameter} to a profile of them" if tagging_parameter else ""),
    )
