"""Scores of readers as EuroEval 16.11 records them, so that they stand in a table beside its models.

A record is a line of ``euroeval_benchmark_results.jsonl``: the fields of EuroEval's ``BenchmarkResult``, but for those
that it fills itself (``generative_type`` and the versions of packages).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from safetensors import SafetensorError

from coattend.config import BenchmarkParameters
from coattend.errors import CoattendError
from coattend.evaluation.groups import EVERYTHING, members, scored_questions
from coattend.evaluation.records import GroupScores, ReaderMetrics, TrialRecord, score_of
from coattend.evaluation.runs import finished
from coattend.readers.registry import DESCRIPTION

QUESTION_COLUMNS = ["question_id", "split", "task", "label", "answers"]
PREDICTION_COLUMNS = ["question_id", "seed", "label"]

SPLITS = {"dev": True, "test": False}
"""Splits that EuroEval knows; True for the one that it calls the validation split."""
UNKNOWN = -1
"""Number that EuroEval writes for a size that it does not know."""
_NORMAL_95 = 1.96
"""Half the width of a normal distribution's 95 % interval, in standard errors."""
_TASKS = {
    "options": "multiple-choice-reading-comprehension",
    "word": "multiple-choice-reading-comprehension",
    "span": "reading-comprehension",
}
_SPAN_METRICS = {"f1": "f1", "em": "exact"}
"""EuroEval's name of a span's metric to ours; both are in percent."""


class Results(TypedDict):
    """Scores by EuroEval's names of metrics, such as ``test_accuracy``.

    ``raw`` has those of each seed; shares are fractions there, and F1 and exact match in percent. ``total`` has means,
    in percent, and under ``<metric>_se`` the radius of the 95 % interval, which is NaN for a single seed.
    """

    raw: list[dict[str, float]]
    total: dict[str, float]


class Record(TypedDict):
    """A reader's scores on one split of a benchmark."""

    dataset: str
    task: str
    languages: list[str]
    model: str
    results: Results
    num_model_parameters: int
    max_sequence_length: int
    vocabulary_size: int
    merge: bool
    generative: bool
    few_shot: bool | None
    validation_split: bool | None


def records(
    metrics: ReaderMetrics,
    predictions: pa.Table,
    questions: pa.Table,
    benchmark: BenchmarkParameters,
    *,
    trials: Path,
    publisher: str,
) -> Iterator[Record]:
    """Yield the records of a reader's scores, for dev and test as far as it was scored there.

    Args:
        metrics: Its metrics, as the evaluation stage writes them.
        predictions: Its predictions, with the columns `PREDICTION_COLUMNS`.
        questions: The benchmark's questions, with the columns `QUESTION_COLUMNS`.
        benchmark: The benchmark.
        trials: Folder of all trials, whose readers say how many words or subwords they know.
        publisher: What stands before the reader's name in the name of the model.
    """
    done = finished(metrics["trials"])
    if not done:
        return
    # A language model that was not trained.
    generative = not done[0].get("trained", True)
    scored, _ = scored_questions(questions, metrics["task"])
    of_split = members(scored["split"])
    for split, groups in metrics["splits"].items():
        if split not in SPLITS:
            continue
        if metrics["task"] == "span":
            raw, scale = _span_scores(groups[EVERYTHING]), 1
        else:
            raw, scale = _choice_scores(groups[EVERYTHING], predictions, scored.filter(pa.array(of_split[split]))), 100
        yield Record(
            dataset=benchmark.name,
            task=_TASKS[metrics["task"]],
            languages=[benchmark.language],
            model=f"{publisher}/{metrics['reader']}",
            results=Results(raw=raw, total=_total(raw, scale)),
            num_model_parameters=parameter_count(trials / done[0]["trial_id"] / "model", done[0]),
            max_sequence_length=_max_length(done[0]),
            vocabulary_size=vocabulary_size(trials / done[0]["trial_id"] / "model"),
            merge=False,
            generative=generative,
            few_shot=bool(done[0]["options"].get("shots")) if generative else None,
            validation_split=SPLITS[split],
        )


