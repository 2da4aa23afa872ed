"""Analyses of a study beside its scores: averages, breakdowns, ensembles, calibration, boundary words, examples."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import BenchmarkParameters, StudyParameters
from coattend.config.study import ExampleParameters
from coattend.evaluation import breakdowns, ensembles, groups, span_scorer, summary
from coattend.evaluation.calibration import calibrate
from coattend.evaluation.comparison import Pair, compare
from coattend.evaluation.intervals import interval, intervals
from coattend.evaluation.parts_of_speech import PREDICTION_COLUMNS, boundary_tags, parts_of_speech, tagged
from coattend.evaluation.records import (
    Analyses,
    BoundaryCounts,
    BreakdownRow,
    Calibration,
    EnsembleRow,
    Estimate,
    Example,
    SeedAnswer,
    SplitAverage,
    VariantOutcome,
)
from coattend.evaluation.reranking.records import Reranked
from coattend.evaluation.runs import Run, home_of
from coattend.evaluation.summary import METRICS, marks
from coattend.schemas import BREAKDOWNS, read_passage_texts

Tagging = tuple[pads.Dataset, Sequence[str]]
"""A tags table of a benchmark's texts, and the tags by their ids."""


@dataclass(frozen=True)
class Material:
    """Tables of a benchmark that analyses read."""

    benchmark: BenchmarkParameters
    questions: pads.Dataset
    passages: pads.Dataset
    tags: Mapping[str, Tagging]  # By tagging profile.
    read: Mapping[str, str]  # Variant to the tagging profile that it reads.

    @cached_property
    def asked(self) -> pa.Table:
        """The questions with all that analyses ask of them."""
        return self.questions.to_table(columns=breakdowns.COLUMNS)

    @cached_property
    def scored(self) -> pa.Table:
        """Those that are not trained on."""
        return self.asked.filter(pc.not_equal(self.asked["split"].cast(pa.string()), groups.TRAINING_SPLIT))

    @cached_property
    def texts(self) -> dict[str, str]:
        """Text by passage id, of passages that are asked about outside of training."""
        return read_passage_texts(self.passages, self.scored["passage_id"])

    def tagging_of(self, run: Run) -> Tagging:
        """Return the tags that a variant reads."""
        return self.tags[self.read[run.variant]]

    def runs(self, parts: Mapping[str, tuple[VariantOutcome | None, pads.Dataset | None]]) -> list[Run]:
        """The variants that were run, on the subsets that all of them were trained on; parts are None of the others."""
        complete = [(outcome, table) for outcome, table in parts.values() if outcome is not None and table is not None]
        trained_on = home_of(self.benchmark.name, [outcome for outcome, _ in complete])
        runs = (Run.of(outcome, table.to_table(), self.asked, trained_on) for outcome, table in complete)
        return [run for run in runs if run is not None]


def breakdown_table(study: StudyParameters, material: Material, runs: Sequence[Run]) -> pa.Table:
    """The metrics of each variant in groups of questions, as `coattend.schemas.BREAKDOWNS`."""
    # Variants with the same task and tags share their questions and the parts of speech of the answers.
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.task, material.read[run.variant]), []).append(run)
    rows = [row for runs_alike in alike.values() for row in _breakdown_rows(study, material, runs_alike)]
    # The rows follow the study's file, whatever order the grouping gave them.
    order = {variant: position for position, variant in enumerate(study.variants)}
    return pa.Table.from_pylist(sorted(rows, key=lambda row: order[row["variant"]]), BREAKDOWNS)


