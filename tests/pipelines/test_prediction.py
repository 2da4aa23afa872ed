"""Files of questions, answered: whichever form and whichever name of the reader, and on where a run was cut off."""

import csv
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from multiprocessing import process
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from coattend.answering.answerer import Answerer
from coattend.answering.asked import Asked
from coattend.answering.found import find
from coattend.answering.questions_file import plan_of
from coattend.errors import CoattendError
from coattend.tables import ANSWERS
from coattend.training.trial import digest_of_files

PASSAGE = "The lamp is in the hall . Mary carried the sofa to the attic ."
PLACES = ["In the hall.", "In the attic.", "At sea."]
ROWS = [
    {"id": f"q{n}", "passage": PASSAGE, "question": f"Where is the {what}?", "options": PLACES[: 2 + n % 2]}
    for n, what in enumerate(("sofa", "lamp", "boat", "bicycle"))
]


@pytest.fixture(scope="module")
def trials(trained_sample):
    """The folder of each reader's trial."""
    found = {}
    for file in (trained_sample / "data/test/06_models/sample").glob("*.json"):
        (trial,) = json.loads(file.read_text())["trials"]
        found[file.stem] = trained_sample / "data/test/06_models/trials" / trial["trial_id"]
    return found


def answers_of(project, name):
    folder = project / "data/test/07_model_output/predictions" / name
    shards = [pq.read_table(file) for file in sorted((folder / "answers").glob("*.parquet"))]
    return pa.concat_tables(shards), [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]


def test_answers_are_written_as_parquet_and_json_lines(predict, trials, trained_sample):
    told = predict(trials["poi_net"].name[:9], ROWS, "both", rows_per_shard=3)
    table, lines = answers_of(trained_sample, "both")
    assert table.schema.equals(ANSWERS)
    assert table.to_pylist() == lines == told
    assert [one["id"] for one in told] == ["q0", "q1", "q2", "q3"]
    answerer = Answerer.load(trials["poi_net"])
    for row, one in zip(ROWS, told, strict=True):
        expected = answerer.answer(Asked(row["passage"], row["question"], tuple(row["options"])))
        assert {name: one[name] for name in expected} == expected
        assert one["problem"] is None


@pytest.mark.parametrize("reader", ["plain_span", "aoa_reader"])
def test_spans_and_words_are_answered_too(predict, trials, reader):
    rows = [{"passage": PASSAGE, "question": "The _ is in the hall ."}]
    (told,) = predict(trials[reader].name, rows, f"other_{reader}")
    assert told["evidence"]
    assert told["problem"] is None
    assert (told["null_score"] is None) == (reader == "aoa_reader")


