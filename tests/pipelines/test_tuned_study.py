"""A study whose variants are tuned first, from its file to its page."""

import json

import pytest
from mlflow import MlflowClient

STUDY = """\
paper: { title: Turns, authors: [A. Nobody], year: 2022, venue: none, key: nobody2022 }
studies:
  turns:
    title: Whether turns matter
    source: Turns, table 1
    benchmarks: [sample]
    seeds: [0, 1]
    search:
      trials: 2
      space: { learning_rate: { low: 1.0e-5, high: 1.0e-3, log: true }, epochs: { choices: [0.5, 1] } }
    base: { reader: poi_net, head: options }
    baseline: plain
    variants:
      plain: { title: Baseline, change: { reader: plain } }
      poi_net: { title: POI-Net }
"""


@pytest.mark.slow
def test_every_variant_is_tuned_by_as_many_trials_before_its_seeds_are_trained(study, kedro_run, project):
    folder = study(STUDY)
    kedro_run("study_mine_turns", study={"processes": 1})
    costs = json.loads((folder / "costs.json").read_text())["costs"]["sample"]
    assert {name: cost["trials"] for name, cost in costs.items()} == {"plain": 2 + 1, "poi_net": 2 + 1}
    findings = json.loads((folder / "findings.json").read_text())
    searches, trials = findings["searches"]["sample"], findings["trials"]["sample"]
    assert searches.keys() == {"plain", "poi_net"}
    tried = [[attempt["values"] for attempt in search["tried"]] for search in searches.values()]
    assert tried[0] == tried[1]
    assert tried[0][0] == {"epochs": 1.0, "learning_rate": 8e-5}
    assert len(tried[0]) == 2
    store = folder.parents[2] / "06_models/trials"
    assert len(list(store.glob("*/outcome.json"))) == 2 * (2 + 1)
    for name, search in searches.items():
        best = search["tried"][search["chosen"]]
        assert best["held_out"] == max(attempt["held_out"] for attempt in search["tried"])
        assert [seed_trial["seed"] for seed_trial in trials[name]] == [0, 1]
        assert trials[name][0]["trial_id"] == best["trial_id"]
        assert all(best["values"].items() <= seed_trial["training"].items() for seed_trial in trials[name])

    page = (folder / "table.md").read_text()
    _, _, tuned = page.partition("## How training was tuned")
    assert "2 configurations" in tuned
    assert "0.5, 1" in tuned
    for name, search in searches.items():
        row = next(line for line in tuned.splitlines() if line.startswith(f"| {findings['variants'][name]['title']} |"))
        scores = [search["tried"][index]["held_out"] for index in (search["chosen"], 0)]
        assert all(f"| {100 * score:.1f} |" in row for score in scores)
        assert row.endswith("| 2 |")

    # What was tried and not taken is never asked the questions that are scored.
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("study_mine_turns").experiment_id
    scored = {
        run.data.tags["trial_id"]: "dev.accuracy" in run.data.metrics
        for run in client.search_runs([experiment], "tags.kind = 'trial'")
    }
    seed_trial_ids = {seed_trial["trial_id"] for of_variant in trials.values() for seed_trial in of_variant}
    assert {trial for trial, count in scored.items() if count} == seed_trial_ids
    assert len(scored) == 2 * (2 + 1)
    for trial in scored.keys() - seed_trial_ids:
        assert not list((store / trial).glob("predictions-*"))
