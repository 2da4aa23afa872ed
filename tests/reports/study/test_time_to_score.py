"""The time to a score: the first evaluation that reaches a threshold which all later ones hold, and the leaderboard."""

import pytest
from example_study import SEEDS, findings_of, record_study, study

from coattend.reports.render import markdown_page
from coattend.reports.study.leaderboard import leaderboard_page, leaderboard_rows, merged
from coattend.reports.study.time_to_score import reached, time_sections


def curve(*scores, timed=True, pace=1.0):
    """A curve with an evaluation every ten steps, which take ten seconds, and a loss in between."""
    points = []
    for number, score in enumerate(scores, 1):
        point = {"step": 10 * number, "held_out": score, "loss": None}
        if timed:
            point |= {"seconds": 10 * pace * number, "processor_seconds": 18 * pace * number}
        points += [{"step": 10 * number - 5, "held_out": None, "loss": 1.0, "seconds": 1e9}, point]
    return points


@pytest.mark.parametrize(
    ("scores", "step"),
    [
        ([0.3, 0.5, 0.6], 20),
        ([0.5, 0.4, 0.5], 30),
        ([0.3, 0.5, 0.4], None),
        ([0.6, 0.6], 10),
        ([0.499], None),
        ([], None),
    ],
)
def test_a_score_is_reached_where_all_later_evaluations_hold_it(scores, step):
    point = reached(curve(*scores), 50.0)
    assert (point and point["step"]) == step


CHANGES = {"benchmarks": ("exams",), "thresholds": {"exams": 50.0}}


@pytest.fixture
def timed():
    """Findings of a study whose variants have curves of their own, by seed."""

    def findings(by_variant, **changes):
        found = findings_of(study("time_to_score", **{**CHANGES, **changes}))
        for variant, curves in by_variant.items():
            trials = found["trials"]["exams"][variant]
            del trials[len(curves) :]
            for trial, points in zip(trials, curves, strict=True):
                trial["curve"] = points
        return found

    return findings


def page_of(findings):
    return markdown_page("Times", time_sections(findings))


def test_the_page_has_the_seconds_of_each_seed_and_how_many_times_as_fast_a_variant_is(timed):
    slow, fast = [curve(0.4, 0.4, 0.5, 0.6)] * 2, [curve(0.6, 0.6), curve(0.4, 0.6, pace=0.5)]
    page = page_of(timed({"plain": slow, "poi_net": fast}))
    assert "Threshold: 50 % of the held-out questions." in page
    assert "| Baseline | 30 (processor 54; step 30 of 40) | 30 (processor 54; step 30 of 40) |" in page
    assert "| POI-Net | 10 (processor 18; step 10 of 20) | 10 (processor 18; step 20 of 20) |" in page
    assert "| POI-Net | Baseline | 3.0 x [3.0, 3.0] |" in page


def test_times_of_two_machines_are_not_compared(timed):
    findings = timed({"plain": [curve(0.4, 0.6)] * 2, "poi_net": [curve(0.6)] * 2})
    for trial in findings["trials"]["exams"]["poi_net"][1:]:
        trial["device"] = "another processor"
    assert "| POI-Net | Baseline | 2.0 x (one seed) |" in page_of(findings)
    findings["trials"]["exams"]["poi_net"][0]["device"] = "another processor"
    page = page_of(findings)
    assert "| POI-Net | 10 (processor 18; step 10 of 10) |" in page
    assert "Times as fast" not in page


def test_there_is_no_number_where_a_threshold_is_not_reached_not_set_or_not_timed(timed):
    never = [curve(0.4, 0.6), curve(0.6, 0.49)]
    page = page_of(timed({"plain": never, "poi_net": [curve(0.6)] * 2}))
    assert "| Baseline | 20 (processor 36; step 20 of 20) | not reached (best 60.0 %) |" in page
    assert "| Baseline | POI-Net | not reached |" in page
    assert " x" not in page.partition("How many times as fast")[2]
    one = page_of(timed({"plain": [curve(0.6)], "poi_net": [curve(0.4, 0.6), curve(0.4)]}))
    assert "| Baseline | POI-Net | not reached |" in one, "of the variants' trials, not only those of shared seeds"
    page = page_of(timed({"plain": [curve(0.6, timed=False)] * 2, "poi_net": [curve(0.6)] * 2}))
    assert "| Baseline | not timed (step 10 of 10)" in page
    assert "Times as fast" not in page
    assert "No threshold is set: thresholds.exams" in page_of(timed({}, thresholds={}))


def row(**changes):
    values = {"benchmark": "dream", "study": "s", "variant": "plain", "title": "Baseline", "threshold": 50.0}
    values |= {"date": "2026-11-25", "commit": "0123456789", "machine": "EPYC, 2 threads", "peak_memory_mib": 2000.0}
    values |= {"seconds": {"0": 600.0, "1": 660.0, "2": 540.0}, "processor_seconds": dict.fromkeys("012", 1200.0)}
    return values | {"score": 51.2} | changes


def test_a_new_row_replaces_that_of_the_same_machine_and_commit_and_the_fastest_comes_first():
    before = [row(), row(machine="Xeon, 2 threads"), row(variant="never", seconds={"0": 1.0, "1": None})]
    rows = merged(before, [row(seconds=dict.fromkeys("012", 300.0)), row(commit="fedcba9876-dirty")])
    assert [(entry["variant"], entry["machine"][:4], entry["seconds"]["0"]) for entry in rows] == [
        ("plain", "EPYC", 300.0),
        ("plain", "Xeon", 600.0),
        ("plain", "EPYC", 600.0),
        ("never", "EPYC", 1.0),
    ]
    longer = row(title="Baseline, twice", machine="Xeon, 2 threads")
    assert len(merged(rows, [longer])) == len(rows) + 1, "another configuration of the same variant"
    page = leaderboard_page(rows)
    assert "**dream, to 50 % of the held-out questions**" in page
    assert (
        "| Baseline | 10.0 (seed 0: 10.0, seed 1: 11.0, seed 2: 9.0) | 20.0 | 2.1 | 51.2 | Xeon, 2 threads | 01234567 "
        "| 2026-11-25 |" in page
    )
    assert "| not reached (seed 0: 0.02, seed 1: not reached) |" in page, "a second, in minutes"
    assert "fedcba98 with changes" in page
    assert "Nothing was timed yet." in leaderboard_page([])


def test_rows_come_from_records(tmp_path):
    parameters = study("time_to_score", thresholds={"exams": 50.0})
    findings, records = record_study(parameters, tmp_path, curve=curve(0.4, 0.6))
    rows = leaderboard_rows(records)
    assert {(entry["benchmark"], entry["variant"]) for entry in rows} == {("exams", "plain"), ("exams", "poi_net")}
    assert all(entry["seconds"] == {str(seed): 20.0 for seed in SEEDS} for entry in rows)
    whole = [score for score in findings["rows"] if (score["metric"], score["group"]) == ("accuracy", "all")]
    assert {entry["variant"]: entry["score"] for entry in rows} == {score["variant"]: score["mean"] for score in whole}
    assert {entry["commit"] for entry in rows} == {"abcdef123"}
    _, records = record_study(parameters, tmp_path, curve=curve(0.6, timed=False))
    assert not leaderboard_rows(records)
