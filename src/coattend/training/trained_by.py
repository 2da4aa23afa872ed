"""The plan that a finished trial was trained by."""

from coattend import readers
from coattend.datasets.stored_tables import Profiles, StoredTables
from coattend.errors import CoattendError
from coattend.parameters import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TokenizerParameters,
)
from coattend.text.subwords import load_tokenizer
from coattend.training.finished import FinishedTrial
from coattend.training.plan import Plan
from coattend.training.plans import plan_of
from coattend.training.predict import kept_predictions


def trained_by(trial: FinishedTrial, tables: StoredTables, benchmark: BenchmarkParameters, tagging: str | None) -> Plan:
    """The plan that a trial was trained by, over the tables as they are.

    Args:
        trial: The trial.
        tables: The tables of its benchmark and of others.
        benchmark: Its benchmark.
        tagging: The tagging profile that it reads; None: the one that its record says.

    Raises:
        CoattendError: If there are no such tables, or several that the record cannot tell apart.
    """
    plans = {one: _plan(trial, tables, benchmark, one) for one in _profiles(trial, tables, tagging)}
    if len(plans) > 1:
        # Profiles of one tagger have the same name for it; what was read is told by what was answered.
        plans = {one: plan for one, plan in plans.items() if kept_predictions(plan, trial.folder).is_file()} or plans
    if len(plans) > 1:
        names = " or ".join(sorted({one.tagging for one in plans}))
        raise CoattendError(
            f"its record does not tell which tags it reads: {names}",
            where=f"trial {trial.id}",
            cure="Say it with --params attention.tagging=<profile>",
        )
    return next(iter(plans.values()))


def _profiles(trial: FinishedTrial, tables: StoredTables, tagging: str | None) -> list[Profiles]:
    """The subwords of its benchmark that are its encoder's own and were tagged as it says."""
    digest = load_tokenizer(TokenizerParameters(source=trial.outcome["encoder"])).digest
    there, fitting = tables.tokenized(trial.benchmark), []
    for one in there:
        made = tables.open("tokens", trial.benchmark, **one._asdict()).schema.metadata or {}
        by = (made.get(b"tokenizer", b"").decode(), made.get(b"tagger", b"").decode())
        if by == (digest, trial.outcome["tagger"]) and tagging in (None, one.tagging):
            fitting.append(one)
    if fitting:
        return fitting
    named = ", ".join(f"{one.tagging}.{one.tokenizer}" for one in there) or "none"
    raise CoattendError(
        f"there are no tokens of {trial.benchmark} by its tokenizer ({trial.outcome['encoder']}) and its tagger "
        f"({trial.outcome['tagger']}); there are: {named}",
        where=f"trial {trial.id}",
        cure="Run the data stages as it was trained, or set attention.tagging to a profile of them",
    )


def _plan(trial: FinishedTrial, tables: StoredTables, benchmark: BenchmarkParameters, profiles: Profiles) -> Plan:
    words = readers.encoder_of(trial.content["reader"]) == "recurrent"
    return plan_of(
        tables.open("questions", trial.benchmark),
        tables.open("passages", trial.benchmark),
        tables.open("tokens", trial.benchmark, **profiles._asdict()),
        tables.open("tags", trial.benchmark, tagging=profiles.tagging) if words else None,
        benchmark,
        ReaderParameters(
            name=trial.content["reader"],
            reader=trial.content["reader"],
            head=trial.content["head"],
            tagging=profiles.tagging,
            options=trial.content["options"],
            training=trial.content["training"],
        ),
        EncoderParameters(source=trial.outcome["encoder"], tokenizer=profiles.tokenizer),
        TokenizerParameters(source=trial.outcome["encoder"]),
    )
