"""Scores of what a machine has trained: means over seeds with intervals, and differences from the baseline.

Spans are scored here, where their texts are; on the machine they were scored by texts put together from tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coattend.config import BenchmarkParameters
from coattend.evaluation import alignment, groups, span_scorer, summary
from coattend.evaluation.comparison import Pair, compare, corrected
from coattend.schemas import PREDICTIONS, QuestionRow, read_passage_texts
from perf.gpu.rows import TUNED
from perf.prepared import Prepared

BASELINE, BASELINE_APART = "plain", "plain_apart"
"""Rows that those with joint sequences, and those with passages read once, are compared with."""

METRICS = {"accuracy": "accuracy", "exact": "exact match", "f1": "F1"}
"""Metrics by their titles; the last one of a row is compared."""


@dataclass
class ScoredRow:
    """A row of a table: its trials on one benchmark.

    Attributes:
        trainings: Its trainings that have ended, each with its outcome.
        answers: The answers of its finished trials, without their texts.
        difference: That from its baseline, if it has been compared.
    """

    study: str
    name: str
    trainings: list[dict[str, Any]] = field(default_factory=list)
    answers: pa.Table | None = None
    difference: dict[str, Any] | None = None

    @property
    def failures(self) -> list[str]:
        """Why trials of it failed."""
        return [each["outcome"]["failure"] for each in self.trainings if each["outcome"]["failure"]]

    @property
    def trials(self) -> dict[str, int]:
        """The seeds of its finished trials by their ids, from the least to the greatest."""
        finished = [each for each in self.trainings if each["outcome"]["failure"] is None]
        return {each["outcome"]["trial_id"]: each["seed"] for each in sorted(finished, key=lambda each: each["seed"])}

    @property
    def baseline(self) -> str | None:
        """The row of its study that it is compared with; baselines, and rows of papers' studies, have none."""
        # What is tuned alike is compared over the ways to read a passage, and tables within one.
        is_apart = self.trainings[0]["apart"] and self.study == "tables"
        baseline = BASELINE_APART if is_apart else BASELINE
        return None if self.study not in ("tables", TUNED) or self.name == baseline else baseline

    @property
    def held_out(self) -> float:
        """Mean score of its finished trials on held-out questions."""
        scores = [each["outcome"]["held_out"] for each in self.trainings if each["outcome"]["failure"] is None]
        return float(sum(scores) / len(scores))


Rows = dict[tuple[str, str], ScoredRow]
"""Rows by study and name."""


