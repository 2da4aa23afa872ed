"""Output of a run: lines that can be read in a file, a summary at the end, and the right exit status."""

import json
import re
import shutil

import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node

from coattend.errors import CoattendError
from coattend.summary import summary


def test_a_run_ends_with_what_came_out(run_trained, trained_sample, caplog):
    caplog.set_level("INFO")
    as_trained = {"sample": {"training": {"precision": "fp32"}}}
    run_trained("training,evaluation", "sample.poi_net", benchmarks=as_trained)
    metrics = json.loads((trained_sample / "data/test/07_model_output/sample/poi_net/metrics.json").read_text())
    accuracy = metrics["splits"]["dev"]["all"]["accuracy"]
    ended = [record.message for record in caplog.records if record.name == "coattend.hooks"]
    score = f"dev accuracy {accuracy['mean']:.1f} [{accuracy['low']:.1f}, {accuracy['high']:.1f}]"
    match = re.fullmatch(rf"sample.poi_net  1 trial done before \((.*)\); {re.escape(score)}", ended[-4])
    assert match and (trained_sample / "data/test/06_models/trials" / match[1] / "outcome.json").exists()
    params = "--params benchmarks.sample.training.precision=fp32"
    assert ended[-3] == f"Side by side: kedro run --env test --pipelines reporting --namespaces sample {params}"
    assert ended[-2] == "Runs, curves and models: make mlflow"
    assert ended[-1].startswith("Done in ")
    assert ended[:3] == [f"sample.poi_net.{name} ({n} of 3)" for n, name in enumerate(("train", "predict", "score"), 1)]


def test_pages_are_named_by_where_they_are(run_trained, caplog):
    caplog.set_level("INFO")
    run_trained("reporting", "sample")
    assert "Look at data/test/08_reporting/sample/index.html" in caplog.text


def test_many_readers_that_are_scored_without_training_are_counted():
    names = [f"sample.reader{number}.metrics" for number in range(21)]
    scored = MemoryDataset({"splits": {}})
    catalog = DataCatalog(dict.fromkeys(names, scored))
    pipeline = Pipeline([node(lambda: {}, None, name, name=f"score{n}") for n, name in enumerate(names)])
    assert next(summary(pipeline, catalog, 0.0)) == "21 readers: scored"


def test_data_stages_say_how_many_questions_were_read(kedro_run, caplog):
    caplog.set_level("INFO")
    kedro_run("ingestion", "sample")
    assert re.search(r"sample: \d+ questions", caplog.text)


def test_a_trial_that_fails_among_others_fails_the_run_when_all_else_is_done(run_shared, shared_project, caplog):
    caplog.set_level("INFO")
    store = shared_project / "data/test/06_models/trials"
    run_shared("training", "sample.as_reader")
    earlier = set(store.iterdir())
    changed = {"sample": {"training": {"seeds": [0, 1]}}}
    run_shared("training", "sample.as_reader", benchmarks=changed)
    (trial,) = set(store.iterdir()) - earlier
    (trial / "outcome.json").unlink()
    shutil.rmtree(trial / "model")
    (trial / "model").write_text("in the way")
    with pytest.raises(CoattendError, match=r"1 trial failed \(sample.as_reader, seed 1: .*trains these alone"):
        run_shared("training", "sample.as_reader", benchmarks=changed)
    assert re.search(r"sample.as_reader  1 trial done before, 1 trial failed \([0-9a-f]{16}\)", caplog.text)


def test_output_that_is_no_terminal_is_plain_and_one_line_each(kedro):
    """And without a warning, from libraries neither, though a part of the pipeline alone is run."""
    ingestion = ["--pipelines", "ingestion", "--namespaces", "sample"]
    completed = kedro("run", "--env", "test", *ingestion, "--to-outputs", "sample.texts")
    assert (completed.returncode, completed.stderr) == (0, "")
    stamped = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO    \S")
    assert [line for line in completed.stdout.splitlines() if not stamped.match(line)] == []
    assert "\x1b" not in completed.stdout


def test_a_mistake_is_one_line_and_status_1(kedro):
    completed = kedro("run", "--env", "test", "--pipelines", "share", "--params", "share.modl=x")
    assert completed.returncode == 1
    (line,) = completed.stderr.splitlines()
    assert line.startswith("Error: ") and "Did you mean 'model'?" in line
    assert kedro("run", "--nonsense").returncode == 2
