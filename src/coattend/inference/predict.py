"""Predict the answers of trained trials to the questions of every split but train."""

import hashlib
import json
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.batches.collator import CachedFeatures
from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import digest
from coattend.batches.word_tokens import WordTokens
from coattend.config import LOCAL, EngineParameters
from coattend.errors import CoattendError
from coattend.inference.decoding import Answer, answer_examples
from coattend.inference.scoring import score_answers
from coattend.io.atomic import matches_checksum, write_with_checksum
from coattend.masking import masked_text
from coattend.parallel.engine import map_shards
from coattend.parallel.progress import track_progress
from coattend.readers.reader import Reader
from coattend.schemas import PREDICTIONS, REJECTED
from coattend.trials.build import build_collator, cached_features
from coattend.trials.device import concurrent_trials, device_and_precision, inference_batch_tokens
from coattend.trials.experiment import Experiment
from coattend.trials.trial import PREDICTIONS_FILE, TrialOutcome, digest_of_files

logger = logging.getLogger(__name__)

PREDICTIONS_VERSION = 1
"""Raised whenever the same trial would predict other answers to the same questions."""


def predict_all(
    experiment: Experiment, model: dict[str, Any], store: Path, *, engine: EngineParameters = LOCAL
) -> tuple[pa.Table, pa.Table]:
    """Predict the answers of every trial of a model; predictions are cached in the trials' folders.

    Args:
        experiment: The experiment.
        model: The model record that training returned.
        store: The folder of all trials.
        engine: Where to predict; on a cluster, each worker takes one trial at a time.

    Returns:
        The predictions of all trials, and the questions that the reader could not be given, in training or here.
    """
    questions = experiment.source.evaluation(experiment.training)
    # Trials that failed have no reader.
    finished = [trial for trial in model["trials"] if trial["failure"] is None]
    # Workers write predictions into the trials' folders, from which they are read below.
    if engine.kind == "dask":
        _fill_cache_on_cluster(engine, experiment, finished, questions, store)
    tables = [predict(experiment, trial, questions, store) for trial in finished]
    predictions = pa.concat_tables(tables) if tables else PREDICTIONS.empty_table()
    return predictions, _rejected(experiment, finished, questions)


def predict_each(
    experiment: Experiment, model: dict[str, Any], store: Path, *, engine: EngineParameters = LOCAL
) -> tuple[pa.Table, list[TrialOutcome]]:
    """Predict as `predict_all` does, but go on with the other trials where one cannot predict.

    Returns:
        The predictions, and the outcomes of all trials; one that cannot predict has a ``failure``.
    """
    try:
        return predict_all(experiment, model, store, engine=engine)[0], model["trials"]
    except Exception as error:
        logger.warning(
            "%s on %s: each trial is asked alone, since one cannot be: %s", experiment.name, experiment.benchmark, error
        )
    tables, outcomes = [PREDICTIONS.empty_table()], []
    for trial in model["trials"]:
        try:
            tables.append(predict_all(experiment, model | {"trials": [trial]}, store, engine=engine)[0])
            outcomes.append(trial)
        except Exception as error:
            outcomes.append(trial | {"failure": masked_text(f"cannot be asked: {type(error).__name__}: {error}")})
            logger.error("trial %s (seed %d) cannot be asked: %s", trial["trial_id"], trial["seed"], error)
    return pa.concat_tables(tables), outcomes


def _fill_cache_on_cluster(
    engine: EngineParameters,
    experiment: Experiment,
    trials: Sequence[TrialOutcome],
    questions: QuestionSet,
    store: Path,
) -> None:
    """Predict on a cluster the trials that have no cached predictions; the workers write them."""
    uncached = [
        (trial["trial_id"], trial)
        for trial in trials
        if not _cache_file(experiment, questions, store / trial["folder"]).is_file()
    ]
    shards = map_shards(
        engine,
        partial(_predict_shard, experiment, questions, store),
        uncached,
        workers=concurrent_trials(experiment.training),
        title=f"{experiment.benchmark}.{experiment.name}",
    )
    for _ in shards:
        pass


def _predict_shard(
    experiment: Experiment, questions: QuestionSet, store: Path, shard: tuple[str, TrialOutcome]
) -> None:
    _, trial = shard
    predict(experiment, trial, questions, store)