def _breakdown_rows(study: StudyParameters, material: Material, runs: Sequence[Run]) -> Iterator[BreakdownRow]:
    """Yield metrics of variants with one task and one tagging, for each split and breakdown that says something."""
    task, questions = runs[0].task, runs[0].questions
    parts = parts_of_speech(questions, material.texts, *material.tagging_of(runs[0]), benchmark=material.benchmark)
    questions = questions.append_column(breakdowns.POS, pa.array(parts, pa.string()))
    units = groups.group_numbers(questions)
    for breakdown, divide in breakdowns.BREAKDOWNS.items():
        # Only readers of words choose among candidates whose occurrences the passage can count.
        if breakdown == "by_answer_frequency" and task != "word":
            continue
        divided = divide(questions, material.texts)
        for split, rows in groups.members(questions["split"]).items():
            scored = [(run, metric) for run in runs if split in run.answered for metric in METRICS[task]]
            for group, inside in groups.within(rows, divided):
                values = [marks(run.marks, metric)[:, inside] for run, metric in scored]
                # One call for all variants and metrics, since they share the groups of their questions.
                for (run, metric), estimate in zip(scored, intervals(values, units[inside]), strict=True):
                    yield {
                        "benchmark": material.benchmark.name,
                        "variant": run.variant,
                        "title": study.variants[run.variant].title,
                        "split": split,
                        "breakdown": breakdown,
                        "group": group,
                        "questions": int(inside.sum()),
                        "metric": metric,
                        **estimate.percent(),
                    }


def analyse(study: StudyParameters, material: Material, runs: Sequence[Run]) -> Analyses:
    """Run the analyses that a study lists under ``shows``, and always that of calibration."""
    analyses: Analyses = {}
    for analysis in study.shows:
        if analysis == "average":
            by_variant = {run.variant: run for run in runs}
            analyses[analysis] = {
                name: list(_split_averages(run, by_variant.get(study.baseline_of(name))))
                for name, run in by_variant.items()
            }
        elif analysis == "ensemble":
            analyses[analysis] = {run.variant: list(_ensemble_rows(run, material)) for run in runs}
        elif analysis == "boundary_pos":
            analyses[analysis] = {run.variant: _boundary_counts(run, material) for run in runs}
        elif analysis == "predictions":
            examples = [example for example in study.examples if example.benchmark == material.benchmark.name]
            analyses[analysis] = [_example_of(example, material.scored, runs) for example in examples]
        elif analysis == "reranking":
            # Re-ranking starts from scores of candidates, which not every reader of words keeps.
            analyses[analysis] = {
                run.variant: _reranked(run, material)
                for run in runs
                if run.task == "word" and not run.predictions["scores"].null_count
            }
    analyses["calibration"] = {run.variant: _calibration_of(run) for run in runs}
    analyses["scored"] = material.benchmark.scored
    share = groups.share_moved_from_dev(material.benchmark, material.questions, material.passages)
    if share is not None:
        analyses["train_from_dev"] = share
    analyses["benchmark_version"] = material.benchmark.version
    analyses["simulated"] = material.benchmark.is_simulated
    return analyses


def _split_averages(run: Run, baseline: Run | None) -> Iterator[SplitAverage]:
    """Average a variant's scores over splits, and compare them with the baseline's, by metric."""
    compared = baseline if baseline is not None and baseline is not run else None
    splits = {name: rows for name, rows in run.answered.items() if compared is None or name in compared.answered}
    rows = np.any(list(splits.values()), axis=0)
    # With these weights a mean over all questions is the mean of the splits' means.
    weights = sum(rows.sum() / (len(splits) * inside.sum()) * inside for inside in splits.values())
    for metric in METRICS[run.task] if splits else ():
        scores = {seed: marks(answers, metric)[0][rows] for seed, answers in run.marks_by_seed().items()}
        gain: Estimate | None = None
        if compared is not None:
            theirs = {seed: marks(answers, metric)[0][rows] for seed, answers in compared.marks_by_seed().items()}
            units = groups.group_numbers(run.questions)[rows]
            (comparison,) = compare([Pair(scores, theirs, graded=True)], units, weights[rows])
            difference = comparison.difference
            gain = {"mean": difference.mean, "low": difference.low, "high": difference.high}
        mean = 100 * float(np.mean([np.average(each, weights=weights[rows]) for each in scores.values()]))
        yield {"metric": metric, "splits": list(splits), "mean": mean, "gain": gain}


def _ensemble_rows(run: Run, material: Material) -> Iterator[EnsembleRow]:
    """Score ensembles of a variant's trials in each split and subset; dev, if there is one, chooses the greedy one."""
    units = groups.group_numbers(run.questions)
    held_out = [trial["held_out"] or 0.0 for trial in run.trials]
    for ensemble in ensembles.ensembles(_joint(run, material.benchmark.scorer), held_out, run.answered.get("dev")):
        for split, rows in run.answered.items():
            for group, inside in groups.within(rows, groups.subsets(run.questions, run.group)):
                for metric in METRICS[run.task]:
                    yield {
                        "how": ensemble.method,
                        "seeds": [run.seeds[position] for position in ensemble.trials],
                        "split": split,
                        "group": group,
                        "metric": metric,
                        "questions": int(inside.sum()),
                        **interval(marks(ensemble, metric)[None, inside], units[inside]).percent(),
                    }


