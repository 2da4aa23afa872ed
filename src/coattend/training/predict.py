"""What trained trials answer to the questions of every split but train."""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.datasets.atomic import replacing
from coattend.errors import CoattendError
from coattend.readers.reader import Reader
from coattend.tables import PREDICTIONS
from coattend.training.answers import Answer, answer
from coattend.training.data import QuestionSet
from coattend.training.examples import digest
from coattend.training.fit import Plan
from coattend.training.marking import mark, null_threshold
from coattend.training.trial import digest_of_files

logger = logging.getLogger(__name__)


def predict_all(plan: Plan, model: dict[str, Any], store: Path) -> pa.Table:
    """Ask every trial of a model; what a trial answered already is kept in its folder.

    Args:
        plan: The reader and where its questions come from.
        model: What training returned.
        store: The folder of all trials.

    Returns:
        The predictions of all trials.
    """
    asked = plan.source.scored(plan.training)
    for unreadable in asked.unreadable:
        logger.warning("question %s counts as wrong: %s", unreadable.question_id, unreadable.reason)
    tables = [_predict(plan, trial, asked, store) for trial in model["trials"] if trial["failure"] is None]
    return pa.concat_tables(tables) if tables else PREDICTIONS.empty_table()


def _predict(plan: Plan, trial: dict[str, Any], asked: QuestionSet, store: Path) -> pa.Table:
    folder = store / trial["folder"]
    if not folder.joinpath("model").is_dir() or digest_of_files(folder / "model") != trial["model_digest"]:
        raise CoattendError(
            "is missing or is not what was trained", where=str(folder / "model"), cure="Run the training pipeline again"
        )
    kept = folder / f"predictions-{_key(plan, asked)}.parquet"
    try:
        return pq.read_table(kept, schema=PREDICTIONS)
    except (FileNotFoundError, pa.ArrowInvalid):
        pass
    reader = Reader.load(folder / "model")
    device, bf16 = plan.precision()
    reader.to(device)
    threshold = 0.0
    if plan.source.task == "span":
        _, held_out = plan.source.training(plan.training)
        threshold = null_threshold(_ask(plan, reader, held_out, bf16), held_out)
    answers = _ask(plan, reader, asked, bf16)
    table = mark(answers, asked, trial_id=trial["trial_id"], seed=trial["seed"], threshold=threshold)
    with replacing(kept) as temporary:
        pq.write_table(table, temporary)
    return table


def _ask(plan: Plan, reader: Reader, asked: QuestionSet, bf16: bool) -> list[Answer]:
    return list(
        answer(
            reader,
            asked.examples,
            collator=plan.collator(),
            tokens=plan.source.tokens,
            tokens_per_batch=plan.training.tokens_per_batch,
            bf16=bf16,
            max_answer_length=plan.training.max_answer_length,
        )
    )


def _key(plan: Plan, asked: QuestionSet) -> str:
    """A hash of what the predictions depend on beside the trial."""
    golds = asked.questions.select(["question_id", "label", "answers"]).to_pylist()
    content = [digest(asked.examples, plan.source.tokens), golds, plan.training.max_answer_length]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
