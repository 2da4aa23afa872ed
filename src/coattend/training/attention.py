"""Chosen questions as one or two trained readers see them."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from coattend.datasets.stored_tables import StoredTables
from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import AttentionParameters, BenchmarkParameters
from coattend.training.choosing import by_id, examples_of, of_split
from coattend.training.finished import FinishedTrial, find_trial
from coattend.training.predict import predict
from coattend.training.seeing import Seeing, mean_agreement
from coattend.training.trained_by import trained_by

logger = logging.getLogger(__name__)

OF_A_QUESTION = ("question_id", "split", "subset", "question", "options", "label", "answers", "answerable")


def read(
    parameters: AttentionParameters, benchmarks: Mapping[str, Any], store: Path, tables: StoredTables
) -> tuple[pa.Table, dict[str, Any]]:
    """Look at chosen questions with the readers of one or two trials.

    Args:
        parameters: Which trials, and which questions.
        benchmarks: Every benchmark's parameters.
        store: The folder of all trials.
        tables: The tables of all benchmarks.

    Returns:
        The attention table, and as JSON who read what, the answers and how well maps agree with occlusion.

    Raises:
        CoattendError: If there is no such trial, question or table, or two trials do not answer the same questions.
    """
    trials = _trials(parameters, store)
    benchmark = _benchmark(trials, benchmarks)
    seeing = [Seeing.of(one, trained_by(one, tables, benchmark, parameters.tagging)) for one in trials]
    task = _task(seeing)
    names = _names(parameters, seeing, store)
    occlusion = bool(parameters.occlusion)
    if occlusion:
        logger.info(
            "hiding each word of %d passages in turn, a pass over the reader for each; fewer attention.questions take "
            "less time, and attention.occlusion=false spares it",
            len(names),
        )
    parts, readings = [], []
    for one in seeing:
        made = [one.question(example, occlusion=occlusion) for example in examples_of(names, one.asked)]
        parts += [table for table, _ in made]
        readings.append([told for _, told in made])
    return pa.concat_tables(parts).unify_dictionaries(), {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "task": task,
        "occlusion": occlusion,
        "readers": [_who(one, own) for one, own in zip(seeing, readings, strict=True)],
        "questions": [
            _described(seeing[0], name) | {"readings": [own[place] for own in readings]}
            for place, name in enumerate(names)
        ],
    }


def _trials(parameters: AttentionParameters, store: Path) -> list[FinishedTrial]:
    trials = [find_trial(store, parameters.left, "attention.left")]
    if parameters.right is not None:
        trials.append(find_trial(store, parameters.right, "attention.right"))
    if len({trial.id for trial in trials}) < len(trials):
        cure = "Name another trial, or leave it out"
        raise CoattendError("is the trial on the left once more", where="attention.right", cure=cure)
    for trial in trials:
        if trial.outcome["training"].get("reads", "all") != "all":
            cure = "Name a trial that was trained on whole questions"
            raise CoattendError("reads its questions in part only", where=f"trial {trial.id}", cure=cure)
    return trials


def _benchmark(trials: Sequence[FinishedTrial], benchmarks: Mapping[str, Any]) -> BenchmarkParameters:
    names = list(dict.fromkeys(trial.benchmark for trial in trials))
    if len(names) > 1:
        raise CoattendError(
            f"the two trials are of two benchmarks: {' and '.join(names)}",
            where="attention",
            cure="Choose two trials of the same one",
        )
    if names[0] not in benchmarks:
        cure = did_you_mean(names[0], list(benchmarks))
        raise CoattendError(f"no benchmark is called {names[0]!r}", where=f"trial {trials[0].id}", cure=cure)
    return BenchmarkParameters.model_validate(benchmarks[names[0]])


def _task(seeing: Sequence[Seeing]) -> str:
    tasks = sorted({one.plan.source.task for one in seeing})
    if len(tasks) > 1:
        raise CoattendError(
            f"the two trials answer different questions: those of the task {' and those of the task '.join(tasks)}",
            where="attention",
            cure="Choose two trials of one task",
        )
    return tasks[0]


def _names(parameters: AttentionParameters, seeing: Sequence[Seeing], store: Path) -> list[str]:
    asked = [one.asked for one in seeing]
    if parameters.ids is not None:
        return by_id(parameters.ids, asked)
    both = seeing if len(seeing) > 1 else ()
    if both:
        logger.info("asking both trials all questions, to find those where they differ; attention.ids spares it")
    answered = [predict(one.plan, one.trial.outcome, one.asked, store) for one in both]
    return of_split(parameters, asked, answered)


def _described(seeing: Seeing, name: str) -> dict[str, Any]:
    row = seeing.asked.rows[name]
    return {key: row[key] for key in OF_A_QUESTION} | {"passage": seeing.asked.texts[name]}


def _who(seeing: Seeing, readings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a reader is, how its maps are read, and how well they agree with occlusion over all questions."""
    trial = seeing.trial
    kept = {key: trial.content[key] for key in ("trial_id", "reader", "head", "seed", "options")}
    legend = {name: how for reading in readings for name, how in reading.pop("legend").items()}
    return kept | {"encoder": trial.outcome["encoder"], "legend": legend, "agreement": mean_agreement(readings)}
