"""Two trials of the sample, from training to the page that compares them; and those that cannot be compared."""

import json
import re
import shutil
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from coattend.errors import CoattendError
from coattend.io.atomic import write_with_checksum
from coattend.schemas import COMPARED

FASTER = {"plain": {"training": {"learning_rate": 1e-3}}}
SEEDS = {"sample": {"training": {"seeds": [0, 1]}}}


@pytest.fixture(scope="module")
def results(run_shared, shared_project):
    """Trials of the sample: two of options, whose reader's table holds the second alone, and two of spans."""
    run_shared("training,evaluation", "sample.plain")
    run_shared("training,evaluation", "sample.plain", readers=FASTER)
    run_shared("training,evaluation", "sample.plain_span", benchmarks=SEEDS)
    return shared_project / "data" / "test"


@pytest.fixture(scope="module")
def ids(results):
    """Ids of the trials: two of options, two of spans."""
    trial_ids = {"options": {}, "span": {}}
    for file in (results / "06_models" / "trials").glob("*/trial.json"):
        trial = json.loads(file.read_text())
        trial_ids[trial["head"]][trial["seed"], trial["training"]["learning_rate"]] = trial["trial_id"]
    return [*(trial_id for _, trial_id in sorted(trial_ids["options"].items(), reverse=True))], [
        *trial_ids["span"].values()
    ]


def compared(results, left, right):
    folder = results / "08_reporting" / "compare" / f"{left}_{right}"
    return pq.read_table(folder / "questions.parquet"), (folder / "index.html").read_text()


def trial_of(results, trial):
    return json.loads((results / "06_models" / "trials" / trial / "trial.json").read_text())


def answers(results, trial):
    (file,) = (results / "06_models" / "trials" / trial).glob("predictions-*.parquet")
    return {row["question_id"]: row for row in pq.read_table(file).to_pylist()}


@pytest.mark.slow
def test_trials_are_compared_though_their_reader_was_run_again_since(run_shared, results, ids):
    (left, right), _ = ids
    run_shared("compare", compare={"left": left, "right": right[:8]})
    table, page = compared(results, left, right)
    assert table.schema.equals(COMPARED)
    table_of_reader = pq.read_table(results / "07_model_output/sample/plain/predictions.parquet")
    assert len(set(table_of_reader["trial_id"].to_pylist())) == 1

    left_answers, right_answers = answers(results, left), answers(results, right)
    rows = table.to_pylist()
    assert {row["question_id"] for row in rows} == set(left_answers) == set(right_answers)
    for row in rows:
        left_row, right_row = left_answers[row["question_id"]], right_answers[row["question_id"]]
        assert (row["left_answer"], row["right_answer"]) == (left_row["prediction"], right_row["prediction"])
        correct = {(1, 1): "both", (1, 0): "left", (0, 1): "right", (0, 0): "neither"}
        assert row["winner"] == correct[left_row["correct"], right_row["correct"]]
        assert left_row["correct"] == (row["gold"] == [left_row["prediction"]])
    lead = {"left": 1, "right": -1}
    by_passage = Counter({row["passage_id"]: 0 for row in rows})
    for row in rows:
        by_passage[row["passage_id"]] += lead.get(row["winner"], 0)
    # Each passage's difference might as well have the other sign.
    differences = np.array([*by_passage.values()])
    signs = np.random.default_rng(0).choice([-1, 1], (20_000, len(differences)))
    p = np.mean(np.abs(signs @ differences) >= abs(differences.sum()))
    # The first sentence is about all questions; subsets follow.
    written = re.search(r"points \[[^]]*\], p [=<]\u00a0(\d\.\d+)", page)
    assert float(written[1]) == pytest.approx(p, abs=0.03)
    assert "training.learning_rate" in page.partition("Settings that are the same")[0]
    assert left in page
    assert right in page


def test_spans_of_two_seeds(run_shared, results, ids):
    _, (left, right) = ids
    run_shared("compare", compare={"left": left, "right": right})
    table, page = compared(results, left, right)
    ours = answers(results, left)
    for row in table.to_pylist():
        answer = ours[row["question_id"]]
        assert row["left_mark"] == answer["f1"]
        assert (row["winner"] in ("left", "both")) == answer["correct"]
    assert "F1" in page
    assert ">seed<" in page.partition("Settings that are the same")[0]


def test_trials_are_named_by_their_entry_and_seed(run_shared, results, ids):
    _, spans = ids
    by_seed = {trial_of(results, trial)["seed"]: trial for trial in spans}
    run_shared("compare", compare={"left": "sample.plain_span/1", "right": "plain_span/0"})
    table, _ = compared(results, by_seed[1], by_seed[0])
    (file,) = (results / "06_models" / "trials" / by_seed[1]).glob("predictions-*.parquet")
    key = file.stem.partition("-")[2]
    run_shared("compare", compare={"left": f"sample.plain_span/1/{key[:6]}", "right": by_seed[0]})
    assert compared(results, by_seed[1], by_seed[0])[0].equals(table)


