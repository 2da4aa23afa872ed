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

from coattend.config import PredictionParameters
from coattend.errors import CoattendError
from coattend.pipelines.prediction import nodes
from coattend.schemas import ANSWERS
from coattend.serving.batch_prediction import plan_answers
from coattend.serving.model_lookup import example_model, logged_models, resolve_model
from coattend.serving.predictor import Predictor, Query
from coattend.trials.trial import digest_of_files

PASSAGE = "The lamp is in the hall . Mary carried the sofa to the attic ."
PLACES = ["In the hall.", "In the attic.", "At sea."]
ROWS = [
    {"id": f"q{n}", "passage": PASSAGE, "question": f"Where is the {noun}?", "options": PLACES[: 2 + n % 2]}
    for n, noun in enumerate(("sofa", "lamp", "boat", "bicycle"))
]


@pytest.fixture(scope="module")
def trials(trained_sample):
    """The folder of each reader's trial."""
    folders = {}
    for file in (trained_sample / "data/test/06_models/sample").glob("*.json"):
        (trial,) = json.loads(file.read_text())["trials"]
        folders[file.stem] = trained_sample / "data/test/06_models/trials" / trial["trial_id"]
    return folders


ANSWERED = []


@pytest.fixture
def answered(predict, trials):
    """What POI-Net answers to `ROWS`, in shards of three; a run of the pipeline, once for all tests."""
    if not ANSWERED:
        ANSWERED.extend(predict(trials["poi_net"].name[:9], ROWS, "both", rows_per_shard=3))
    return ANSWERED


def test_answers_are_written_as_parquet_and_json_lines(answered, trials, trained_sample):
    shards = sorted((trained_sample / "data/test/07_model_output/predictions/both/answers").glob("*.parquet"))
    table = pa.concat_tables(pq.read_table(file) for file in shards)
    assert len(shards) == 2
    assert table.schema.equals(ANSWERS)
    assert table.to_pylist() == answered
    assert [answer["id"] for answer in answered] == ["q0", "q1", "q2", "q3"]
    answerer = Predictor.load(trials["poi_net"])
    for row, answer in zip(ROWS, answered, strict=True):
        expected = answerer.answer(Query(row["passage"], row["question"], tuple(row["options"])))
        assert {name: answer[name] for name in expected} == expected
        assert answer["problem"] is None


def test_spans_and_words_are_answered_too_and_replace_other_answers_aloud(predict, trials, caplog):
    caplog.set_level("INFO")
    rows = [{"passage": PASSAGE, "question": "The _ is in the hall ."}]
    for reader in ("plain_span", "aoa_reader"):
        caplog.clear()
        (answer,) = predict(trials[reader].name, rows, "other")
        assert answer["evidence"]
        assert answer["problem"] is None
        assert (answer["null_score"] is None) == (reader == "aoa_reader")
        assert ("in the place of earlier answers" in caplog.text) == (reader == "aoa_reader")


def test_each_form_of_a_file_gives_the_same_answers(answered, trials, tmp_path):
    with (tmp_path / "cells.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "passage", "question", *(f"option_{n}" for n in (1, 2, 3)), "answer"])
        writer.writerows(
            [r["id"], r["passage"], r["question"], *r["options"], *[""] * (4 - len(r["options"]))] for r in ROWS
        )
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "columns.parquet")
    answerer = Predictor.load(trials["poi_net"])
    for name in ("cells.csv", "columns.parquet"):
        plan = plan_answers(tmp_path / name, answerer, "digest", rows_per_shard=200)
        ((_, table),) = plan.make(list(plan.keys()))
        answers = table.to_pylist()
        assert [answer | {"place": ""} for answer in answers] == [answer | {"place": ""} for answer in answered]
    assert [answer["place"] for answer in answered] == ["line 1", "line 2", "line 3", "line 4"]
    assert [answer["place"] for answer in answers] == ["row 1", "row 2", "row 3", "row 4"]


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
    answers = predict(trials["poi_net"].name, rows, "problems")
    problems = {answer["place"]: answer["problem"] for answer in answers if answer["problem"]}
    assert [answer["answer"] is None for answer in answers] == [answer["problem"] is not None for answer in answers]
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


