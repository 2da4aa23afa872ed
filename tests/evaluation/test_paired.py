"""Two trials on the same questions: who was correct, who is better, what one was not asked."""

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from coattend.errors import CoattendError
from coattend.evaluation.groups import group_numbers
from coattend.evaluation.paired import is_correct, side_by_side
from coattend.evaluation.significance import paired_test
from coattend.reports.trial_comparison import compare_trials
from coattend.schemas import COMPARED, PREDICTIONS, QUESTIONS


def questions(task="options", splits=("dev", "test"), count=120):
    for number in range(count):
        row = {"question_id": f"{task}{number}", "passage_id": f"p{number // 3}", "split": splits[number % len(splits)]}
        row |= {"group": f"g{number // 9}"}
        row |= {"subset": ("NE", "CN")[number // 2 % 2], "task": task, "question": "Who?", "answerable": True}
        if task == "span":
            yield row | {"answers": [{"text": text, "start": 0} for text in ("x y", "x", "x y")]}
        else:
            yield row | {"options": ["a", "b", "c"], "label": 1}


def table(rows, schema=QUESTIONS):
    return pa.Table.from_pylist(list(rows), schema=schema)


def predictions(rows, share, seed=0, partly=0.0):
    random = np.random.default_rng(seed)
    for row in rows:
        correct = bool(random.random() < share)
        answer = {"question_id": row["question_id"], "trial_id": f"t{seed}", "seed": seed}
        text = "b" if correct else "a"
        yield answer | {"prediction": text, "correct": correct, "f1": 1.0 if correct else partly}


def drawn_predictions(rows, share, seed=0, **options):
    return table(predictions(rows, share, seed, **options), PREDICTIONS)


@pytest.mark.parametrize("alone", [False, True])
def test_mcnemar_and_the_paired_test_are_those_of_the_table(alone):
    """Questions of one group hang together: McNemar's test would be too sure."""
    rows = list(questions())
    if alone:
        rows = [row | {"passage_id": row["question_id"], "group": row["question_id"]} for row in rows]
    comparison = side_by_side(table(rows), drawn_predictions(rows, 0.7, 1), drawn_predictions(rows, 0.5, 2))
    assert comparison.table.schema.equals(COMPARED)
    assert (comparison.task, comparison.left_out, comparison.table.num_rows) == ("options", {}, 120)
    by_group = {(contest["split"], contest["group"]): contest for contest in compare_trials(comparison)}
    assert set(by_group) == {(split, group) for split in ("dev", "test") for group in ("all", "NE", "CN")}
    for (split, group), contest in by_group.items():
        members = [
            row for row in comparison.table.to_pylist() if row["split"] == split and group in ("all", row["subset"])
        ]
        count = {name: sum(row["winner"] == name for row in members) for name in ("left", "right", "both", "neither")}
        assert contest["counts"] == count
        assert contest["questions"] == len(members)
        square = [[count["both"], count["left"]], [count["right"], count["neither"]]]
        hang_together = len({row["group"] for row in members}) < len(members)
        expected_p = None if hang_together else pytest.approx(mcnemar(square, exact=True).pvalue)
        assert contest["mcnemar_p"] == expected_p
        assert not (alone and hang_together)
        left, right = (np.array([[row[f"{side}_mark"] for row in members]]) for side in ("left", "right"))
        groups = group_numbers(table(members, COMPARED))
        expected = paired_test(100 * left, 100 * right, groups)
        assert contest["metrics"]["accuracy"]["mean"] == pytest.approx(expected.mean)
        assert contest["metrics"]["accuracy"]["low"] == pytest.approx(expected.low, abs=1.0)
        assert contest["metrics"]["accuracy"]["p"] == pytest.approx(expected.p, abs=0.05)


def test_an_answer_that_is_not_there_is_null_and_wrong():
    rows = list(questions())
    left = drawn_predictions(rows, 1.0)
    comparison = side_by_side(table(rows), left.slice(10), drawn_predictions(rows, 1.0, 1))
    first = comparison.table.slice(0, 10)
    assert first["left_answer"].null_count == 10
    assert set(first["winner"].to_pylist()) == {"right"}
    assert not is_correct(comparison.table, "left")[:10].any()
    assert sum(contest["missing"]["left"] for contest in compare_trials(comparison) if contest["group"] == "all") == 10


def test_a_split_that_one_was_not_asked_is_left_out_and_train_is_not_asked():
    rows = list(questions(splits=("train", "dev", "test")))
    in_dev = [row for row in rows if row["split"] == "dev"]
    comparison = side_by_side(table(rows), drawn_predictions(rows, 0.5), drawn_predictions(in_dev, 0.5, 1))
    assert set(comparison.table["split"].to_pylist()) == {"dev"}
    assert comparison.left_out == {"test": 40}
    in_test = [row for row in rows if row["split"] == "test"]
    with pytest.raises(CoattendError, match="no split was answered by both"):
        side_by_side(table(rows), drawn_predictions(in_test, 0.5), drawn_predictions(in_dev, 0.5, 1))


def test_spans_are_marked_by_f1_and_won_by_an_exact_match():
    rows = list(questions("span"))
    comparison = side_by_side(table(rows), drawn_predictions(rows, 0.5, 1, partly=0.5), drawn_predictions(rows, 0.5, 2))
    assert comparison.table["gold"][0].as_py() == ["x y", "x"]
    for row in comparison.table.to_pylist():
        assert (row["winner"] in ("left", "both")) == (row["left_mark"] == 1)
    contest = compare_trials(comparison)[0]
    assert set(contest["metrics"]) == {"exact", "f1"}
    assert contest["metrics"]["f1"]["left"] == pytest.approx(50 + contest["metrics"]["exact"]["left"] / 2)


def test_trials_of_different_tasks_have_nothing_in_common():
    rows = [list(questions(task)) for task in ("options", "span")]
    with pytest.raises(CoattendError, match="one trial answers options, the other span"):
        side_by_side(table([*rows[0], *rows[1]]), drawn_predictions(rows[0], 0.5), drawn_predictions(rows[1], 0.5))
