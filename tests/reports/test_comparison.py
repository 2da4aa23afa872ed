"""The comparison of readers as data."""

import json

import pytest
from compared import compare


def test_every_reader_has_a_status_and_every_task_a_baseline(results):
    assert {name: entry["status"] for name, entry in results["readers"].items()} == {
        "poi_net": "scored",
        "plain": "scored",
        "plain_span": "scored",
        "poi_net_span": "scored",
        "broken": "failed",
        "duma": "not run",
    }
    assert results["readers"]["duma"]["metrics"] is None
    assert results["baselines"] == {"options": "plain", "span": "plain_span"}
    assert results["rejected"]["records"] == 3
    assert list(results["rejected"]["reasons"].values()) == [3]
    assert json.loads(json.dumps(results, allow_nan=False)) == results


def test_chance_is_one_option_at_random_or_no_answer_to_all(results):
    assert results["chance"]["options"] == {"dev": {"all": 25}, "test": {"all": 25}}
    assert results["chance"]["span"] == {"dev": {"all": 25}}


def test_readers_are_tested_against_their_baseline(results):
    differences = {(d["reader"], d["split"], d["metric"]): d for d in results["differences"]}
    assert set(differences) == {
        ("poi_net", "dev", "accuracy"),
        ("poi_net", "test", "accuracy"),
        ("poi_net_span", "dev", "exact"),
        ("poi_net_span", "dev", "f1"),
    }
    better = differences["poi_net", "dev", "accuracy"]
    assert better["mean"] > 0
    assert better["p_corrected"] == better["p"], "there is one comparison"
    assert [better["over_seeds"], differences["poi_net_span", "dev", "f1"]["over_seeds"]] == [True, False]
    assert better["mcnemar_p"] is None, "there are two seeds"
    assert differences["poi_net_span", "dev", "exact"]["mcnemar_p"] is None, "questions share their passages"


def test_p_values_are_corrected_for_the_number_of_readers(node_inputs, benchmark_parameters):
    """Holm: where two readers have the same p value, each counts twice."""
    second = {f"again.{part}": node_inputs[f"poi_net.{part}"] for part in ("metrics", "predictions")}
    for difference in compare(benchmark_parameters, **(node_inputs | second))[0]["differences"]:
        times = 2 if difference["task"] == "options" else 1
        assert difference["p_corrected"] == pytest.approx(min(1, times * difference["p"]))


def test_without_predictions_there_is_no_test(node_inputs, benchmark_parameters):
    results = compare(benchmark_parameters, **(node_inputs | {"plain.predictions": None}))[0]
    assert {difference["reader"] for difference in results["differences"]} == {"poi_net_span"}


def test_without_plain_the_first_reader_that_was_run_is_the_baseline(node_inputs, benchmark_parameters):
    not_run = {"plain.metrics": None, "plain.predictions": None}
    assert compare(benchmark_parameters, **(node_inputs | not_run))[0]["baselines"]["options"] == "poi_net"
