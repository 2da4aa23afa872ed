"""What a study says that a difference comes to."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from coattend.parameters import StudyParameters
from coattend.reporting.study_figures import scores
from coattend.reporting.study_table import asked_rows, results_of
from coattend.tables import BREAKDOWNS, PREDICTIONS, QUESTIONS

COUNT = 100


def table(rows, schema):
    return pads.dataset(pa.Table.from_pylist(rows, schema))


def trials(variant, marks, seeds):
    """Of each seed the same answers, which give these marks."""
    base = {"prediction": "a", "label": 0, "scores": [1.0, 0.0]}
    rows = [
        base | {"question_id": f"q{number}", "trial_id": f"{variant}{seed}", "seed": seed, "correct": one, "f1": one}
        for seed in range(seeds)
        for number, one in enumerate(marks)
    ]
    known = [
        {"trial_id": f"{variant}{seed}", "seed": seed, "failure": None, "head": "options", "training": {}}
        for seed in range(seeds)
    ]
    return {"variant": variant, "task": "options", "trials": known}, table(rows, PREDICTIONS)


def results(variants, *, seeds=1, passages=COUNT, **more):
    """Of variants that win and lose so many of a hundred questions, half of them hard, against their baseline."""
    about = StudyParameters(
        name="mine", title="Mine", source="Mine, table 1", benchmarks=("exams",), base={"reader": "plain"},
        baseline="plain", variants={name: {"title": name} for name in ("plain", *variants)}, **more,
    )  # fmt: skip
    asked = {"split": "dev", "task": "options", "question": "Who?", "options": ["a", "b"], "label": 0}
    subset = ["easy"] * (COUNT // 2) + ["hard"] * (COUNT // 2)
    places = [
        {"question_id": f"q{n}", "passage_id": f"p{n % passages}", "answerable": True, "subset": subset[n]}
        for n in range(COUNT)
    ]
    parts = {
        "exams.questions": table([asked | place for place in places], QUESTIONS),
        "exams.breakdowns": table([], BREAKDOWNS),
        "exams.analyses": {},
    }
    base = np.arange(COUNT) < COUNT / 2
    for name, (wins, losses) in ({"plain": (0, 0)} | variants).items():
        marks = base.copy()
        marks[:losses], marks[COUNT - wins :] = False, True
        parts[f"exams.{name}.outcome"], parts[f"exams.{name}.answers"] = trials(name, marks.tolist(), seeds)
    return results_of(about, parts)


def rows_of(variants, **more):
    """The rows of all questions."""
    return {row["variant"]: row for row in results(variants, **more)["rows"] if row["group"] == "all"}


def test_an_interval_around_zero_says_what_its_questions_resolve():
    row = rows_of({"turned": (10, 9)})["turned"]
    assert row["difference_low"] < 0 < row["difference_high"]
    resolved = f"100 questions resolve differences above {row['resolves']:.1f} points"
    assert row["verdict"] == f"not distinguishable at these sizes: {resolved}"
    assert row["resolves"] == pytest.approx(100 * 2.8 * 0.19**0.5 / 10, rel=0.05)


@pytest.mark.parametrize(("changed", "verdict"), [((30, 2), "better"), ((2, 30), "worse")])
def test_a_clear_difference_is_better_or_worse_and_with_few_seeds_of_these_alone(changed, verdict):
    found = rows_of({"turned": changed})
    assert found["turned"]["difference"] == changed[0] - changed[1]
    assert found["turned"]["p_corrected"] == found["turned"]["p"] < 0.01
    assert found["turned"]["verdict"] == f"{verdict}, with these seeds"
    assert found["plain"]["verdict"] is None
    assert rows_of({"turned": changed}, seeds=5)["turned"]["verdict"] == verdict


def test_a_difference_that_a_correction_takes_away_is_told_so():
    alone = rows_of({"turned": (14, 5)})["turned"]
    assert 0.05 / 3 < alone["p"] < 0.05
    assert alone["verdict"] == "better, with these seeds"
    found = rows_of({"turned": (14, 5), "again": (14, 5), "lost": (5, 14), "clear": (40, 0)})
    assert found["turned"]["p_corrected"] == pytest.approx(3 * alone["p"], rel=0.1)
    assert found["turned"]["verdict"] == "better, with these seeds, before a correction for 4 comparisons"
    assert found["lost"]["verdict"] == "worse, with these seeds, before a correction for 4 comparisons"
    assert found["clear"]["verdict"] == "better, with these seeds"


def test_one_passage_says_nothing_of_others():
    row = rows_of({"turned": (30, 2)}, passages=1)["turned"]
    assert (row["p"], row["p_corrected"], row["verdict"]) == (None, None, "one passage says nothing of others")


@pytest.mark.parametrize(
    ("asks", "corrected"), [((), ["all"]), (("hard",), ["hard"]), (("easy", "hard"), ["easy", "hard"])]
)
def test_a_study_corrects_for_the_subsets_that_it_asks_about(asks, corrected):
    found = results({"turned": (30, 2)}, asks={"exams": asks})
    own = [row for row in found["rows"] if row["variant"] == "turned"]
    assert [row["group"] for row in own if row["p_corrected"] is not None] == corrected
    assert [row["group"] for row in asked_rows(found) if row["variant"] == "turned"] == corrected
    marks = scores(asked_rows(found)).data
    assert [mark.name for mark in marks] == ["dev" if group == "all" else f"dev, {group}" for group in corrected]
    hard = next(row for row in own if row["group"] == "hard")
    ending = "" if "hard" in corrected else ", not corrected"
    assert hard["verdict"] == f"better, with these seeds{ending}"
    expected = hard["p"] * len(corrected) if "hard" in corrected else None
    assert hard["p_corrected"] == pytest.approx(expected)
