"""Predict the answers of trained trials to the questions of every split but train."""

import logging
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from coattend.batches.collator import CachedFeatures, Collator
from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example, digest
from coattend.batches.word_tokens import WordTokens
from coattend.config import LOCAL, EngineParameters
from coattend.evaluation.records import TrialRecord
from coattend.inference.decoding import Answer, decode
from coattend.inference.scoring import score_answers
from coattend.io.atomic import matches_checksum, write_with_checksum
from coattend.masking import masked_text
from coattend.parallel.engine import map_shards
from coattend.parallel.progress import track_progress
from coattend.readers.batch import Batch
from coattend.readers.reader import Reader, ReaderOutput
from coattend.readers.windows import read_batch
from coattend.schemas import PREDICTIONS, REJECTED, SCORED_QUESTIONS, TRAINED_QUESTIONS
from coattend.text.hashing import json_digest
from coattend.trials.build import build_collator, cached_features
from coattend.trials.device import concurrent_trials, device_and_precision, inference_batch_tokens
from coattend.trials.experiment import Experiment
from coattend.trials.trial import PREDICTIONS_FILE, check_weights

logger = logging.getLogger(__name__)

Compute = Callable[[Experiment, TrialRecord, QuestionSet, Path], pa.Table]
"""Computes a table of what a trial's reader says of questions, given its folder."""

PREDICTIONS_VERSION = 1
"""Raised whenever the same trial would predict other answers to the same questions."""


def predict_all(
    experiment: Experiment, trials: Sequence[TrialRecord], store: Path, *, engine: EngineParameters = LOCAL
) -> tuple[pa.Table, pa.Table]:
    """Predict the answers of trials; predictions are cached in the trials' folders.

    On a cluster, each worker takes one trial at a time.

    Returns:
        The predictions of all trials, and the questions that the reader could not be given, in training or here.
    """
    questions = experiment.source.evaluation(experiment.training)
    # Trials that failed have no reader.
    finished = [trial for trial in trials if trial["failure"] is None]
    # The name of a cache file is the same in all folders, and takes a look at every question.
    cache_name = predictions_file(experiment, questions) if finished else ""
    # Workers write predictions into the trials' folders, from which they are read below.
    if engine.kind == "dask":
        uncached = [
            (trial["trial_id"], trial) for trial in finished if not (store / trial["folder"] / cache_name).is_file()
        ]
        shards = map_shards(
            engine,
            partial(_predict_shard, experiment, questions, store, cache_name),
            uncached,
            workers=concurrent_trials(experiment.training),
            title=f"{experiment.benchmark}.{experiment.name}",
        )
        for _ in shards:
            pass
    tables = [predict(experiment, trial, questions, store, cache_name) for trial in finished]
    predictions = pa.concat_tables(tables) if tables else PREDICTIONS.empty_table()
    return predictions, _rejected(experiment, finished, questions)


def predict_each(
    experiment: Experiment, trials: Sequence[TrialRecord], store: Path, *, engine: EngineParameters = LOCAL
) -> tuple[pa.Table, list[TrialRecord]]:
    """Predict as `predict_all` does, but go on with the other trials where one cannot predict.

    Returns:
        The predictions, and the outcomes of all trials; one that cannot predict has a ``failure``.
    """
    try:
        return predict_all(experiment, trials, store, engine=engine)[0], list(trials)
    except Exception as error:
        logger.warning(
            "%s on %s: each trial is asked alone, since one cannot be: %s", experiment.name, experiment.benchmark, error
        )
    tables, outcomes = [PREDICTIONS.empty_table()], []
    for trial in trials:
        try:
            tables.append(predict_all(experiment, [trial], store, engine=engine)[0])
            outcomes.append(trial)
        except Exception as error:
            outcomes.append({**trial, "failure": masked_text(f"cannot be asked: {type(error).__name__}: {error}")})
            logger.error("trial %s (seed %d) cannot be asked: %s", trial["trial_id"], trial["seed"], error)
    return pa.concat_tables(tables), outcomes


def _predict_shard(
    experiment: Experiment, questions: QuestionSet, store: Path, cache_name: str, shard: tuple[str, TrialRecord]
) -> None:
    _, trial = shard
    predict(experiment, trial, questions, store, cache_name)


def _rejected(experiment: Experiment, trials: Sequence[TrialRecord], questions: QuestionSet) -> pa.Table:
    """List the questions that the reader could not be given, in training or in evaluation."""
    if questions.unreadable:
        count, first = len(questions.unreadable), questions.unreadable[0]
        logger.warning("%d questions count as wrong; %s: %s", count, first.question_id, first.reason)
    training, scored = (name.format(benchmark=experiment.benchmark) for name in (TRAINED_QUESTIONS, SCORED_QUESTIONS))
    rows = {(training, entry["question_id"], entry["reason"]) for trial in trials for entry in trial["unreadable"]}
    rows |= {(scored, entry.question_id, entry.reason) for entry in questions.unreadable}
    columns = [list(column) for column in zip(*sorted(rows), strict=True)] or [[], [], []]
    return pa.table(columns, schema=REJECTED)


