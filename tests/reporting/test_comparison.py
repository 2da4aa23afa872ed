"""The comparison as data."""

import json

from coattend.pipelines.reporting.nodes import compare


def test_it_is_json(compared):
    results = compared[0]
    assert json.loads(json.dumps(results, allow_nan=False)) == results


def test_every_reader_has_its_status(compared):
    statuses = {name: entry["status"] for name, entry in compared[0]["readers"].items()}
    assert statuses == {
        "poi_net": "scored",
        "plain": "scored",
        "plain_span": "scored",
        "poi_net_span": "scored",
        "broken": "failed",
        "duma": "not run",
    }
    assert compared[0]["readers"]["duma"]["metrics"] is None


def test_plain_is_the_baseline_of_its_task(compared):
    assert compared[0]["baselines"] == {"options": "plain", "span": "plain_span"}


def test_chance_is_one_option_at_random_or_no_answer_to_all(compared):
    chance = compared[0]["chance"]
    assert chance["options"] == {"dev": {"all": 25}, "test": {"all": 25}}
    assert chance["span"] == {"dev": {"all": 25}}


def test_readers_are_tested_against_their_baseline(compared):
    found = {(d["reader"], d["split"], d["metric"]): d for d in compared[0]["differences"]}
    assert set(found) == {
        ("poi_net", "dev", "accuracy"),
        ("poi_net", "test", "accuracy"),
        ("poi_net_span", "dev", "exact"),
        ("poi_net_span", "dev", "f1"),
    }
    better = found["poi_net", "dev", "accuracy"]
    assert better["low"] > 0
    assert better["p"] < 0.01
    assert better["mcnemar_p"] is None, "there are two seeds"
    assert 0 < found["poi_net_span", "dev", "exact"]["mcnemar_p"] <= 1


def test_without_predictions_there_is_no_test(inputs, benchmark_parameters):
    results = compare(benchmark_parameters, **(inputs | {"plain.predictions": None}))[0]
    assert {d["reader"] for d in results["differences"]} == {"poi_net_span"}


def test_without_plain_the_first_reader_that_was_run_is_the_baseline(inputs, benchmark_parameters):
    absent = {"plain.metrics": None, "plain.predictions": None}
    assert compare(benchmark_parameters, **(inputs | absent))[0]["baselines"]["options"] == "poi_net"


def test_rejected_records_are_counted(compared):
    rejected = compared[0]["rejected"]
    assert rejected["records"] == 3
    assert list(rejected["reasons"].values()) == [3]
