"""A reader that is trained on one benchmark and asked the questions of another."""

import json
import re
import shutil
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from kedro.runner import ThreadRunner
from mlflow import MlflowClient

TRAINING = {"epochs": 1, "learning_rate": 1e-3, "max_length": 64}
STUDY = f"""\
paper: {{ title: Elsewhere, authors: [A. Nobody], year: 2022, venue: none, key: nobody2022 }}
studies:
  elsewhere:
    title: What custom questions teach about the sample
    source: Elsewhere, table 1
    benchmarks: [sample, custom]
    seeds: [0]
    training: {{ custom: {json.dumps(TRAINING)} }}
    base: {{ reader: plain, head: options, training: {{ train_on: {{ custom: [] }} }} }}
    baseline: plain
    variants:
      plain: {{ title: Baseline }}
    shows: [parameters, curve]
"""


@pytest.mark.slow
def test_one_trial_answers_two_benchmarks_that_ask_for_it_at_once(write_study, custom_questions, kedro_run, project):
    folder = write_study(STUDY)
    kedro_run("study_mine_elsewhere", runner=ThreadRunner())
    results = folder / "08_reporting" / "studies" / "mine_elsewhere"
    findings = json.loads((results / "findings.json").read_text())
    (sample_trial,), (custom_trial,) = (findings["trials"][benchmark]["plain"] for benchmark in ("sample", "custom"))
    assert sample_trial == custom_trial
    assert findings["trained_on"] == {"sample": {"plain": "custom"}, "custom": {}}
    assert {row["benchmark"] for row in findings["rows"]} == {"sample", "custom"}
    costs = json.loads((results / "costs.json").read_text())["costs"]
    assert sorted(costs[benchmark]["plain"]["trials"] for benchmark in costs) == [0, 1]
    assert all(costs[benchmark]["plain"]["seconds"] > 0 for benchmark in costs)

    page = next(results.glob("*.html")).read_text()
    assert re.findall(r"Training on (\w+)<", page) == ["custom"]
    costs_of = page.partition("What variants cost")[2].partition("</section>")[0]
    assert set(re.findall(r"(custom|sample), ", costs_of)) == {"custom"}

    (trial,) = (folder / "06_models" / "trials").glob("*/trial.json")
    content = json.loads(trial.read_text())
    assert content["benchmark"] == "custom"
    assert content["training"].items() >= TRAINING.items()

    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("study_mine_elsewhere").experiment_id
    (run,) = client.search_runs([experiment], "tags.kind = 'trial'")
    assert run.data.tags["benchmark"] == "custom"
    scores = {(row["benchmark"], row["split"]): row["mean"] for row in findings["rows"] if row["group"] == "all"}
    assert run.data.metrics["dev.accuracy"] == scores["custom", "dev"]
    assert run.data.metrics["sample.dev.accuracy"] == scores["sample", "dev"]

    # It is what the benchmark's own pipeline trains.
    kedro_run("training", "custom.plain", benchmarks={"custom": {"training": TRAINING}})
    assert list((folder / "06_models" / "trials").glob("*/trial.json")) == [trial]


@pytest.mark.slow
def test_a_card_tells_the_licence_of_what_its_reader_began_with(
    custom_questions, kedro_run, project, sample_tables, monkeypatch
):
    monkeypatch.setenv("COATTEND_GIT_SHA", "abc123")
    shutil.copytree(sample_tables, project / "data" / "test")
    research = {"sample": {"licence": "For non-commercial research only."}}
    training = {"training": TRAINING | {"max_questions": 24}}
    kedro_run("training", "sample.plain", benchmarks={"sample": research["sample"] | training})
    (first,) = (project / "data/test/06_models/trials").iterdir()
    benchmarks = research | {"custom": {"training": TRAINING | {"start_from": first.name}}}
    kedro_run("ingestion,tagging,tokenization", "custom")
    kedro_run("training,evaluation", "custom.plain", benchmarks=benchmarks, tracking={"models": True})
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    (model,) = client.search_logged_models([client.get_experiment_by_name("custom").experiment_id])
    (parent,) = client.search_runs([model.experiment_id], "tags.kind = 'kedro run'")
    assert parent.data.tags["data_hash"] == client.get_run(model.source_run_id).data.tags["data_hash"]
    text = Path(model.artifact_location.removeprefix("file://"), "README.md").read_text()
    for phrase in (
        f"It began with the trial `{first.name}`",
        f": {research['sample']['licence']}\n",
        "research only: a",
    ):
        assert phrase in text
    assert research["sample"]["licence"] in model.tags["licence"]
    kedro_run("share", share={"model": model.tags["trial_id"]}, benchmarks=benchmarks)
    (shared,) = (project / "data/test/07_model_output/shared").glob("*/README.md")
    assert "commit abc123" in shared.read_text()
    data = ModelCard.load(shared).data
    assert (data.license, data.license_name) == ("other", "data-of-sample")