def to_lines(written: Iterable[Record]) -> str:
    """Write records in JSON Lines, as Python's ``json`` reads them: NaN is written as it is, as EuroEval does."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in written)


def vocabulary_size(model: Path) -> int:
    """Return how many subwords or words a trained reader in a folder knows; -1 if that is not known."""
    try:
        encoder: Mapping[str, object] = json.loads((model / DESCRIPTION).read_text(encoding="utf-8"))["encoder"]
    except (OSError, ValueError, KeyError):
        return UNKNOWN
    size = encoder.get("vocab_size", encoder.get("size"))
    return size if isinstance(size, int) else UNKNOWN


def parameter_count(model: Path, trial: TrialRecord) -> int:
    """Return how many parameters a reader in a folder has, also those that were not trained; -1 if that is not known.

    A trial records those that it trained, and of a language model all.
    """
    from coattend.readers.reader import Reader

    recorded, training = trial.get("parameters", UNKNOWN), trial.get("training", {})
    if not trial.get("trained", True):
        return recorded
    try:
        return Reader.parameter_count(model)
    except (CoattendError, OSError, SafetensorError):
        return UNKNOWN if training.get("frozen") or training.get("lora") else recorded


def matthews_correlation(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Return Matthews' correlation of labels [questions] with predicted ones, for any number of labels; 0 where one of
    both is constant.

    Gorodkin: Comparing two K-category assignments by a K-category correlation coefficient, 2004, equation 8.
    """
    labels = np.union1d(gold, predicted)
    is_gold, is_predicted = (values[:, None] == labels for values in (gold, predicted))
    shared = (is_gold & is_predicted).sum() * len(gold) - is_gold.sum(0) @ is_predicted.sum(0)
    spreads = [len(gold) ** 2 - (counts @ counts) for counts in (is_gold.sum(0), is_predicted.sum(0))]
    return float(shared / np.sqrt(float(spreads[0]) * float(spreads[1]))) if all(spreads) else 0.0


def _choice_scores(scores: GroupScores, predictions: pa.Table, asked: pa.Table) -> list[dict[str, float]]:
    gold = asked["label"].to_numpy()
    raw = []
    for seed, accuracy in _by_seed(scores, "accuracy"):
        answers = predictions.filter(pc.equal(predictions["seed"], seed))
        row = pc.index_in(asked["question_id"], value_set=answers["question_id"].combine_chunks())
        # A question without an answer counts as wrong: its label is none of the options'.
        predicted = pc.fill_null(answers["label"].combine_chunks().take(row.combine_chunks()), UNKNOWN).to_numpy()
        correlation = matthews_correlation(gold, predicted)
        raw.append({"test_mcc": correlation, "test_accuracy": accuracy / 100})
    return raw


def _span_scores(scores: GroupScores) -> list[dict[str, float]]:
    by_metric = {name: dict(_by_seed(scores, metric)) for name, metric in _SPAN_METRICS.items()}
    return [{f"test_{name}": values[seed] for name, values in by_metric.items()} for seed in by_metric["f1"]]


def _by_seed(scores: GroupScores, metric: str) -> list[tuple[int, float]]:
    return sorted((int(seed), value) for seed, value in score_of(scores, metric)["seeds"].items())


def _total(raw: list[dict[str, float]], scale: int) -> dict[str, float]:
    """Return means over seeds and the radii of their intervals, as EuroEval's ``aggregate_scores`` computes them."""
    total: dict[str, float] = {}
    for name in raw[0]:
        values = np.array([scores[name] for scores in raw])
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        total |= {name: scale * float(values.mean()), f"{name}_se": scale * _NORMAL_95 * float(error)}
    return total


def _max_length(trial: TrialRecord) -> int:
    length = trial.get("training", {}).get("max_length")
    return length if isinstance(length, int) else UNKNOWN
