"""The metrics of one reader on one benchmark, by split and subset."""

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.config.benchmark import METRICS as METRICS
from coattend.evaluation.alignment import Answers, align
from coattend.evaluation.ensembles import Ensemble
from coattend.evaluation.groups import EVERYTHING, group_numbers, members, scored_questions, subsets, types, within
from coattend.evaluation.intervals import LEVEL, interval
from coattend.evaluation.no_answer import auroc
from coattend.evaluation.records import Groups, GroupScores, Score, Summary


def marks(answers: Answers | Ensemble, metric: str) -> np.ndarray:
    """The marks that a metric of `METRICS` is the mean of."""
    return answers.f1 if metric == "f1" else answers.correct


def score_of_answers(answers: pa.Table, metric: str, question_ids: pa.ChunkedArray) -> float | None:
    """Score one trial's predictions on some questions, in percent, by a metric of `METRICS`; None if it was asked none.

    A question without an answer counts as wrong, as everywhere.
    """
    column = "f1" if metric == "f1" else "correct"
    answered = answers.filter(pc.is_in(answers["question_id"], question_ids))[column]
    return 100 * pc.sum(answered.cast(pa.float64())).as_py() / len(question_ids) if len(answered) else None


def summarise(predictions: pa.Table, questions: pa.Table, *, task: str, trials: dict[str, int]) -> Summary:
    """Score every split but the training one, in percent.

    A question that a finished trial (id to seed) left out counts as wrong, and once under ``missing``. A split that no
    trial answered at all is not scored but listed. Questions of other tasks are not the reader's.

    Raises:
        CoattendError: If predictions and trials do not belong together.
    """
    labelled, unlabelled = scored_questions(questions, task)
    answers = align(predictions, labelled["question_id"], list(trials))
    units, answerable = group_numbers(labelled), labelled["answerable"].to_numpy()
    passages = labelled["passage_id"].combine_chunks().dictionary_encode().indices.to_numpy()

    def metrics(rows: np.ndarray) -> GroupScores:
        return _metrics(answers.of(rows), passages[rows], units[rows], answerable[rows], task, list(trials.values()))

    splits: dict[str, Groups] = {}
    by_type: dict[str, Groups] = {}
    silent: dict[str, int] = {}
    for split, rows in members(labelled["split"]).items():
        # A split that no trial was asked would come out at 0 %.
        if answers.of(rows).missing.all():
            silent[split] = int(rows.sum())
            continue
        splits[split] = {name: metrics(group) for name, group in within(rows, subsets(labelled))}
        by_type[split] = {name: metrics(group) for name, group in within(rows, types(labelled))}
    hidden = {split: int(rows.sum()) for split, rows in members(unlabelled["split"]).items()}
    return {
        "unit": "percent",
        "interval": {
            "method": "Korn and Graubard over groups of questions, and Student over seeds where there are several",
            "level": LEVEL,
        },
        "splits": splits,
        "question_types": {split: groups for split, groups in by_type.items() if groups},
        "not_scored": {"no gold answer is known": hidden, "no prediction was made": silent},
    }


def metric_name(split: str, group: str, metric: str) -> str:
    """Name a metric of a group of questions, such as ``dev.accuracy`` or ``dev.middle.accuracy``."""
    return f"{split}.{metric}" if group == EVERYTHING else f"{split}.{group}.{metric}"


def by_name(metrics: Summary) -> Iterator[tuple[str, Score]]:
    """Each metric of a summary with its `metric_name`."""
    for split, groups in metrics["splits"].items():
        for group, values in groups.items():
            for name, metric in values.items():
                if isinstance(metric, dict):
                    yield metric_name(split, group, name), cast("Score", metric)


def leading_metric(scores: Mapping[str, float]) -> str | None:
    """Choose the metric that counts from metrics by their `metric_name`: the leading one of a task, on dev, or else on
    the first other split; None if no split has one."""
    leading = {metrics[-1] for metrics in METRICS.values()}
    candidates = [name for name in scores if name.count(".") == 1 and name.partition(".")[2] in leading]
    return min(candidates, key=lambda name: (not name.startswith("dev."), name), default=None)


def _metrics(
    answers: Answers, passages: np.ndarray, units: np.ndarray, answerable: np.ndarray, task: str, seeds: list[int]
) -> GroupScores:
    counts: GroupScores = {
        "questions": len(passages),
        "passages": len(np.unique(passages)),
        "groups": len(np.unique(units)),
        "missing": int(answers.missing.any(axis=0).sum()),
    }
    if task != "span":
        return {**counts, "accuracy": _metric(answers.correct, units, seeds)}
    means = {"exact": _metric(answers.correct, units, seeds), "f1": _metric(answers.f1, units, seeds)}
    for part, rows in (("has_answer", answerable), ("no_answer", ~answerable)):
        # A part that is empty, or that is the whole, says nothing new.
        if rows.any() and not rows.all():
            means[f"{part}_exact"] = _metric(answers.correct[:, rows], units[rows], seeds)
            means[f"{part}_f1"] = _metric(answers.f1[:, rows], units[rows], seeds)
    return {
        **counts,
        **cast("GroupScores", means),
        "no_answer_share": 100 * float(answers.empty.mean()),
        "answerable": int(answerable.sum()),
        "answerability_auroc": answerability(answers, answerable),
    }


def _metric(values: np.ndarray, units: np.ndarray, seeds: list[int]) -> Score:
    """Mean, interval, standard deviation over seeds (None with one), and each seed's own mean, in percent."""
    of_seed = 100 * values.mean(axis=1)
    return {
        **interval(values, units).percent(),
        "spread": float(of_seed.std(ddof=1)) if len(seeds) > 1 else None,
        "seeds": {str(seed): float(mean) for seed, mean in zip(seeds, of_seed, strict=True)},
    }


def answerability(answers: Answers, answerable: np.ndarray) -> float | None:
    """Mean over seeds of the area under the ROC curve of the null scores there are, in percent.

    None where all questions have an answer, or none has.
    """
    areas = []
    for scores in answers.null_score:
        # Missing predictions, and those of readers without a null score, have NaN.
        has_score = ~np.isnan(scores)
        area = auroc(scores[has_score], answerable[has_score])
        if area is None:
            return None
        areas.append(area)
    return 100 * float(np.mean(areas))
