"""An experiment opens as machine learning, with views that list trials and compare their seeds: a newcomer finds the
best reader, sees why, and loads it in three lines."""

import base64
import json
import re
import zlib

import mlflow
import pytest
from docs._tools import browser, servers
from mlflow import MlflowClient
from served import free_port

from coattend.config.benchmark import METRICS
from coattend.errors import CoattendError
from coattend.io.mlflow_store import CHARTS, TRIALS, view_address
from coattend.tracking.__main__ import experiment_pages
from coattend.tracking.store import describe_experiment, open_client
from coattend.tracking.views import TAG


@pytest.fixture
def client(tmp_path, monkeypatch, quick_store):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return open_client(tmp_path)


def state_of(tag):
    """The state of a saved view, as MLflow's interface reads it."""
    kind, _, content = json.loads(tag)["state"].partition(";")
    assert kind == "deflate"
    return json.loads(zlib.decompress(base64.b64decode(content)))


def test_an_experiment_has_a_kind_a_description_and_two_views(client, tmp_path):
    experiment = describe_experiment(client, "sample", tmp_path)
    tags = client.get_experiment(experiment).tags
    assert tags["mlflow.experimentKind"] == "custom_model_development"
    assert (
        f"#/experiments/{experiment}/runs?workflowType=machine_learning&viewStateShareKey={TRIALS}"
        in (tags["mlflow.note.content"])
    )
    trials, charts = (state_of(tags[f"{TAG}{key}"]) for key in (TRIALS, CHARTS))
    assert trials["searchFilter"] == charts["searchFilter"] == "tags.kind = 'trial'"
    assert {"metrics.`score`", "metrics.`seconds`", "tags.`reader`", "tags.`seed`"} <= set(trials["selectedColumns"])
    assert charts["groupBy"]["groupByKeys"] == [{"mode": "tag", "groupByData": "reader"}]
    assert {chart["metricKey"] for chart in charts["compareRunCharts"]} >= {"score", "loss", "held_out"}


def test_what_users_changed_stays_and_a_kind_that_mlflow_guessed_does_not(client, tmp_path):
    experiment = describe_experiment(client, "sample", tmp_path)
    client.set_experiment_tag(experiment, "mlflow.note.content", "Mine")
    client.set_experiment_tag(experiment, "mlflow.experimentKind", "genai_development_inferred")
    describe_experiment(client, "sample", tmp_path)
    tags = client.get_experiment(experiment).tags
    assert tags["mlflow.note.content"] == "Mine"
    assert tags["mlflow.experimentKind"] == "custom_model_development"


def test_the_pages_of_experiments_are_listed_once_there_are_some(client, tmp_path):
    store = f"sqlite:///{tmp_path / 'mlflow.db'}"
    with pytest.raises(CoattendError, match="nothing was tracked yet"):
        list(experiment_pages(store))
    experiment = describe_experiment(client, "sample", tmp_path)
    ((name, page),) = experiment_pages(store)
    assert name == "sample"
    assert page.startswith(f"#/experiments/{experiment}/runs?workflowType=machine_learning")


ROW = {"passage": "Mary slept. John left.", "question": "Who slept?", "options": ["Mary", "John"]}
OPENED_MLFLOW = {"mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": "true", "mlflow.assistant.panelOpen_v1": "false"}
"""What MLflow's interface remembers of who has opened it before, and has closed what it offered."""


@pytest.fixture
def sample_client(trained_sample, run_trained):
    yield MlflowClient("sqlite:///mlflow.db")
    mlflow.set_tracking_uri(None)


@pytest.fixture
def sample_experiment(sample_client):
    return sample_client.get_experiment_by_name("sample")


@pytest.fixture
def scores(trained_sample):
    """The score that counts of each reader, from the files that evaluation wrote, the best first."""
    files = (trained_sample / "data/test/07_model_output/sample").glob("*/metrics.json")
    metrics = {file.parent.name: json.loads(file.read_text()) for file in files}
    by_reader = {
        name: content["splits"]["dev"]["all"][METRICS[content["task"]][-1]]["mean"] for name, content in metrics.items()
    }
    return dict(sorted(by_reader.items(), key=lambda entry: -entry[1]))