def predict(
    experiment: Experiment,
    trial: TrialRecord,
    questions: QuestionSet,
    store: Path,
    cache_name: str | None = None,
    *,
    compute: Compute | None = None,
    schema: pa.Schema = PREDICTIONS,
) -> pa.Table:
    """Load a trial's predictions from its folder in the store, or compute and cache them.

    The name of their file depends on the experiment and the questions, and is computed unless it is given. ``compute``
    makes a table of another schema of what the reader says; None: `compute_predictions`.
    """
    folder = store / trial["folder"]
    weights, digest_of_weights = folder / "model", trial["model_digest"]
    check_weights(weights, digest_of_weights, in_use=False)
    cache_file = folder / (cache_name or predictions_file(experiment, questions))
    try:
        if matches_checksum(cache_file):
            return pq.read_table(cache_file, schema=schema)
    except (OSError, pa.ArrowInvalid):
        pass  # It is missing, or damaged and has no digest.
    check_weights(weights, digest_of_weights)
    table = (compute or compute_predictions)(experiment, trial, questions, folder)
    with write_with_checksum(cache_file) as temporary:
        pq.write_table(table, temporary)
    return table


def compute_predictions(experiment: Experiment, trial: TrialRecord, questions: QuestionSet, folder: Path) -> pa.Table:
    """Compute a trial's predictions without the cache; its folder lies inside the folder of all trials."""
    experiment, reader, features = load_trained(experiment, trial, questions, folder)
    title = f"{experiment.benchmark}.{experiment.name} seed {trial['seed']}, questions asked"
    answers = answer_questions(experiment, reader, questions, features=features, title=title)
    return score_answers(
        answers, questions, trial_id=trial["trial_id"], seed=trial["seed"], threshold=trial["null_threshold"]
    )


def load_trained(
    experiment: Experiment, trial: TrialRecord, questions: QuestionSet, folder: Path
) -> tuple[Experiment, Reader, CachedFeatures | None]:
    """Load a trial's reader onto the device that it answers on, with the experiment as it was trained in and the cached
    features of the questions."""
    # The trial says whether its encoder is frozen: its entry may have changed, or another benchmark's readers may be.
    frozen = trial["training"]["frozen"]
    experiment = replace(experiment, training=experiment.training.model_copy(update={"frozen": frozen}))
    device, _ = device_and_precision(experiment.training)
    reader = Reader.load(folder / "model").to(device)
    return experiment, reader, cached_features(experiment, reader, questions, folder.parent)


def predictions_file(experiment: Experiment, questions: QuestionSet) -> str:
    """Return the name of a file of predictions: a hash of what they depend on beside the trial."""
    golds = questions.questions.select(["question_id", "label", "answers"]).to_pylist()
    examples, max_answer_length = digest(questions.examples, questions.tokens), experiment.training.max_answer_length
    content = [PREDICTIONS_VERSION, examples, golds, max_answer_length]
    # Left out where they are as usual, so that the names of other files do not depend on them.
    content += [experiment.training.over_windows] if experiment.training.over_windows else []
    content += [questions.scorer] if experiment.task == "span" and questions.scorer != "squad" else []
    key = json_digest(content)[:16]
    return PREDICTIONS_FILE.format(key=key)


def answer_questions(
    experiment: Experiment,
    reader: Reader,
    questions: QuestionSet,
    *,
    features: CachedFeatures | None = None,
    alone: bool = False,
    title: str | None = None,
) -> list[Answer]:
    """Answer questions in batches of similar length, without gradients and dropout; a title makes a progress bar.

    ``alone`` makes a batch of each question.
    """
    answers = (
        answer
        for output, batch, examples, collator in read_questions(experiment, reader, questions, features, alone=alone)
        for answer in decode(
            output,
            batch,
            examples,
            collator=collator,
            max_answer_length=experiment.training.max_answer_length,
            softmaxed=experiment.scores_are_softmaxed,
        )
    )
    return list(answers if title is None else track_progress(answers, len(questions.examples), title))


class ReadBatch(NamedTuple):
    """What a reader says of a batch of examples, and what made it."""

    output: ReaderOutput
    batch: Batch
    examples: list[Example]
    collator: Collator


def read_questions(
    experiment: Experiment,
    reader: Reader,
    questions: QuestionSet,
    features: CachedFeatures | None = None,
    *,
    alone: bool = False,
) -> Generator[ReadBatch, None, None]:
    """Yield what a reader says of questions, as `answer_questions` asks them."""
    training, device, examples = experiment.training, next(reader.parameters()).device, questions.examples
    _, bf16 = device_and_precision(training)
    collator = build_collator(experiment, reader, questions, features=features).unanswered()
    is_transformer = not isinstance(questions.tokens, WordTokens)
    budget = inference_batch_tokens(training, transformer=is_transformer, trained=True)
    # Under a small budget, questions about a passage that is read once would still share a batch.
    single = ([index] for index in range(len(examples)))
    batches = single if alone else collator.buckets(examples, tokens_per_batch=budget, shuffle=False)
    was_training = reader.training
    reader.eval()
    for indices in batches:
        batch_examples = [examples[index] for index in indices]
        batch = Batch(**collator(batch_examples)).to(device)
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            output = read_batch(reader, batch, training.over_windows)
        yield ReadBatch(output, batch, batch_examples, collator)
    reader.train(was_training)
