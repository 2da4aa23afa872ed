"""Two trials on the same questions: who was correct, who is better, what one was not asked."""

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from coattend.errors import CoattendError
from coattend.evaluation.side_by_side import is_correct, side_by_side
from coattend.evaluation.significance import paired_bootstrap
from coattend.reporting.trial_comparison import contests
from coattend.tables import COMPARED, PREDICTIONS, QUESTIONS


def questions(task="options", splits=("dev", "test"), count=120):
    for number in range(count):
        row = {"question_id": f"{task}{number}", "passage_id": f"p{number // 3}", "split": splits[number % len(splits)]}
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


def given(rows, share, seed=0, **more):
    return table(predictions(rows, share, seed, **more), PREDICTIONS)


def test_mcnemar_and_the_bootstrap_are_those_of_the_table():
    rows = list(questions())
    found = side_by_side(table(rows), given(rows, 0.7, 1), given(rows, 0.5, 2))
    assert found.table.schema.equals(COMPARED)
    assert (found.task, found.left_out, found.table.num_rows) == ("options", {}, 120)
    by_place = {(one["split"], one["group"]): one for one in contests(found)}
    assert set(by_place) == {(split, group) for split in ("dev", "test") for group in ("all", "NE", "CN")}
    for (split, group), one in by_place.items():
        own = [row for row in found.table.to_pylist() if row["split"] == split and group in ("all", row["subset"])]
        count = {name: sum(row["winner"] == name for row in own) for name in ("left", "right", "both", "neither")}
        assert one["counts"] == count
        assert one["questions"] == len(own)
        square = [[count["both"], count["left"]], [count["right"], count["neither"]]]
        assert one["mcnemar_p"] == pytest.approx(mcnemar(square, exact=True).pvalue)
        left, right = (np.array([[row[f"{side}_mark"] for row in own]]) for side in ("left", "right"))
        passages = np.unique([row["passage_id"] for row in own], return_inverse=True)[1]
        expected = paired_bootstrap(100 * left, 100 * right, passages)
        assert one["metrics"]["accuracy"]["mean"] == pytest.approx(expected.mean)
        assert one["metrics"]["accuracy"]["low"] == pytest.approx(expected.low, abs=1.0)


def test_an_answer_that_is_not_there_is_null_and_wrong():
    rows = list(questions())
    left = given(rows, 1.0)
    found = side_by_side(table(rows), left.slice(10), given(rows, 1.0, 1))
    first = found.table.slice(0, 10)
    assert first["left_answer"].null_count == 10
    assert set(first["winner"].to_pylist()) == {"right"}
    assert not is_correct(found.table, "left")[:10].any()
    assert sum(one["missing"]["left"] for one in contests(found) if one["group"] == "all") == 10


def test_a_split_that_one_was_not_asked_is_left_out_and_train_is_not_asked():
    rows = list(questions(splits=("train", "dev", "test")))
    in_dev = [row for row in rows if row["split"] == "dev"]
    found = side_by_side(table(rows), given(rows, 0.5), given(in_dev, 0.5, 1))
    assert set(found.table["split"].to_pylist()) == {"dev"}
    assert found.left_out == {"test": 40}
    in_test = [row for row in rows if row["split"] == "test"]
    with pytest.raises(CoattendError, match="no split was answered by both"):
        side_by_side(table(rows), given(in_test, 0.5), given(in_dev, 0.5, 1))


def test_spans_are_marked_by_f1_and_won_by_an_exact_match():
    rows = list(questions("span"))
    found = side_by_side(table(rows), given(rows, 0.5, 1, partly=0.5), given(rows, 0.5, 2))
    assert found.table["gold"][0].as_py() == ["x y", "x"]
    for row in found.table.to_pylist():
        assert (row["winner"] in ("left", "both")) == (row["left_mark"] == 1)
    one = contests(found)[0]
    assert set(one["metrics"]) == {"exact", "f1"}
    assert one["metrics"]["f1"]["left"] == pytest.approx(50 + one["metrics"]["exact"]["left"] / 2)


def test_trials_of_different_tasks_have_nothing_in_common():
    rows = [list(questions(task)) for task in ("options", "span")]
    with pytest.raises(CoattendError, match="one trial answers options, the other span"):
        side_by_side(table([*rows[0], *rows[1]]), given(rows[0], 0.5), given(rows[1], 0.5))