def _rejected(experiment: Experiment, trials: Sequence[TrialOutcome], questions: QuestionSet) -> pa.Table:
    """List the questions that the reader could not be given, in training or in evaluation."""
    if questions.unreadable:
        count, first = len(questions.unreadable), questions.unreadable[0]
        logger.warning("%d questions count as wrong; %s: %s", count, first.question_id, first.reason)
    training, scored = f"{experiment.benchmark}, training", f"{experiment.benchmark}, scored"
    rows = {(training, entry["question_id"], entry["reason"]) for trial in trials for entry in trial["unreadable"]}
    rows |= {(scored, entry.question_id, entry.reason) for entry in questions.unreadable}
    columns = [list(column) for column in zip(*sorted(rows), strict=True)] or [[], [], []]
    return pa.table(columns, schema=REJECTED)


def predict(experiment: Experiment, trial: TrialOutcome, questions: QuestionSet, store: Path) -> pa.Table:
    """Load a trial's predictions from its folder, or compute and cache them.

    Args:
        experiment: The experiment.
        trial: The trial's outcome.
        questions: The questions.
        store: The folder of all trials.

    Raises:
        CoattendError: If its reader is not what was trained.
    """
    folder = store / trial["folder"]
    if not folder.joinpath("model").is_dir() or digest_of_files(folder / "model") != trial["model_digest"]:
        raise CoattendError(
            "is missing or is not what was trained", where=str(folder / "model"), cure="Run the training pipeline again"
        )
    cache_file = _cache_file(experiment, questions, folder)
    try:
        if matches_checksum(cache_file):
            return pq.read_table(cache_file, schema=PREDICTIONS)
    except (OSError, pa.ArrowInvalid):
        pass  # It is missing, or damaged and has no digest.
    table = compute_predictions(experiment, trial, questions, folder)
    with write_with_checksum(cache_file) as temporary:
        pq.write_table(table, temporary)
    return table


def compute_predictions(experiment: Experiment, trial: TrialOutcome, questions: QuestionSet, folder: Path) -> pa.Table:
    """Compute a trial's predictions without the cache.

    Args:
        experiment: The experiment.
        trial: The trial's outcome.
        questions: The questions.
        folder: The trial's folder, inside the folder of all trials.
    """
    device, _ = device_and_precision(experiment.training)
    reader = Reader.load(folder / "model").to(device)
    answers = answer_questions(
        experiment,
        reader,
        questions,
        features=cached_features(experiment, reader, questions, folder.parent),
        title=f"{experiment.benchmark}.{experiment.name} seed {trial['seed']}, questions asked",
    )
    return score_answers(
        answers, questions, trial_id=trial["trial_id"], seed=trial["seed"], threshold=trial["null_threshold"]
    )


def _cache_file(experiment: Experiment, questions: QuestionSet, folder: Path) -> Path:
    """Return the cache file of a trial's predictions, named by a hash of what they depend on beside the trial."""
    golds = questions.questions.select(["question_id", "label", "answers"]).to_pylist()
    content = [
        PREDICTIONS_VERSION,
        digest(questions.examples, questions.tokens),
        golds,
        experiment.training.max_answer_length,
    ]
    key = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
    return folder / PREDICTIONS_FILE.format(key=key)


def answer_questions(
    experiment: Experiment,
    reader: Reader,
    questions: QuestionSet,
    *,
    features: CachedFeatures | None = None,
    title: str | None = None,
) -> list[Answer]:
    """Answer questions with a reader of an experiment.

    Args:
        experiment: The experiment.
        reader: The reader, on the device to use.
        questions: The questions.
        features: Cached outputs of a frozen encoder for these questions.
        title: Title of a progress bar; None shows none.
    """
    _, bf16 = device_and_precision(experiment.training)
    is_transformer = not isinstance(questions.tokens, WordTokens)
    answers = answer_examples(
        reader,
        questions.examples,
        collator=build_collator(experiment, reader, questions, features=features),
        tokens=questions.tokens,
        tokens_per_batch=inference_batch_tokens(experiment.training, transformer=is_transformer),
        bf16=bf16,
        max_answer_length=experiment.training.max_answer_length,
        softmaxed=experiment.scores_are_softmaxed,
    )
    return list(answers if title is None else track_progress(answers, len(questions.examples), title))
