"""Verdicts of a study about its differences, and the correction for their number."""

import numpy as np
import pytest
from example_study import dataset, findings_of, question_rows, study

from coattend.config import StudyParameters
from coattend.reports.study.figures import score_figure
from coattend.reports.study.page import clear_differences
from coattend.reports.study.table import ALPHA, FEWEST_QUESTIONS, _verdict, rows_in_question, study_findings
from coattend.schemas import BREAKDOWNS, PREDICTIONS, QUESTIONS

COUNT = 100


def trials(variant, correct, seeds):
    """The outcome and the predictions of trials that all answer alike."""
    prediction = {"prediction": "a", "label": 0, "scores": [1.0, 0.0]}
    rows = [
        prediction
        | {"question_id": f"q{number}", "trial_id": f"{variant}{seed}", "seed": seed, "correct": mark, "f1": mark}
        for seed in range(seeds)
        for number, mark in enumerate(correct)
    ]
    trial = {"failure": None, "head": "options", "training": {}}
    records = [trial | {"trial_id": f"{variant}{seed}", "seed": seed} for seed in range(seeds)]
    return {"variant": variant, "task": "options", "trials": records}, dataset(rows, PREDICTIONS)


def findings_about(changes, *, seeds=1, passages=COUNT, **fields):
    """Findings about variants that gain and lose so many of a hundred questions, half of them hard."""
    parameters = StudyParameters(
        name="mine",
        title="Mine",
        source="Mine, table 1",
        benchmarks=("exams",),
        base={"reader": "plain"},
        baseline="plain",
        variants={name: {"title": name} for name in ("plain", *changes)},
        **fields,
    )
    question = {"split": "dev", "task": "options", "question": "Who?", "options": ["a", "b"], "label": 0}
    questions = [
        question
        | {
            "question_id": f"q{number}",
            "passage_id": f"p{number % passages}",
            "group": f"p{number % passages}",
            "answerable": True,
            "subset": "easy" if number < COUNT // 2 else "hard",
        }
        for number in range(COUNT)
    ]
    parts = {
        "exams.questions": dataset(questions, QUESTIONS),
        "exams.breakdowns": dataset([], BREAKDOWNS),
        "exams.analyses": {},
    }
    for name, (gained, lost) in ({"plain": (0, 0)} | changes).items():
        correct = np.arange(COUNT) < COUNT / 2
        correct[:lost], correct[COUNT - gained :] = False, True
        parts[f"exams.{name}.outcome"], parts[f"exams.{name}.answers"] = trials(name, correct.tolist(), seeds)
    return study_findings(parameters, parts)


def rows_of(changes, **fields):
    """The rows of all questions, by variant."""
    return {row["variant"]: row for row in findings_about(changes, **fields)["rows"] if row["group"] == "all"}


def test_an_interval_around_zero_tells_the_difference_that_would_be_resolved():
    row = rows_of({"changed": (10, 9)})["changed"]
    assert row["difference_low"] < 0 < row["difference_high"]
    resolved = f"100 questions resolve differences above {row['resolves']:.1f} points"
    assert row["verdict"] == f"not distinguishable at these sizes: {resolved}"
    assert row["resolves"] == pytest.approx(100 * 2.8 * 0.19**0.5 / 10, rel=0.05)


@pytest.mark.parametrize(("change", "passages"), [((0, 0), COUNT), ((10, 9), 5)])
def test_identical_readers_and_few_groups_cannot_be_told(change, passages):
    row = rows_of({"changed": change}, passages=passages)["changed"]
    assert (row["difference_low"], row["resolves"]) == (None, None)
    assert row["p"] > 0.05
    assert row["verdict"] == "cannot be told at these sizes"


def test_a_small_resolution_is_never_rounded_to_none():
    row = rows_of({"changed": (1, 1)})["changed"] | {"resolves": 0.04}
    assert "differences above 0.04 points" in _verdict(row, 1)


@pytest.mark.parametrize(("change", "verdict"), [((30, 2), "better"), ((2, 30), "worse")])
def test_a_clear_difference_is_better_or_worse_and_with_one_seed_of_it_alone(change, verdict):
    rows = rows_of({"changed": change})
    assert rows["changed"]["difference"] == change[0] - change[1]
    assert rows["changed"]["p_corrected"] == rows["changed"]["p"] < 0.01
    assert rows["changed"]["verdict"] == f"{verdict}, with these seeds"
    assert rows["plain"]["verdict"] is None
    assert rows_of({"changed": change}, seeds=2)["changed"]["verdict"] == verdict