def test_a_reader_goes_by_many_names(answered, predict, trials, runs, trained_sample, request, caplog):
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{trained_sample / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    run = runs["poi_net"]
    (logged,) = client.search_logged_models([experiment], f"source_run_id = '{run}'")
    # One that was cut off before its files were there is none.
    unfinished = client.create_logged_model(experiment, "model", run, tags={"trial_id": "0", "about": "unfinished"})
    request.addfinalizer(lambda: client.delete_logged_model(unfinished.model_id))  # Other tests look at all models.
    client.create_registered_model("reader")
    version = client.create_model_version("reader", f"models:/{logged.model_id}", run, model_id=logged.model_id)
    client.set_registered_model_alias("reader", "best", version.version)
    caplog.set_level("INFO")
    assert predict(f"runs:/{run}/model", ROWS, "both", rows_per_shard=3) == answered
    assert "in the place of earlier answers" not in caplog.text
    folder, store = logged.artifact_location.removeprefix("file://"), f"sqlite:///{trained_sample / 'mlflow.db'}"
    names = (run, logged.model_id, f"models:/{logged.model_id}", "models:/reader@best", "models:/reader/1", folder)
    for name in names:
        model = resolve_model(name, trials["poi_net"].parent, store)
        assert json.loads((model / "run_spec.json").read_text())["trial_id"] == trials["poi_net"].name
        assert digest_of_files(model / "model") == digest_of_files(trials["poi_net"] / "model")
    offered = [model.model_id for model in logged_models(store)]
    assert logged.model_id in offered and unfinished.model_id not in offered


def test_what_is_not_there_is_refused_with_what_is(run_trained, trials, runs, trained_sample):
    trial = trials["poi_net"].name
    (trained_sample / "there.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    model = {"model": trial}
    (trials["poi_net"].parent / "77aa").mkdir()  # It was cut off before its end.
    store = f"sqlite:///{trained_sample / 'mlflow.db'}"
    newest = example_model(trials["poi_net"].parent)
    assert resolve_model(newest, trials["poi_net"].parent, store) in trials.values()
    example = f"--pipelines prediction --params prediction.model={newest},prediction.input=my.jsonl"
    refused = [
        ({"model": "77a", "input": "there.jsonl"}, rf"the trial '77a' is not finished.*Finished trials: .*{trial}"),
        ({}, rf"neither a trained reader nor a file.* {example}.*poi_net on sample, seed 0.*Trials: .*{trial}"),
        ({"input": "there.jsonl"}, rf"prediction\.model: names no trained reader.*{trial}"),
        (model, r"prediction\.input: names no file of questions.*my\.jsonl"),
        (model | {"input": "their.jsonl"}, r"there is no file 'their\.jsonl'.*there\.jsonl"),
        ({"model": "zzz", "input": "there.jsonl"}, rf"there is no trained reader 'zzz'.*Logged models: .*{trial}"),
        ({"model": "0" * 32, "input": "there.jsonl"}, f"there is no model 'runs:/{'0' * 32}/model'.*{trial}"),
        ({"model": "models:/raeder@best", "input": "there.jsonl"}, r"there is no model 'models:/raeder@best'"),
        ({"model": "s3://bucket/reader", "input": "there.jsonl"}, "there is no model 's3://bucket/reader'"),
        ({"model": str(trained_sample / "data"), "input": "there.jsonl"}, "says nowhere how it is asked"),
    ]
    for parameters, message in refused:
        with pytest.raises(CoattendError, match=message):
            nodes.answer(PredictionParameters(**parameters), trials["poi_net"].parent, store)
    with pytest.raises(CoattendError, match="Did you mean 'input'"):
        run_trained("prediction", prediction={"model": trial, "inptu": "there.jsonl"})
    (trials["poi_net"].parent / "77aa").rmdir()


def test_a_shard_is_answered_with_one_thread(trials, tmp_path):
    """Sums of several threads have other last digits than those of one, and a worker process has but one."""
    file = tmp_path / "asked.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    answerer, thread_counts = Predictor.load(trials["poi_net"]), []
    answerer.reader.register_forward_hook(lambda *_: thread_counts.append(torch.get_num_threads()))
    plan = plan_answers(file, answerer, "digest", rows_per_shard=2)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert len(list(plan.make(list(plan.keys())))) == 2
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert len(thread_counts) >= len(ROWS)
    assert set(thread_counts) == {1}


def test_memory_does_not_follow_the_size_of_a_file(trials, tmp_path):
    """Passages that are too long are read and refused, which takes a reader no time."""
    file = tmp_path / "large.jsonl"
    with file.open("w") as lines:
        for number in range(200):
            lines.write(json.dumps({"id": f"{number}", "passage": "a " * 60_000, "question": "Who?"}) + "\n")
    plan = plan_answers(file, Predictor.load(trials["plain_span"]), "digest", rows_per_shard=10)
    list(plan.make(list(plan.keys())[:1]))  # What is imported on the way does not come with the file.
    tracemalloc.start()
    try:
        names = list(plan.keys())
        rows = sum(table.num_rows for _, table in plan.make(names))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(names), rows) == (20, 200)
    assert file.stat().st_size > 20_000_000
    assert peak < 15_000_000


@pytest.mark.slow
def test_two_processes_and_a_cluster_answer_what_one_answers(run_trained, trials, trained_sample, caplog):
    rows = [row | {"id": f"{turn}-{row['id']}"} for turn in range(3) for row in ROWS]
    for number in range(1, 12, 2):
        rows[number] = rows[number] | {"passage": ""}
    file = trained_sample / "spread.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    parameters = {"model": trials["poi_net"].name, "input": file.name, "rows_per_shard": 2}

    def run(name: str, workers: int, engine: str = "local") -> tuple[dict[str, bytes], int]:
        before = next(process._process_counter)
        run_trained("prediction", prediction=parameters | {"name": name, "workers": workers}, engine={"kind": engine})
        folder = trained_sample / "data/test/07_model_output/predictions" / name
        contents = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return contents, next(process._process_counter) - before - 1

    caplog.set_level("INFO")
    by_one_process, alone = run("alone", 1)
    caplog.clear()
    two, together = run("together", 2)
    assert (alone, together > 1) == (0, True)
    assert len([name for name in by_one_process if name.endswith(".parquet")]) == 6
    assert two == by_one_process
    messages = [record.getMessage() for record in caplog.records if record.name.endswith("batch_prediction")]
    assert messages[:-1] == [f"spread.jsonl: {count} questions asked" for count in range(2, 13, 2)]
    assert messages[-1].endswith("The first: " + "; ".join(f"line {line}: the passage is empty" for line in (2, 4, 6)))
    assert run("cluster", 2, "dask")[0] == by_one_process


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
        shard_count = 0
        for line in answering.stdout:
            shard_count += "questions asked" in line
            if shard_count == 3:
                answering.send_signal(signal.SIGKILL)
                break
    folder = trained_sample / "data/test/07_model_output/predictions/killed"
    before = {shard.name: shard.stat().st_mtime_ns for shard in (folder / "answers").glob("*.parquet")}
    assert 2 <= len(before) < 30
    assert not (folder / "answers.jsonl").exists()
    assert not json.loads((folder / "answers/_manifest.json").read_text())["complete"]

    subprocess.run([*command, two], check=True, **options)
    manifest = json.loads((folder / "answers/_manifest.json").read_text())
    assert manifest["complete"]
    after = {shard.name: shard.stat().st_mtime_ns for shard in (folder / "answers").glob("*.parquet")}
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