def answer_of(code, row):
    """The answer of the reader that three lines load."""
    lines = code.splitlines()
    assert len(lines) == 3
    namespace = {}
    exec(code, namespace)
    (answer,) = namespace["reader"].predict([row])
    return answer


def test_the_best_reader_is_the_first_of_the_list_and_three_lines_of_it_load_it(
    sample_client, sample_experiment, scores, predict
):
    trials, charts = (state_of(sample_experiment.tags[f"{TAG}{key}"]) for key in (TRIALS, CHARTS))
    order = f"{trials['orderByKey']} {'ASC' if trials['orderByAsc'] else 'DESC'}"
    found = sample_client.search_runs([sample_experiment.experiment_id], trials["searchFilter"], order_by=[order])
    assert [run.data.tags["reader"] for run in found] == list(scores)
    assert [run.data.metrics["score"] for run in found] == pytest.approx(list(scores.values()), abs=0.01)
    # Every run has what the columns and the charts show.
    for run in found:
        for kind, name in re.findall(r"(tags|metrics)\.`(\w+)`", " ".join(trials["selectedColumns"])):
            assert name in getattr(run.data, kind)
        for chart in charts["compareRunCharts"]:
            points = sample_client.get_metric_history(run.info.run_id, chart["metricKey"])
            # Of spans no loss on held-out questions is computed.
            expected = 0 if (run.data.tags["task"], chart["metricKey"]) == ("span", "held_out_loss") else 1
            assert len(points) >= (2 * expected if chart["type"] == "LINE" else expected)
    best = found[0]
    (code,) = re.findall(r"```python\n(.*?)\n```", best.data.tags["mlflow.note.content"], re.DOTALL)
    (expected,) = predict(best.info.run_id, [ROW], "best")
    answer = answer_of(code, ROW)
    assert answer == {name: expected[name] for name in answer}


@pytest.mark.slow
def test_a_person_finds_the_best_reader_sees_why_and_copies_what_loads_it(sample_experiment, scores, runs, predict):
    if browser.find_browser() is None:
        pytest.skip("no Chromium is installed")
    port, best = free_port(), next(iter(scores))
    address, store = f"http://127.0.0.1:{port}/", "sqlite:///mlflow.db"
    command = ["mlflow", "ui", "--host", "127.0.0.1", "--port", str(port), "--backend-store-uri", store]
    list_page, charts_page = (view_address(sample_experiment.experiment_id, key) for key in (TRIALS, CHARTS))
    with servers.serving([*command, "--workers", "1"], address), browser.opened() as page:

        def wait_for(script):
            return page.wait_for(script, seconds=300)

        page.open(f"{address}version")
        wait_for("location.pathname === '/version' && document.readyState === 'complete'")
        page.run(f"Object.entries({json.dumps(OPENED_MLFLOW)}).forEach(entry => localStorage.setItem(...entry))")
        page.open(f"{address}{charts_page}")
        wait_for("document.body.innerText.includes('Scores and curves') && document.querySelector('svg.main-svg')")
        titles = [
            chart["metricKey"] for chart in state_of(sample_experiment.tags[f"{TAG}{CHARTS}"])["compareRunCharts"]
        ]
        wait_for(f"{json.dumps(titles)}.every(title => document.body.innerText.includes(`\\n${{title}}\\n`))")
        page.open(f"{address}{list_page}")
        rows = "[...document.querySelectorAll('[row-index] a[href*=\"/runs/\"]')]"
        wait_for(f"{rows}.length === {len(scores)}")
        listed = page.run(f"{rows}.map(a => [Number(a.closest('[row-index]').getAttribute('row-index')), a.innerText])")
        assert [name for _, name in sorted(listed)] == [f"{reader} seed 0" for reader in scores]
        page.run(f"{rows}.find(a => a.innerText === '{best} seed 0').click()")
        code = wait_for("document.querySelector('pre')?.innerText")
        page.run("location.hash = `${location.hash.split('?')[0]}/artifacts`")
        wait_for("['metrics.json', 'index.html', 'predictions.json'].every(t => document.body.innerText.includes(t))")
    (expected,) = predict(runs[best], [ROW], "copied")
    answer = answer_of(code, ROW)
    assert answer == {name: expected[name] for name in answer}