def test_a_difference_that_does_not_survive_the_correction():
    single = rows_of({"changed": (16, 5)})["changed"]
    assert 0.05 / 3 < single["p"] < 0.05
    assert single["verdict"] == "better, with these seeds"
    rows = rows_of({"changed": (16, 5), "again": (16, 5), "lost": (5, 16), "clear": (40, 0)})
    assert rows["changed"]["p_corrected"] == pytest.approx(3 * single["p"], rel=0.25)
    assert rows["changed"]["verdict"] == "better, with these seeds, before a correction for 4 comparisons"
    assert rows["lost"]["verdict"] == "worse, with these seeds, before a correction for 4 comparisons"
    assert rows["clear"]["verdict"] == "better, with these seeds"


def test_one_passage_has_no_p_value():
    row = rows_of({"changed": (30, 2)}, passages=1)["changed"]
    assert (row["p"], row["p_corrected"], row["verdict"]) == (
        None,
        None,
        "one group of questions says nothing of others",
    )


@pytest.mark.parametrize(
    ("asks", "corrected"), [((), ["all"]), (("hard",), ["hard"]), (("easy", "hard"), ["easy", "hard"])]
)
def test_a_study_corrects_for_the_subsets_that_it_asks_about(asks, corrected):
    findings = findings_about({"changed": (30, 2)}, asks={"exams": asks})
    rows = [row for row in findings["rows"] if row["variant"] == "changed"]
    assert [row["group"] for row in rows if row["p_corrected"] is not None] == corrected
    assert [row["group"] for row in rows_in_question(findings) if row["variant"] == "changed"] == corrected
    dots = score_figure(rows_in_question(findings)).data
    assert [trace.name for trace in dots] == ["dev" if group == "all" else f"dev, {group}" for group in corrected]
    hard = next(row for row in rows if row["group"] == "hard")
    ending = "" if "hard" in corrected else ", not corrected"
    assert hard["verdict"] == f"better, with these seeds{ending}"
    expected = hard["p"] * len(corrected) if "hard" in corrected else None
    assert hard["p_corrected"] == pytest.approx(expected)


def test_differences_outside_of_the_question_are_not_corrected():
    rows = findings_about({"changed": (30, 2)})["rows"]
    clear = [row for row in rows if (row["verdict"] or "").startswith(("better", "worse"))]
    leading = [row for row in clear if row["group"] == "all" and row["metric"] in ("accuracy", "f1")]
    assert leading
    assert len(leading) < len(clear)
    for row in clear:
        assert row["verdict"].endswith(", not corrected") == (row not in leading)


def test_the_metric_of_the_study_is_corrected_where_questions_are_scored_by_it():
    def corrected(parameters):
        rows = findings_of(parameters)["rows"]
        return {(row["benchmark"], row["metric"]) for row in rows if row["p_corrected"] is not None}

    assert corrected(study()) == {("exams", "accuracy"), ("articles", "f1")}
    assert corrected(study(metric="exact")) == {("exams", "accuracy"), ("articles", "exact")}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"simulated": True}, "the texts are generated"),
        ({"questions": {"exams": question_rows("exams", FEWEST_QUESTIONS - 1)}}, "fewer than 50 questions"),
    ],
)
def test_what_shows_that_a_study_runs_is_no_finding(changes, reason, monkeypatch):
    monkeypatch.setattr("example_study.SEEDS", (0,))
    findings = findings_of(study(benchmarks=["exams"]), **changes)
    compared = [row for row in findings["rows"] if row["difference"] is not None]
    assert {row["verdict"] for row in compared} == {f"no finding: {reason}"}
    assert clear_differences(findings) == (0, 0)
    assert any(row["p"] < ALPHA for row in compared)


def test_a_benchmark_without_gold_answers_has_no_scores():
    unknown = [row | {"label": None} for row in question_rows("exams")]
    findings = findings_of(study("by_answer_pos", "ensemble"), questions={"exams": unknown})
    assert {row["benchmark"] for row in findings["rows"]} == {"articles"}
    assert findings["analyses"]["exams"] == {
        "ensemble": {},
        "calibration": {},
        "scored": 1.0,
        "benchmark_version": 1,
        "simulated": False,
    }