@pytest.mark.slow
def test_trials_that_read_alike_are_told_apart(run_shared, results, ids):
    """By what is set differently; where seeds differ, by the seed."""
    (left, right), _ = ids
    told = (
        r"'sample.plain/0' names 2 trials. Give an id"
        rf"(?=.*{left} \(.*training.learning_rate 0.001)(?=.*{right} \(.*finished)"
    )
    with pytest.raises(CoattendError, match=told):
        run_shared("compare", compare={"left": "sample.plain/0", "right": right})
    with pytest.raises(CoattendError, match=r"'plain_span' names 2 trials. Give the seed(?=.*seed 0\))(?=.*seed 1\))"):
        run_shared("compare", compare={"left": "plain_span", "right": right})
    for name in ("sample.plain/7", "dream.plain/0"):
        with pytest.raises(CoattendError, match=f"there is no trial '{name}'. Finished trials: "):
            run_shared("compare", compare={"left": name, "right": right})


def test_the_list_of_trials_says_what_is_set_differently(run_shared, results, ids, caplog):
    caplog.set_level("INFO")
    (left, right), spans = ids
    run_shared("trials")
    listed = pd.read_csv(results / "08_reporting/trials.csv", keep_default_na=False).set_index("trial_id")
    assert {left, right, *spans} == set(listed.index)
    assert list(listed["finished"]) == sorted(listed["finished"], reverse=True)
    assert listed["set_differently"][left] == "training.learning_rate=0.001"
    assert set(listed["set_differently"][spans]) == {""}
    for trial in (left, *spans):
        marks = [row["correct" if trial == left else "f1"] for row in answers(results, trial).values()]
        assert listed["score"][trial] == pytest.approx(100 * np.mean(marks), abs=0.06)
    assert "sample.plain_span/1" in caplog.text
    assert "sample.plain/0" in (results / "08_reporting/trials.html").read_text()


def test_what_cannot_be_compared_is_refused_with_what_can(run_shared, results, ids):
    (left, right), (span, _) = ids
    store = results / "06_models" / "trials"
    unfinished = store / "feedfeedfeedfeed"
    unfinished.mkdir()
    foreign = store / "0123456789abcdef"
    shutil.copytree(store / left, foreign)
    trial = json.loads((foreign / "trial.json").read_text())
    with write_with_checksum(foreign / "trial.json") as file:
        file.write_text(json.dumps(trial | {"benchmark": "dream"}))
    refused = [
        ({}, f"compare.left: names no trial.*{left}"),
        ({"left": left}, rf"compare.right: names no trial. Finished trials: (?!.*{left})(?!.*{foreign.name}).*{right}"),
        ({"left": "nothing", "right": right}, "compare.left: there is no trial 'nothing'. Finished trials: "),
        ({"left": left, "right": f"{right[:-1]}x"}, f"there is no trial.*Finished trials: {right}"),
        ({"left": unfinished.name, "right": right}, "compare.left: the trial 'feedfeedfeedfeed' is not finished"),
        ({"left": left, "right": left[:10]}, f"compare.right: is the trial {left} as well. Finished trials: .*{right}"),
        ({"left": left, "right": foreign.name}, f"trained on dream, and {left} on sample. Finished trials: .*{right}"),
        ({"left": left, "right": span}, "one trial answers options, the other span"),
        ({"left": left, "right": right, "benchmark": "sampel"}, "no questions of 'sampel'.*Did you mean 'sample'"),
        ({"left": 7500.0, "right": right}, "was read as a number"),
        ({"left": left, "rigth": right}, "Did you mean 'right'"),
    ]
    try:
        for parameters, message in refused:
            with pytest.raises(CoattendError, match=message):
                run_shared("compare", compare=parameters)
    finally:
        shutil.rmtree(unfinished)
        shutil.rmtree(foreign)


def test_a_beginning_of_several_ids_is_refused(run_shared, results, ids):
    (left, right), _ = ids
    store = results / "06_models" / "trials"
    twin = store / f"{left[:8]}00000000"
    shutil.copytree(store / left, twin)
    try:
        with pytest.raises(CoattendError, match=rf"begins several ids(?=.*{left})(?=.*{twin.name})(?!.*{right})"):
            run_shared("compare", compare={"left": left[:8], "right": right})
    finally:
        shutil.rmtree(twin)


def test_answers_that_were_given_twice_are_asked_for_by_their_key(run_shared, results, ids):
    (left, right), _ = ids
    folder = results / "06_models" / "trials" / left
    (file,) = folder.glob("predictions-*.parquet")
    table = pq.read_table(file)
    again = folder / "predictions-0123456789abcdef.parquet"
    pq.write_table(table.slice(0, 5), again)
    try:
        with pytest.raises(CoattendError, match=f"answered these questions 2 times.*{left}/0123456789abcdef"):
            run_shared("compare", compare={"left": left, "right": right})
        run_shared("compare", compare={"left": f"{left}/0123", "right": right})
        assert compared(results, left, right)[0]["left_answer"].null_count == table.num_rows - 5
        with pytest.raises(CoattendError, match=r"in a file of the key 'ffff'.*evaluation --namespaces sample"):
            run_shared("compare", compare={"left": f"{left}/ffff", "right": right})
    finally:
        again.unlink()


def test_comparing_is_no_part_of_a_benchmark():
    from coattend.pipeline_registry import register_pipelines

    pipelines = register_pipelines()
    assert [node.name for node in pipelines["compare"].nodes] == ["compare.trials"]
    for name in ("__default__", "sample", "dream", "reporting"):
        assert not pipelines[name].outputs() & {"compared", "compared_page"}
