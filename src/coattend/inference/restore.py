"""Restore the experiment of a finished trial from its run specification."""

from coattend.config import BenchmarkParameters, EncoderParameters, ReaderParameters, TokenizerParameters
from coattend.errors import CoattendError
from coattend.io.table_store import StoredTables
from coattend.text.tokenizer import load_tokenizer
from coattend.trials import run_spec
from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup
from coattend.trials.run_spec import RunSpec
from coattend.trials.store import FinishedTrial


def restore_experiment(
    trial: FinishedTrial, tables: StoredTables, benchmark: BenchmarkParameters, tagging: str | None = None
) -> Experiment:
    """Configure a trial's experiment again, over the tables as they are now.

    Args:
        trial: The trial.
        tables: The tables of its benchmark and of others.
        benchmark: Its benchmark.
        tagging: A tagging profile to read instead of the trial's own.

    Raises:
        CoattendError: If the run specification is missing, or the tables were made by another tokenizer or tagger.
    """
    spec = run_spec.read(trial.folder)
    # Variants that are compared may be shown over the tags of one profile.
    tagging = tagging or spec.tagging_profile
    _check_tables(spec, tables, tagging)
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
    encoder = EncoderParameters(source=spec.encoder, tokenizer=spec.tokenizer_profile)
    setup = ReaderSetup(reader, encoder, TokenizerParameters(source=spec.encoder), spec.tagging)
    return Experiment.from_config(benchmark_tables, setup)


def _check_tables(spec: RunSpec, tables: StoredTables, tagging: str) -> None:
    """Raise unless there are tokens of a tagging profile that the reader's own tokenizer and tagger made."""
    # Tokens of another tokenizer or tagger would give the reader other inputs.
    tokenizer = load_tokenizer(TokenizerParameters(source=spec.encoder)).digest
    profiles = tables.tokenized(spec.benchmark)
    if (tagging, spec.tokenizer_profile) in profiles:
        tokens = tables.open("tokens", spec.benchmark, tagging=tagging, tokenizer=spec.tokenizer_profile)
        metadata = tokens.schema.metadata or {}
        made_by = metadata.get(b"tokenizer", b"").decode(), metadata.get(b"tagger", b"").decode()
        if made_by == (tokenizer, spec.tagger):
            return
    available = ", ".join(f"{profile.tagging}.{profile.tokenizer}" for profile in profiles) or "none"
    raise CoattendError(
        f"there are no tokens of {spec.benchmark} by its tokenizer ({spec.encoder}) and its tagger "
        f"({spec.tagger}); there are: {available}",
        where=f"trial {spec.trial_id}",
        cure="Run the data stages as it was trained, or set attention.tagging to a profile of them",
    )