def scores_on(
    prepared: Prepared, benchmark: str, outcomes: Sequence[dict[str, Any]], predictions: pa.Table
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a benchmark's table from scored predictions.

    A row has scores by split and metric, and the difference from its baseline on the first split, p after Holm's
    correction for all differences of the table.
    """
    rows: Rows = {}
    # Outcomes stand in the order in which trainings have ended.
    for outcome in sorted(outcomes, key=itemgetter("place")):
        if outcome["benchmark"] == benchmark:
            key = outcome["study"], outcome["row"]
            rows.setdefault(key, ScoredRow(*key)).trainings.append(outcome)
    rows, tried = _tune(rows)
    for row in rows.values():
        if row.trials:
            given = pc.is_in(predictions["trial_id"], pa.array(list(row.trials)))
            row.answers = predictions.filter(given).select(alignment.COLUMNS)
    table = prepared.load(f"{benchmark}.questions").to_table(columns=groups.COLUMNS)
    for study in ("tables", TUNED):
        _compare([row for row in rows.values() if row.study == study and row.answers is not None], table)
    for row in rows.values():
        scored: dict[str, Any] = {"scores": []}
        if row.answers is not None:
            task = row.trainings[0]["task"]
            summarised = summary.summarise(row.answers, table, task=task, trials=row.trials)
            scored = {"scores": list(_scores(summarised)), "difference": row.difference}
        named = {"benchmark": benchmark, "study": row.study, "row": row.name, "failures": row.failures}
        yield named | scored | {"tried": tried.get(row.name, []) if row.study == TUNED else []}


def score(prepared: Prepared, benchmark: str, outcomes: Sequence[dict[str, Any]], predictions: pa.Table) -> pa.Table:
    """Return what the trials on a benchmark answered, with the texts of their answers; spans are scored by them."""
    parameters = BenchmarkParameters.model_validate(prepared.parameters["benchmarks"][benchmark])
    questions, passages = (prepared.load(f"{benchmark}.{name}") for name in ("questions", "passages"))
    asked = {row["question_id"]: row for row in questions.to_table().to_pylist()}
    trials = [each["outcome"]["trial_id"] for each in outcomes if each["benchmark"] == benchmark]
    here = predictions.filter(pc.is_in(predictions["trial_id"], pa.array(trials, pa.string())))
    return _with_texts(here, asked, read_passage_texts(passages), parameters.scorer)


def _tune(rows: Rows) -> tuple[Rows, dict[str, list[dict[str, Any]]]]:
    """Replace the configurations of each variant that is tuned by the one with the best score on held-out questions.

    Returns:
        All rows, without variants of which a trial of a configuration is missing; and the configurations of the others
        by the variant's name.
    """
    kept = {key: row for key, row in rows.items() if row.study != TUNED}
    tried: dict[str, list[ScoredRow]] = {}
    for row in rows.values():
        if row.study == TUNED:
            tried.setdefault(row.trainings[0]["variant"], []).append(row)
    described = {}
    for variant, configurations in tried.items():
        trials = sum(len(row.trials) for row in configurations)
        if trials < configurations[0].trainings[0]["trials"]:
            continue
        best = max(configurations, key=lambda row: row.held_out)
        kept[TUNED, variant] = ScoredRow(TUNED, variant, best.trainings)
        described[variant] = [
            {name: row.trainings[0][name] for name in ("rate", "dropout")}
            | {"held_out": row.held_out, "chosen": row is best}
            for row in configurations
        ]
    return kept, described


def _compare(rows: Sequence[ScoredRow], questions: pa.Table) -> None:
    """Compare each row with its baseline, on the questions of the first split that has answers."""
    by_name = {row.name: row for row in rows}
    compared = [row for row in rows if row.baseline in by_name]
    if not compared:
        return
    labelled, _ = groups.scored_questions(questions, compared[0].trainings[0]["task"])
    split = next(iter(groups.members(labelled["split"]).values()))
    labelled = labelled.filter(pa.array(split))
    metric = "f1" if compared[0].trainings[0]["task"] == "span" else "accuracy"
    pairs = [
        Pair(_marks(row, labelled, metric), _marks(by_name[str(row.baseline)], labelled, metric), graded=metric == "f1")
        for row in compared
    ]
    comparisons = compare(pairs, groups.group_numbers(labelled))
    corrections = corrected([each.difference.p for each in comparisons])
    for row, comparison, p in zip(compared, comparisons, corrections, strict=True):
        difference = comparison.difference
        row.difference = {
            "baseline": row.baseline,
            "mean": difference.mean,
            "low": difference.low,
            "high": difference.high,
            "p": p,
            "over_seeds": comparison.over_seeds,
        }


def _marks(row: ScoredRow, questions: pa.Table, metric: str) -> dict[int, Any]:
    """Return the marks of each seed on some questions."""
    assert row.answers is not None
    answers = alignment.align(row.answers, questions["question_id"], list(row.trials))
    return dict(zip(row.trials.values(), summary.marks(answers, metric), strict=True))


def _with_texts(
    predictions: pa.Table, asked: Mapping[str, QuestionRow], texts: Mapping[str, str], scorer_name: str
) -> pa.Table:
    """Return predictions with the texts of their answers; spans are scored by them."""
    answerable = all(row["answerable"] for row in asked.values() if row["task"] == "span")
    scorer = span_scorer(scorer_name, version="v1.1" if answerable else "v2.0")
    rows = predictions.to_pylist()
    for row in rows:
        question = asked[row["question_id"]]
        if row["label"] is not None:
            row["prediction"] = (question["options"] or [])[row["label"]]
            continue
        # Where every question has an answer, one is always given.
        text = texts[question["passage_id"]][row["start"] : row["end"]]
        exact, f1 = scorer.best(text, [gold["text"] for gold in question["answers"] or ()])
        row |= {"prediction": text, "correct": exact == 1, "f1": f1}
    return pa.Table.from_pylist(rows, schema=PREDICTIONS)


def _scores(summarised: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for split, by_group in summarised["splits"].items():
        everything = by_group[groups.EVERYTHING]
        for metric, title in METRICS.items():
            if metric in everything:
                head = f"{split} {title} ({everything['questions']:,} questions)"
                yield {"head": head} | dict(everything[metric])
