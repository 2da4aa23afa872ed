"""A finished run, asked again from what it left behind."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient
from sampled import trial_of

from coattend.errors import CoattendError
from coattend.io.atomic import checksum_path
from coattend.training.verify import differences


def verified(project):
    return json.loads((project / "data/test/08_reporting/verified.json").read_text())


@pytest.mark.parametrize("reader", ["poi_net", "plain_span", "aoa_reader"])
def test_a_run_answers_as_it_did(run_trained, trained_sample, runs, reader, caplog):
    caplog.set_level("INFO")
    run_trained("verify", run=runs[reader])
    report = verified(trained_sample)
    assert report["weights"] and report["data"] and report["run"]
    assert (report["other_answers"], report["largest_difference"]) == (0, 0.0) and report["questions"] > 0
    assert "as it did, to the last bit" in caplog.text


def test_another_metric_is_told(run_trained, trained_sample, runs):
    client = MlflowClient(f"sqlite:///{trained_sample / 'mlflow.db'}")
    before = client.get_run(runs["poi_net"]).data.metrics["dev.accuracy"]
    client.log_metric(runs["poi_net"], "dev.accuracy", before + 0.5, step=1)
    try:
        with pytest.raises(CoattendError, match=r"its MLflow run holds other metrics \(dev.accuracy\)"):
            run_trained("verify", run=runs["poi_net"])
    finally:
        client.log_metric(runs["poi_net"], "dev.accuracy", before, step=2)


def test_a_trial_goes_by_the_beginning_of_its_id(run_trained, trained_sample):
    run_trained("verify", run=trial_of(trained_sample, "poi_net").name[:9])
    assert verified(trained_sample)["run"] is None


def test_one_of_several_files_of_answers_is_chosen_by_its_key(run_trained, trained_sample):
    trial = trial_of(trained_sample, "poi_net")
    (file,) = trial.glob("predictions-*.parquet")
    earlier = file.with_name("predictions-00aa.parquet")
    pq.write_table(pq.read_table(file), earlier)
    try:
        with pytest.raises(CoattendError, match=rf"has answered these questions 2 times.*{trial.name}/00aa"):
            run_trained("verify", run=trial.name)
        run_trained("verify", run=f"{trial.name}/00aa")
    finally:
        earlier.unlink()
    assert verified(trained_sample)["questions"] > 0


def test_another_answer_is_told(run_trained, trained_sample, runs):
    (file,) = trial_of(trained_sample, "poi_net").glob("predictions-*.parquet")
    checksum_path(file).unlink()
    before = file.read_bytes()
    table = pq.read_table(file)
    turned = pa.array([not correct for correct in table["correct"].to_pylist()])
    pq.write_table(
        table.set_column(table.schema.get_field_index("correct"), table.schema.field("correct"), turned), file
    )
    try:
        with pytest.raises(CoattendError, match=r"its MLflow run holds other answers.*are answered otherwise"):
            run_trained("verify", run=runs["poi_net"])
    finally:
        file.write_bytes(before)
    assert verified(trained_sample)["other_answers"] == len(table)


def test_other_weights_are_told(run_trained, trained_sample):
    file = trial_of(trained_sample, "poi_net") / "outcome.json"
    checksum_path(file).unlink()
    before = file.read_text()
    file.write_text(json.dumps(json.loads(before) | {"model_digest": "0" * 64}))
    try:
        with pytest.raises(CoattendError, match="weights are not those that were trained"):
            run_trained("verify", run=trial_of(trained_sample, "poi_net").name)
    finally:
        file.write_text(before)


def test_runs_that_are_none(run_trained, trained_sample):
    with pytest.raises(CoattendError, match="names no run"):
        run_trained("verify")
    with pytest.raises(CoattendError, match="there is no run"):
        run_trained("verify", run="0" * 32)
    with pytest.raises(CoattendError, match="run: was read as a number"):
        run_trained("verify", run=75e2)
    client = MlflowClient(f"sqlite:///{trained_sample / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    parent = client.search_runs([experiment], "tags.kind = 'kedro run'")[0].info.run_id
    with pytest.raises(CoattendError, match="is no run of a trial"):
        run_trained("verify", run=parent)


@pytest.mark.parametrize(
    ("tags", "cure"),
    [
        ({}, "Score its reader: kedro run --env test --pipelines evaluation --namespaces sample.plain"),
        ({"study": "mine"}, "Name its trial, whose answers are kept: --params run={trial}"),
    ],
)
def test_a_run_without_answers_says_what_to_run(run_trained, trained_sample, tags, cure):
    store = f"sqlite:///{trained_sample / 'mlflow.db'}"
    client = MlflowClient(store)
    experiment = client.get_experiment_by_name("sample").experiment_id
    trial = {"trial_id": trial_of(trained_sample, "poi_net").name, "benchmark": "sample", "reader": "plain"}
    run = client.create_run(experiment, tags=trial | tags).info.run_id
    try:
        with pytest.raises(CoattendError) as error:
            run_trained("verify", run=run)
        assert error.value.message == f"run {run}: holds no predictions. {cure.format(trial=trial['trial_id'])}"
    finally:
        client.delete_run(run)


def test_scores_that_differ_are_measured():
    columns = {"question_id": ["a", "b"], "prediction": ["x", "y"], "correct": [True, False], "f1": [1.0, 0.0]}
    columns |= {"label": [0, 1], "start": [None, None], "end": [None, None]}
    stored = pa.table(columns | {"scores": [[1.0, 2.0], [3.0]], "null_score": [None, 1.0]})
    again = pa.table(columns | {"scores": [[1.0, 2.5], [3.0]], "null_score": [None, 1.0]})
    assert differences(again, stored) == {"questions": 2, "other_answers": 0, "largest_difference": 0.5}
    of_three = pa.table(columns | {"scores": [[1.0, 2.0], [3.0, 1.0, 2.0]], "null_score": [None, 1.0]})
    elsewhere = pa.table(columns | {"label": [1, 1], "scores": [[1.0, 2.0], [3.0]], "null_score": [None, 1.0]})
    assert [differences(table, stored)["other_answers"] for table in (of_three, elsewhere)] == [1, 1]
    with pytest.raises(CoattendError, match="differ from those that the stored answers are for"):
        differences(again.slice(0, 1), stored)
