"""A language model as it is goes from the tables to the page like every reader, without a training node."""

import json

import pytest
from mlflow import MlflowClient

from coattend.errors import CoattendError
from coattend.pipeline_registry import register_pipelines


@pytest.mark.slow
def test_a_named_model_is_answered_scored_tracked_and_compared(kedro_run, sample_project, language_model):
    entry = {"model": str(language_model), "normalise": "none"}
    kedro_run("sample", "sample.option_likelihood", readers={"option_likelihood": entry})
    metrics = json.loads(
        (sample_project / "data/test/07_model_output/sample/option_likelihood/metrics.json").read_text()
    )
    (trial,) = metrics["trials"]
    assert metrics["splits"]["dev"]["all"]["accuracy"]["seeds"].keys() == {"0"}
    assert 0 <= metrics["calibration"]["dev"]["ece"]["mean"] <= 100
    folder = sample_project / "data/test/06_models/trials" / trial["trial_id"]
    assert [file.name for file in (folder / "model").iterdir()] == ["reader.json"]
    client = MlflowClient(f"sqlite:///{sample_project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    (run,) = client.search_runs([experiment], "tags.kind = 'trial'")
    assert run.data.params["normalise"] == "none"
    assert run.data.metrics["dev.accuracy"] == metrics["splits"]["dev"]["all"]["accuracy"]["mean"]
    kedro_run("reporting", "sample", readers={"option_likelihood": entry})
    page = (sample_project / "data/test/08_reporting/sample/results.md").read_text()
    (costs,) = [line for line in page.splitlines() if line.startswith("| option_likelihood") and "none (" in line]
    assert f"0 (of {trial['parameters']:,})" in costs
    # Its trials have no weights to serve, to share or to look into.
    with pytest.raises(CoattendError, match="is a language model as it is, whose trials have no weights"):
        kedro_run("share", share={"model": "sample.option_likelihood/0"})
    with pytest.raises(CoattendError, match="which has no attention to show"):
        kedro_run("attention", attention={"left": "sample.option_likelihood/0"})


def test_without_a_model_it_has_no_nodes_and_the_error_says_how_to_name_one(kedro_run):
    nodes = {node.name for pipeline in register_pipelines().values() for node in pipeline.nodes}
    assert not [name for name in nodes if "option_likelihood" in name]
    with pytest.raises(
        CoattendError, match=r"names no language model.*or with --params readers\.option_likelihood\.model="
    ):
        kedro_run("", "sample.option_likelihood")
