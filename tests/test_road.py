"""From raw text to a compared, tracked reader, on a tiny sample."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient
from transformers import AutoTokenizer

from coattend.errors import CoattendError
from coattend.readers.encoders.pretrained import encoder_folder

DATA = "ingestion,tagging,tokenization"
NAMES = list(enumerate(("Mary", "John", "Ann", "Tom", "Eve", "Sam", "Ida", "Leo")))
ROAD = {"plain": "options", "poi_net_span": "span"}
ONE = {"layers": 1}


@pytest.fixture
def results(project) -> Path:
    return project / "data" / "test"


def trials(results):
    return sorted(path.parent.name for path in (results / "06_models" / "trials").glob("*/outcome.json"))


def written(results):
    return {path: path.stat().st_mtime_ns for path in (results / "06_models" / "trials").rglob("model.safetensors")}


def client(project):
    return MlflowClient(f"sqlite:///{project / 'mlflow.db'}")


def runs(project, query=""):
    experiments = [experiment.experiment_id for experiment in client(project).search_experiments()]
    return client(project).search_runs(experiments, query)


def test_the_whole_road(run_minilm, project_of_minilm):
    """With the real encoder: options and spans."""
    project, results = project_of_minilm, project_of_minilm / "data" / "test"
    run_minilm(DATA, "sample")
    quick = {"readers": {"poi_net_span": {"training": {"epochs": 1}}}, "encoders": {"minilm": ONE, "minilm_4": ONE}}
    run_minilm("training,evaluation", ",".join(f"sample.{name}" for name in ROAD), **quick)
    run_minilm("reporting", "sample")

    questions = pq.read_table(results / "02_intermediate/sample/questions.parquet").to_pylist()
    for reader, task in ROAD.items():
        predictions = pq.read_table(results / f"07_model_output/sample/{reader}/predictions.parquet")
        question_ids = {q["question_id"] for q in questions if q["task"] == task and q["split"] == "dev"}
        assert set(predictions.column("question_id").to_pylist()) == question_ids
    metrics = json.loads((results / "07_model_output/sample/plain/metrics.json").read_text())
    accuracy = metrics["splits"]["dev"]["all"]["accuracy"]
    assert 0 <= accuracy["low"] <= accuracy["mean"] <= accuracy["high"] <= 100
    page = (results / "08_reporting/sample/index.html").read_text()
    assert "poi_net_span" in page
    assert "not run" in page
    assert metrics["trials"][0]["tagger"] in page
    assert metrics["benchmark_version"] == metrics["trials"][0]["benchmark_version"] == 1
    assert metrics["trials"][0]["device"].startswith(metrics["trials"][0]["processor"])
    assert metrics["trials"][0]["threads"] >= 1

    assert {run.info.status for run in runs(project)} == {"FINISHED"}
    children = runs(project, "tags.kind = 'trial'")
    assert {run.data.tags["reader"] for run in children} == ROAD.keys()
    for child in children:
        assert "study" not in child.data.tags
        assert child.data.tags["mlflow.parentRunId"] in {run.info.run_id for run in runs(project)}
        assert child.data.tags["trial_id"] in trials(results)
        assert {"seconds", "held_out", "loss"} <= set(child.data.metrics)
        assert {"training.learning_rate", "head", "encoder"} <= set(child.data.params)
        attached = {file.path for file in client(project).list_artifacts(child.info.run_id) if not file.is_dir}
        assert attached == {"index.html", "metrics.json", "predictions.json", "predictions.parquet"}
    plain = next(run for run in children if run.data.tags["reader"] == "plain")
    assert plain.data.metrics["dev.accuracy"] == pytest.approx(accuracy["mean"])


def test_only_what_changed_is_trained(kedro_run, results, sample_project):
    kedro_run("training", "sample.plain")
    first, before = trials(results), written(results)
    assert np.float64(5e-324) * np.float64(1) > 0, "training changed the smallest numbers of this process"
    kedro_run("training", "sample.plain")
    assert written(results) == before
    kedro_run("training", "sample.plain", readers={"plain": {"training": {"learning_rate": 1e-3}}})
    assert set(first) < set(trials(results))
    assert len(trials(results)) == 2
    # A part of the questions.
    kedro_run("training,evaluation", "sample.plain", readers={"plain": {"training": {"reads": "shuffled_passage"}}})
    assert len(trials(results)) == 3
    assert {path: time for path, time in written(results).items() if path in before} == before


def test_the_same_seed_learns_the_same(kedro_run, results, sample_project):
    kedro_run("training,evaluation", "sample.poi_net")
    table = results / "07_model_output/sample/poi_net/predictions.parquet"
    first = pq.read_table(table)
    (results / "06_models" / "trials").rename(sample_project / "elsewhere")
    kedro_run("training,evaluation", "sample.poi_net")
    assert pq.read_table(table).equals(first)


def test_a_failed_trial_says_why_and_leaves_nothing_running(kedro_run, sample_project, results):
    with pytest.raises(CoattendError, match="loss became"):
        kedro_run("training", "sample.plain", readers={"plain": {"training": {"learning_rate": 1e30}}})
    assert len(list((results / "06_models" / "trials").glob("*/failure.json"))) == 1
    assert not trials(results)
    assert {run.info.status for run in runs(sample_project)} == {"FAILED"}


def test_data_stages_leave_no_run(sample_tables):
    project = sample_tables.parents[1]
    assert (project / "conf").is_dir()
    assert not (project / "mlflow.db").exists()


def on_dream(train_on):
    changed = {"benchmarks": {"dream": {"training": {"train_on": train_on}}}}
    return {"pipelines": "training", "namespaces": "dream.poi_net", **changed}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pipelines": "training", "readers": {"poinet": {"turns": 5}}}, "Did you mean 'poi_net'"),
        ({"pipelines": "training", "namespaces": "sample.poi_net", "readers": {"poi_net": {"turn": 5}}}, "turns"),
        ({"pipelines": "training", "namespaces": "sample.plain", "readers": {"plain": {"training": {"lr": 1}}}}, "lr"),
        (on_dream({"dream": [], "raec": []}), r"dream.poi_net.train, training.train_on: .*Did you mean 'race'"),
        (on_dream({"dream": [], "race": []}), "names 'race', whose questions are not read here. A study trains on"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_right_one(kedro_run, project, arguments, message):
    with pytest.raises(CoattendError, match=message):
        kedro_run(**arguments)
    assert not (project / "mlflow.db").exists()


@pytest.mark.slow
def test_a_node_alone_is_found_in_whichever_pipeline_has_it(kedro, project):
    (project / "raw").mkdir()
    completed = kedro(
        "run", "--nodes", "dream.ingest", "--env", "test", environment={"COATTEND_RAW": str(project / "raw")}
    )
    assert completed.returncode == 1
    assert "dream.ingest (1 of 1)" in completed.stdout + completed.stderr
    assert "train.json" in completed.stderr


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"readers": {"plain": {"encoder": "albert"}}}, "readers.plain.encoder.*built for 'minilm_4'"),
        ({"readers": {"plain": {"tagging": "nltk_extended"}}}, "readers.plain.tagging.*built for 'nltk_penn'"),
        ({"encoders": {"minilm_4": {"tokenizer": "albert"}}}, "encoders.minilm_4.tokenizer.*built for 'minilm'"),
    ],
)
def test_what_decides_about_tables_cannot_be_changed_for_one_run(kedro_run, params, message):
    with pytest.raises(CoattendError, match=message):
        kedro_run("training", "sample.plain", **params)


def test_an_encoder_does_not_read_another_tokenizers_tokens(kedro_run, tmp_path, sample_project):
    folder = tmp_path / "other"
    AutoTokenizer.from_pretrained(encoder_folder("embedded")).train_new_from_iterator(
        ["a few other words"], vocab_size=60
    ).save_pretrained(folder)
    with pytest.raises(CoattendError, match=r"another tokenizer than the stored tokens.*profile of its own"):
        kedro_run("training", "sample.plain", encoders={"minilm_4": {"source": str(folder)}})
    # Tokens that another run stored under the same name.
    kedro_run("tokenization", "sample", tokenizers={"minilm": {"source": str(folder)}})
    with pytest.raises(CoattendError, match=r"another tokenizer than the stored tokens.*tokenization again"):
        kedro_run("training", "sample.plain", encoders={"minilm_4": {"source": "embedded"}})


def test_sequences_that_the_encoder_cannot_read_are_refused_before_training(kedro_run, results, sample_project):
    with pytest.raises(CoattendError, match="encoder reads at most 512"):
        kedro_run("training", "sample.plain", benchmarks={"sample": {"training": {"max_length": 1024}}})


def test_questions_that_leave_no_room_are_listed(kedro_run, results, sample_project):
    overrides = {"sample": {"training": {"max_length": 18, "epochs": 0.1}}}
    kedro_run("training,evaluation", "sample.plain", benchmarks=overrides)
    table = pq.read_table(results / "07_model_output/sample/plain/rejected_questions.parquet").to_pylist()
    scored = [row for row in table if row["file"] == "sample, scored"]
    assert all("leave no room for a passage in 18" in row["reason"] for row in table)
    metrics = json.loads((results / "07_model_output/sample/plain/metrics.json").read_text())
    assert 0 < metrics["splits"]["dev"]["all"]["missing"] == len(scored)
    assert any(row["file"] == "sample, training" for row in table)
    assert sum(metrics["not_read"].values()) == len(scored)
    assert set(metrics["not_read"]) == {row["reason"] for row in scored}


def test_a_benchmark_without_questions_to_score_says_so(kedro_run):
    subsets = ("dialogues", "exams", "summaries", "rows")
    nothing = {"sample": {"generator": {subset: {"train": 20, "dev": 0} for subset in subsets}}}
    kedro_run(DATA, "sample", benchmarks=nothing)
    kedro_run("training", "sample.plain", benchmarks=nothing)
    with pytest.raises(CoattendError, match="no questions of the task 'options' to score"):
        kedro_run("evaluation", "sample.plain", benchmarks=nothing)


def test_a_misspelt_environment_is_refused_with_the_right_one(kedro_run):
    with pytest.raises(CoattendError, match=r"there is no environment 'quik'\. Did you mean 'quick'\?"):
        kedro_run("ingestion", env="quik")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("local/parameters.yml", "readers: {poinet: {turns: 5}}", "Did you mean 'poi_net'"),
        ("local/parameters.yml", "benchmarks: {dreem: {shards: 5}}", "Did you mean 'dream'"),
        ("base/parameters/benchmarks/mine.yml", "benchmarks: {mine: {title: Mine}}", "mine.yml, tasks"),
    ],
)
def test_a_mistake_in_a_parameter_file_is_refused_with_its_cure(kedro_run, project, file, content, message):
    (project / "conf" / file).write_text(content)
    with pytest.raises(CoattendError, match=message):
        kedro_run("ingestion", "sample", env="local")


def test_a_mistake_in_a_parameter_file_is_one_line(kedro, project):
    (project / "conf" / "base/parameters/benchmarks/mine.yml").write_text("benchmarks: {mine: [}")
    completed = kedro("run", "--pipelines", "ingestion", "--namespaces", "sample")
    assert completed.returncode != 0
    output = " ".join((completed.stdout + completed.stderr).split())
    assert re.search("line 1: is not YAML", output), output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("pipelines", "namespaces", "command"),
    [
        (
            "training",
            "dream.plain",
            "kedro run --env test --pipelines ingestion,tagging,tokenization --namespaces dream",
        ),
        ("tagging", "dream", "kedro run --env test --pipelines ingestion --namespaces dream"),
        (
            "evaluation",
            "race.poi_net",
            "kedro run --env test --pipelines ingestion,tagging,tokenization --namespaces race",
        ),
    ],
)
def test_a_table_that_is_missing_is_told_with_the_command_that_writes_it(
    kedro_run, project, pipelines, namespaces, command
):
    with pytest.raises(CoattendError) as raised:
        kedro_run(pipelines, namespaces)
    assert command in str(raised.value)
    assert not (project / "mlflow.db").exists()


def test_ones_own_files_become_a_compared_page_in_one_command(kedro_run, project, results, monkeypatch):
    monkeypatch.delenv("COATTEND_RAW", raising=False)
    folder = project / "data/01_raw/custom"
    folder.mkdir(parents=True)
    for split, place in (("train", "attic"), ("dev", "cellar")):
        rows = [f"{name} walks to the {place} of house {n} alone.,Who walks?,{name},Zoe,{name}\n" for n, name in NAMES]
        (folder / f"{split}.csv").write_text(f"passage,question,option_1,option_2,answer\n{''.join(rows)}")
    few_steps = {"custom": {"training": {"min_steps": 4}}}
    kedro_run(namespaces="custom.plain,custom.poi_net", benchmarks=few_steps)
    page = (results / "08_reporting/custom/index.html").read_text()
    assert {run.data.tags["reader"] for run in runs(project, "tags.kind = 'trial'")} == {"plain", "poi_net"}
    for reader in ("plain", "poi_net"):
        scored = json.loads((results / f"07_model_output/custom/{reader}/metrics.json").read_text())
        assert scored["splits"]["dev"]["all"]["questions"] == len(NAMES)
        assert reader in page