def _joint(run: Run, scorer: str) -> ensembles.Joint:
    # Without a score for each option trials can only vote; with scores their probabilities are averaged.
    if run.task == "span" or run.predictions["scores"].null_count:
        return ensembles.by_vote(
            run.texts(), run.marks, alike=span_scorer(scorer).normalise if run.task == "span" else str
        )
    probabilities = ensembles.of_options(run.predictions, run.questions["question_id"], run.ids, run.head)
    gold = run.questions["label"].to_numpy()
    return ensembles.by_probability(probabilities, gold, first_of_ties=run.task == "options")


def _calibration_of(run: Run) -> dict[str, Calibration]:
    """Measure the calibration of a variant's trials by split, as far as its scores say how sure it is."""
    by_split = calibrate(run.predictions, run.questions, task=run.task, head=run.head, trials=run.seed_of)
    answerable = run.questions["answerable"].to_numpy()
    return {
        split: {
            "group": run.group,
            "accuracy": 100 * float(run.marks.correct[:, rows].mean()),
            "answerability_auroc": summary.answerability(run.marks.of(rows), answerable[rows]),
            **by_split.get(split, {}),
        }
        for split, rows in run.answered.items()
    }


def _boundary_counts(run: Run, material: Material) -> BoundaryCounts:
    """Count the tags of boundary words, as means over trials, the most frequent tag first."""
    passage_ids = set(run.questions["passage_id"].to_pylist())
    words = tagged({name: material.texts[name] for name in passage_ids}, *material.tagging_of(run))
    predictions = run.predictions.select(PREDICTION_COLUMNS)
    counted = [
        boundary_tags(predictions.filter(pc.equal(predictions["trial_id"], trial)), run.questions, words)
        for trial in run.ids
    ]

    def means(counters: Sequence[Counter[str]]) -> dict[str, float]:
        totals = sum(counters, Counter())
        by_frequency = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
        return {tag: total / len(counters) for tag, total in by_frequency}

    gold, predicted, wrong = zip(*counted, strict=True)
    return {
        "gold": means(gold),
        "predicted": means(predicted),
        "wrong": means(wrong),
        "questions": len(run.questions),
        "wrong_answers": float((1 - run.marks.correct).sum(1).mean()),
    }


def _example_of(example: ExampleParameters, questions: pa.Table, runs: Sequence[Run]) -> Example:
    """Collect every variant's answers to one question, by its id or its text."""
    is_example = pc.or_(
        pc.equal(questions["question_id"], example.question), pc.equal(questions["question"], example.question)
    )
    rows = questions.filter(is_example).slice(0, 1)
    if not len(rows):
        return {"question": example.question, "missing": True}
    row = rows.to_pylist()[0]
    return {
        "question_id": row["question_id"],
        "question": row["question"],
        "options": row["options"],
        "gold": breakdowns.gold_answers(rows)[0],
        "answers": {run.variant: _answers_to(run, row["question_id"]) for run in runs},
        "printed": example.printed,
    }


def _answers_to(run: Run, question_id: str) -> dict[str, SeedAnswer]:
    """Seed to answer and whether it is right; without those that did not answer."""
    answers = run.predictions.filter(pc.equal(run.predictions["question_id"], question_id))
    rows = answers.select(["seed", "prediction", "correct"]).to_pylist()
    return {str(row["seed"]): {"answer": row["prediction"], "right": row["correct"]} for row in rows}


def _reranked(run: Run, material: Material) -> Reranked:
    from coattend.evaluation.reranking.rerank import rerank

    questions = material.asked.filter(pc.equal(material.asked["task"].cast(pa.string()), "word"))
    tables, parameters = (run.predictions, questions, material.passages), material.benchmark.reranking
    _, reranked = rerank(*tables, head=run.head, trials=run.seed_of, parameters=parameters)
    return reranked
