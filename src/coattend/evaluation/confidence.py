"""How sure trials are of what they answer, split by split, beside how often they are right."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.evaluation import calibration
from coattend.evaluation.groups import members, scored_questions
from coattend.evaluation.probabilities import probabilities

COLUMNS = ["question_id", "trial_id", "prediction", "scores", "correct"]
"""The columns of predictions that are read."""

COVERAGES = np.arange(1, 101) / 100
"""Where the curve of risk against coverage is kept."""


def calibrate(
    predictions: pa.Table, questions: pa.Table, *, task: str, head: str, trials: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Calibration, and risk against coverage, of a reader.

    Its confidence is the probability of what it chose: of options and candidates as
    `coattend.evaluation.probabilities` has it from the scores; of a span that of its first token times that of its
    last, and of "no answer" the same of CLS. A span is right where it matches exactly. A question that was not
    answered has no confidence and no part in the calibration; against coverage it comes last, and is wrong.

    Readers that choose from all words of the passage have no part, as they keep no scores.

    Args:
        predictions: The columns `COLUMNS`, of these trials.
        questions: The columns `coattend.evaluation.groups.COLUMNS`.
        task: What is answered.
        head: What gave the scores.
        trials: The finished trials: id to seed.

    Returns:
        Split to ``ece`` (expected calibration error), ``ece_by_chance``, ``confidence`` (its mean), ``aurc`` (mean risk
        over all coverages) and ``aurc_at_best`` (with the same answers in the best order), each in percent with a mean
        and each seed's own; and by seed ``reliability`` (bins) and ``risk_coverage`` (the curve). A split is left out
        unless every trial has scores there.
    """
    asked, _ = scored_questions(questions, task)
    own = [predictions.filter(pc.equal(predictions["trial_id"], name)) for name in trials]
    sure = [_of_answers(rows) if task == "span" else _of_choices(rows, head) for rows in own]
    found = {}
    for split, where in members(asked["split"]).items():
        names = asked["question_id"].filter(pa.array(where))
        pairs = [_aligned(rows, given, names) for rows, given in zip(own, sure, strict=True)]
        if pairs and not any(np.isnan(confidence).all() for confidence, _ in pairs):
            found[split] = _of_split(dict(zip(map(str, trials.values()), pairs, strict=True)))
    return found


def _of_choices(rows: pa.Table, head: str) -> np.ndarray:
    """The probability of what a trial chose [predictions]; NaN where there are no scores."""
    return np.array([probabilities(row, head).max() if row else np.nan for row in rows["scores"].to_pylist()])


def _of_answers(rows: pa.Table) -> np.ndarray:
    """The probability of the span that a trial answered with, or of "no answer" [predictions]."""
    given = zip(rows["prediction"].to_pylist(), rows["scores"].to_pylist(), strict=True)
    return np.array([np.nan if scores is None else scores[0 if text else 1] for text, scores in given])


def _aligned(rows: pa.Table, confidence: np.ndarray, names: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Confidence, NaN where there is none, and 1 where right, of each question."""
    places = pc.index_in(names, value_set=rows["question_id"]).to_numpy(zero_copy_only=False)
    there = ~np.isnan(places)
    sure, correct = np.full(len(names), np.nan), np.zeros(len(names))
    sure[there] = confidence[places[there].astype(int)]
    correct[there] = rows["correct"].to_numpy()[places[there].astype(int)]
    return sure, correct


def _of_split(by_seed: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, Any]:
    seeds = {seed: _of_seed(*pair) for seed, pair in by_seed.items()}
    numbers = ("ece", "ece_by_chance", "confidence", "aurc", "aurc_at_best")
    kept = ("reliability", "risk_coverage")
    return {name: _over_seeds({seed: one[name] for seed, one in seeds.items()}) for name in numbers} | {
        name: {seed: one[name] for seed, one in seeds.items()} for name in kept
    }


def _of_seed(confidence: np.ndarray, correct: np.ndarray) -> dict[str, Any]:
    given = ~np.isnan(confidence)
    bins = calibration.reliability(confidence[given], correct[given])
    last = np.where(given, confidence, -np.inf)
    risk = calibration.risks(last, correct)
    curve = calibration.at_coverages(risk, COVERAGES)
    return {
        "ece": bins.error,
        "ece_by_chance": calibration.error_by_chance(confidence[given]),
        "confidence": float(confidence[given].mean()),
        "aurc": float(risk.mean()),
        "aurc_at_best": float(calibration.risks(correct, correct).mean()),
        "reliability": [
            {"questions": int(count), "confidence": _percent(sure), "accuracy": _percent(right)}
            for count, sure, right in zip(bins.questions, bins.confidence, bins.accuracy, strict=True)
        ],
        "risk_coverage": {"coverage": [_percent(c) for c in COVERAGES], "risk": [_percent(one) for one in curve]},
    }


def _percent(share: float) -> float:
    return round(100 * float(share), 4)


def _over_seeds(shares: Mapping[str, float]) -> dict[str, Any]:
    """A metric in percent, as those of `coattend.evaluation.scoring`; a bootstrap would only make these greater."""
    values = {seed: 100 * share for seed, share in shares.items()}
    numbers = list(values.values())
    spread = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None
    return {"mean": float(np.mean(numbers)), "low": None, "high": None, "spread": spread, "seeds": values}