def test_each_form_of_a_file_gives_the_same_answers(run_trained, predict, trials, trained_sample):
    expected = predict(trials["poi_net"].name, ROWS, "lines")
    with (trained_sample / "cells.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "passage", "question", *(f"option_{n}" for n in (1, 2, 3)), "answer"])
        writer.writerows(
            [r["id"], r["passage"], r["question"], *r["options"], *[""] * (4 - len(r["options"]))] for r in ROWS
        )
    pq.write_table(pa.Table.from_pylist(ROWS), trained_sample / "columns.parquet")
    for name in ("cells.csv", "columns.parquet"):
        run_trained("prediction", prediction={"model": str(trials["poi_net"]), "input": name})
        _, told = answers_of(trained_sample, name.partition(".")[0])
        assert [one | {"place": ""} for one in told] == [one | {"place": ""} for one in expected]
    assert [one["place"] for one in expected] == ["line 1", "line 2", "line 3", "line 4"]
    assert [one["place"] for one in told] == ["row 1", "row 2", "row 3", "row 4"]


def test_answers_that_take_the_place_of_others_say_so(predict, trials, caplog):
    caplog.set_level("INFO")
    told = []
    for reader in ("poi_net", "poi_net", "aoa_reader"):
        caplog.clear()
        predict(trials[reader].name, ROWS, "twice")
        told.append("in the place of earlier answers" in caplog.text)
    assert told == [False, False, True]


def test_rows_that_cannot_be_answered_say_why_and_where(predict, trials, caplog):
    caplog.set_level("INFO")
    rows = [
        ROWS[0],
        {"passage": PASSAGE, "question": "Where?", "options": ["one"]},
        {"passage": "", "question": "Where?", "options": PLACES},
        {"pasage": PASSAGE, "question": "Where?", "options": PLACES},
        {"passage": PASSAGE, "question": 5, "options": PLACES},
        {"passage": PASSAGE, "question": "Where?"},
        {"passage": PASSAGE * 2000, "question": "Where?", "options": PLACES},
        ROWS[1] | {"label": 7, "answer": "what it says of answers is not looked at"},
    ]
    told = predict(trials["poi_net"].name, rows, "problems")
    problems = {one["place"]: one["problem"] for one in told if one["problem"]}
    assert [one["answer"] is None for one in told] == [one["problem"] is not None for one in told]
    expected = {
        "line 2": "has one option only",
        "line 3": "the passage is empty",
        "line 4": "has an unknown field 'pasage'. Did you mean 'passage'?",
        "line 5": "the question is a number instead of a text",
        "line 6": "has no options, and this reader chooses one of them. Give two or more",
        "line 7": "the passage has 124,000 characters, more than 100,000",
    }
    assert problems == expected
    assert "predictions/problems/answers.jsonl: 8 rows, 6 of which say in `problem` why" in caplog.text


def test_a_line_that_is_no_json_is_named(run_trained, trials, trained_sample):
    (trained_sample / "broken.jsonl").write_text(json.dumps(ROWS[0]) + "\n{oops\n")
    with pytest.raises(CoattendError, match=r"broken\.jsonl, line 2: is not JSON"):
        run_trained("prediction", prediction={"model": trials["poi_net"].name, "input": "broken.jsonl"})


def test_a_reader_goes_by_many_names(predict, trials, runs, trained_sample):
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{trained_sample / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    run = runs["poi_net"]
    (logged,) = client.search_logged_models([experiment], f"source_run_id = '{run}'")
    client.create_registered_model("reader")
    version = client.create_model_version("reader", f"models:/{logged.model_id}", run, model_id=logged.model_id)
    client.set_registered_model_alias("reader", "best", version.version)
    expected = predict(trials["poi_net"].name, ROWS, "named")
    assert predict(f"runs:/{run}/model", ROWS, "named") == expected
    folder, store = logged.artifact_location.removeprefix("file://"), f"sqlite:///{trained_sample / 'mlflow.db'}"
    names = (run, logged.model_id, f"models:/{logged.model_id}", "models:/reader@best", "models:/reader/1", folder)
    for name in names:
        found = find(name, trials["poi_net"].parent, store)
        assert json.loads((found / "recipe.json").read_text())["trial_id"] == trials["poi_net"].name
        assert digest_of_files(found / "model") == digest_of_files(trials["poi_net"] / "model")


def test_what_is_not_there_is_refused_with_what_is(run_trained, trials, runs, trained_sample):
    trial = trials["poi_net"].name
    (trained_sample / "there.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    model = {"model": trial}
    (trials["poi_net"].parent / "77aa").mkdir()  # It was cut off before its end.
    refused = [
        ({"model": "77a", "input": "there.jsonl"}, rf"the trial '77a' is not finished.*Finished trials: .*{trial}"),
        ({}, rf"neither a trained reader nor a file.*model=<model>.*poi_net on sample, seed 0.*Trials: .*{trial}"),
        ({"input": "there.jsonl"}, rf"prediction\.model: names no trained reader.*{trial}"),
        (model, r"prediction\.input: names no file of questions.*my\.jsonl"),
        (model | {"input": "their.jsonl"}, r"there is no file 'their\.jsonl'.*there\.jsonl"),
        ({"model": "zzz", "input": "there.jsonl"}, rf"there is no trained reader 'zzz'.*Logged models: .*{trial}"),
        ({"model": "0" * 32, "input": "there.jsonl"}, f"there is no model 'runs:/{'0' * 32}/model'.*{trial}"),
        ({"model": "models:/raeder@best", "input": "there.jsonl"}, r"there is no model 'models:/raeder@best'"),
        ({"model": "s3://bucket/reader", "input": "there.jsonl"}, "there is no model 's3://bucket/reader'"),
        ({"model": trial, "inptu": "there.jsonl"}, "Did you mean 'input'"),
        ({"model": str(trained_sample / "data"), "input": "there.jsonl"}, "says nowhere how it is asked"),
    ]
    for given, message in refused:
        with pytest.raises(CoattendError, match=message):
            run_trained("prediction", prediction=given)
    (trials["poi_net"].parent / "77aa").rmdir()


def test_a_shard_is_answered_with_one_thread(trials, tmp_path):
    """Sums of several threads have other last digits than those of one, and a worker process has but one."""
    file = tmp_path / "asked.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    answerer, seen = Answerer.load(trials["poi_net"]), []
    answerer.reader.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    plan = plan_of(file, answerer, "digest", rows_per_shard=2)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert len(list(plan.make(list(plan.keys())))) == 2
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert len(seen) >= len(ROWS)
    assert set(seen) == {1}


def test_memory_does_not_follow_the_size_of_a_file(trials, tmp_path):
    """Passages that are too long are read and refused, which takes a reader no time."""
    file = tmp_path / "large.jsonl"
    with file.open("w") as lines:
        for number in range(400):
            lines.write(json.dumps({"id": f"{number}", "passage": "a " * 60_000, "question": "Who?"}) + "\n")
    plan = plan_of(file, Answerer.load(trials["plain_span"]), "digest", rows_per_shard=10)
    tracemalloc.start()
    try:
        names = list(plan.keys())
        rows = sum(table.num_rows for _, table in plan.make(names))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(names), rows) == (40, 400)
    assert file.stat().st_size > 40_000_000
    assert peak < 15_000_000


@pytest.mark.slow
def test_two_processes_and_a_cluster_answer_what_one_answers(run_trained, trials, trained_sample, caplog):
    rows = [row | {"id": f"{turn}-{row['id']}"} for turn in range(3) for row in ROWS]
    for number in range(1, 12, 2):
        rows[number] = rows[number] | {"passage": ""}
    file = trained_sample / "spread.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {"model": trials["poi_net"].name, "input": file.name, "rows_per_shard": 2}

    def run(name: str, workers: int, kind: str = "local") -> tuple[dict[str, bytes], int]:
        before = next(process._process_counter)
        run_trained("prediction", prediction=given | {"name": name, "workers": workers}, engine={"kind": kind})
        folder = trained_sample / "data/test/07_model_output/predictions" / name
        made = {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}
        return made, next(process._process_counter) - before - 1

    caplog.set_level("INFO")
    one, alone = run("alone", 1)
    caplog.clear()
    two, together = run("together", 2)
    assert (alone, together > 1) == (0, True)
    assert len([name for name in one if name.endswith(".parquet")]) == 6
    assert two == one
    told = [record.getMessage() for record in caplog.records if record.name.endswith("questions_file")]
    assert told[:-1] == [f"spread.jsonl: {asked} questions asked" for asked in range(2, 13, 2)]
    assert told[-1].endswith("The first: " + "; ".join(f"line {line}: the passage is empty" for line in (2, 4, 6)))
    assert run("cluster", 2, "dask")[0] == one


@pytest.mark.slow
def test_a_killed_prediction_goes_on_where_it_stopped(trained_sample, trials, tmp_path):
    rows = [row | {"id": f"{turn}-{row['id']}"} for turn in range(15) for row in ROWS]
    file = trained_sample / "killed.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    parameters = f"prediction.model={trials['poi_net'].name},prediction.input={file.name},prediction.rows_per_shard=2"
    two = f"{parameters},prediction.workers=2"
    command = [Path(sys.executable).parent / "kedro", "run", "--env", "test", "--pipelines", "prediction", "--params"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    options = {"cwd": trained_sample, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen([*command, two], text=True, **options) as answering:
        told = 0
        for line in answering.stdout:
            told += "questions asked" in line
            if told == 3:
                answering.send_signal(signal.SIGKILL)
                break
    folder = trained_sample / "data/test/07_model_output/predictions/killed"
    before = {one.name: one.stat().st_mtime_ns for one in (folder / "answers").glob("*.parquet")}
    assert 2 <= len(before) < 30
    assert not (folder / "answers.jsonl").exists()
    assert not json.loads((folder / "answers/_manifest.json").read_text())["complete"]

    subprocess.run([*command, two], check=True, **options)
    kept = json.loads((folder / "answers/_manifest.json").read_text())
    assert kept["complete"]
    after = {one.name: one.stat().st_mtime_ns for one in (folder / "answers").glob("*.parquet")}
    assert len(after) == 30
    assert sum(after[name] == written for name, written in before.items()) >= 2
    resumed = (folder / "answers.jsonl").read_text()

    subprocess.run([*command, f"{parameters},prediction.name=whole"], check=True, **options)
    assert (folder.parent / "whole/answers.jsonl").read_text() == resumed
    assert [json.loads(line)["id"] for line in resumed.splitlines()] == [row["id"] for row in rows]


def test_prediction_is_no_part_of_a_benchmark():
    from coattend.pipeline_registry import register_pipelines

    pipelines = register_pipelines()
    assert [node.name for node in pipelines["prediction"].nodes] == ["prediction.answer"]
    assert not any("answered" in pipelines[name].outputs() for name in ("__default__", "sample", "evaluation"))
