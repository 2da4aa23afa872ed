"""What trained trials answer to the questions of every split but train."""

import hashlib
import json
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.datasets.seals import is_whole, sealed
from coattend.engines.choice import map_shards
from coattend.errors import CoattendError
from coattend.masking import masked_text
from coattend.parameters import LOCAL, EngineParameters
from coattend.readers.reader import Reader
from coattend.tables import PREDICTIONS, REJECTED
from coattend.training.data import QuestionSet
from coattend.training.examples import digest
from coattend.training.fan_out import at_once
from coattend.training.marking import mark
from coattend.training.plan import Plan
from coattend.training.trial import PREDICTIONS_FILE, digest_of_files

logger = logging.getLogger(__name__)

VERSION = 1
"""Raised whenever the same trial would be asked the same and have other predictions."""


def predict_all(
    plan: Plan, model: dict[str, Any], store: Path, *, engine: EngineParameters = LOCAL
) -> tuple[pa.Table, pa.Table]:
    """Ask every trial of a model; what a trial answered already is kept in its folder.

    Args:
        plan: The reader and where its questions come from.
        model: What training returned.
        store: The folder of all trials.
        engine: Where; on a cluster each worker asks one trial at a time.

    Returns:
        The predictions of all trials, and the questions that the reader could not be given, in training or here.
    """
    asked = plan.source.scored(plan.training)
    finished = [trial for trial in model["trials"] if trial["failure"] is None]
    if engine.kind == "dask":
        _ask_on(engine, plan, finished, asked, store)
    tables = [predict(plan, trial, asked, store) for trial in finished]
    return pa.concat_tables(tables) if tables else PREDICTIONS.empty_table(), _rejected(plan, finished, asked)


def predict_each(
    plan: Plan, model: dict[str, Any], store: Path, *, engine: EngineParameters = LOCAL
) -> tuple[pa.Table, list[dict[str, Any]]]:
    """As `predict_all`, but a trial that cannot be asked does not keep the others from it.

    Returns:
        The predictions of the trials that can be asked, and what all came to; one that cannot has a ``failure``.
    """
    try:
        return predict_all(plan, model, store, engine=engine)[0], model["trials"]
    except Exception as error:
        logger.warning("%s on %s: each trial is asked alone, since one cannot be: %s", plan.name, plan.benchmark, error)
    tables, outcomes = [PREDICTIONS.empty_table()], []
    for trial in model["trials"]:
        try:
            tables.append(predict_all(plan, model | {"trials": [trial]}, store, engine=engine)[0])
            outcomes.append(trial)
        except Exception as error:
            outcomes.append(trial | {"failure": masked_text(f"cannot be asked: {type(error).__name__}: {error}")})
            logger.error("trial %s (seed %d) cannot be asked: %s", trial["trial_id"], trial["seed"], error)
    return pa.concat_tables(tables), outcomes


def _ask_on(
    engine: EngineParameters, plan: Plan, trials: Sequence[dict[str, Any]], asked: QuestionSet, store: Path
) -> None:
    """Have a cluster ask trials that were not asked these questions; what they answer is kept in their folders."""
    named = [(trial["trial_id"], trial) for trial in trials]
    new = [(name, trial) for name, trial in named if not _kept(plan, asked, store / trial["folder"]).is_file()]
    ask = partial(_ask, plan, asked, store)
    for _ in map_shards(engine, ask, new, workers=at_once(plan), title=f"{plan.benchmark}.{plan.name}"):
        pass


def _ask(plan: Plan, asked: QuestionSet, store: Path, named: tuple[str, dict[str, Any]]) -> None:
    predict(plan, named[1], asked, store)


def _rejected(plan: Plan, trials: list[dict[str, Any]], asked: QuestionSet) -> pa.Table:
    """Questions that the reader could not be given, in training or when it was scored."""
    if asked.unreadable:
        count, first = len(asked.unreadable), asked.unreadable[0]
        logger.warning("%d questions count as wrong; %s: %s", count, first.question_id, first.reason)
    training = f"{plan.benchmark}, training"
    rows = {(training, one["question_id"], one["reason"]) for trial in trials for one in trial["unreadable"]}
    rows |= {(f"{plan.benchmark}, scored", one.question_id, one.reason) for one in asked.unreadable}
    columns = [list(column) for column in zip(*sorted(rows), strict=True)] or [[], [], []]
    return pa.table(columns, schema=REJECTED)


def predict(plan: Plan, trial: dict[str, Any], asked: QuestionSet, store: Path) -> pa.Table:
    """Ask one trial, or find what it answered before.

    Args:
        plan: Its plan.
        trial: What it came to.
        asked: The questions.
        store: The folder of all trials.

    Raises:
        CoattendError: If its reader is not what was trained.
    """
    folder = store / trial["folder"]
    if not folder.joinpath("model").is_dir() or digest_of_files(folder / "model") != trial["model_digest"]:
        raise CoattendError(
            "is missing or is not what was trained", where=str(folder / "model"), cure="Run the training pipeline again"
        )
    kept = _kept(plan, asked, folder)
    try:
        if is_whole(kept):
            return pq.read_table(kept, schema=PREDICTIONS)
    except (OSError, pa.ArrowInvalid):
        pass  # It is not there, or damaged and has no digest.
    table = ask(plan, trial, asked, folder)
    with sealed(kept) as temporary:
        pq.write_table(table, temporary)
    return table


def ask(plan: Plan, trial: dict[str, Any], asked: QuestionSet, folder: Path) -> pa.Table:
    """Ask one trial, whatever it answered before.

    Args:
        plan: Its plan.
        trial: What it came to.
        asked: The questions.
        folder: The trial's, inside the folder of all trials.
    """
    device, _ = plan.precision()
    reader = Reader.load(folder / "model").to(device)
    title = f"{plan.benchmark}.{plan.name} seed {trial['seed']}, questions asked"
    answers = plan.ask(reader, asked, kept=plan.kept(reader, asked, folder.parent), title=title)
    return mark(answers, asked, trial_id=trial["trial_id"], seed=trial["seed"], threshold=trial["null_threshold"])


def kept_predictions(plan: Plan, folder: Path) -> Path:
    """Where a trial keeps what it answered to a plan's questions, if it did.

    Args:
        plan: The plan.
        folder: The trial's.
    """
    return _kept(plan, plan.source.scored(plan.training), folder)


def _kept(plan: Plan, asked: QuestionSet, folder: Path) -> Path:
    return folder / PREDICTIONS_FILE.format(key=_key(plan, asked))


def _key(plan: Plan, asked: QuestionSet) -> str:
    """A hash of what the predictions depend on beside the trial."""
    golds = asked.questions.select(["question_id", "label", "answers"]).to_pylist()
    content = [VERSION, digest(asked.examples, asked.tokens), golds, plan.training.max_answer_length]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
