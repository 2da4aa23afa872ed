"""The figures: complete, and told apart without colour."""

import copy

import pytest

from coattend.reports import benchmark
from coattend.reports.comparison import scored_readers
from coattend.reports.figures import dot_plot, risk_coverage_curves, trace_style, training_curves
from coattend.reports.sections import curve_text


@pytest.fixture(scope="module")
def chart(node_outputs):
    return node_outputs[3]


def trials_of(results):
    return {name: metrics["trials"] for name, metrics in scored_readers(results, "options").items()}


def test_each_reader_has_a_dot_with_its_interval(chart, results):
    dev = next(trace for trace in chart.data if trace.name == "dev")
    metric = results["readers"]["plain"]["metrics"]["splits"]["dev"]["all"]["accuracy"]
    index = [name for name, *_ in dev.customdata].index("plain")
    assert dev.x[index] == metric["mean"]
    assert dev.x[index] - dev.error_x.arrayminus[index] == metric["low"]
    assert dev.x[index] + dev.error_x.array[index] == metric["high"]
    assert dev.customdata[index][1] == f"[{metric['low']:.1f}, {metric['high']:.1f}]"


def test_a_reader_without_an_interval_shows_none(results):
    scored = copy.deepcopy(results)
    for groups in scored["readers"]["plain"]["metrics"]["splits"].values():
        groups["all"]["accuracy"].update(low=None, high=None)
    shown = {name: interval for trace in dot_plot(scored).data for name, interval in trace.customdata or ()}
    assert shown["plain"] == "" and shown["poi_net"].startswith("[")


def test_the_first_36_series_differ_by_markers_and_lines_alike():
    styles = [trace_style(index) for index in range(36)]
    assert len({(style["marker"]["color"], style["marker"]["symbol"]) for style in styles}) == 36
    assert len({(style["line"]["color"], style["line"]["dash"]) for style in styles}) == 36


def test_splits_have_markers_of_their_own_and_chance_is_a_line_in_each_panel(chart):
    assert sorted(trace.name for trace in chart.data if trace.showlegend) == ["dev", "test"]
    markers = {trace.name: trace.marker.symbol for trace in chart.data}
    assert markers["dev"] != markers["test"]
    lines = [shape for shape in chart.layout.shapes if shape.type == "line"]
    assert {(line.x0, line.x1) for line in lines} == {(25, 25)}
    assert len(lines) == 3


def test_curves_have_a_line_for_each_seed_and_panel_and_a_marker_for_each_reader(results):
    lines = training_curves(trials_of(results), "options").data
    assert len(lines) == 2 * 2 * 2
    assert len({trace.marker.symbol for trace in lines}) == 2
    assert {tuple(line.y) for line in lines} == {(1.0,), (40.0,)}


@pytest.mark.parametrize(
    ("selections", "named"),
    [
        (["held_out", "held_out"], "held-out questions"),
        (["dev", "dev"], "dev"),
        (["held_out", "dev"], "held-out questions or dev"),
        ([None, None], "held-out questions"),  # As in records of early versions.
    ],
)
def test_curves_name_the_questions_that_checkpoints_were_chosen_on(results, selections, named):
    plain, poi_net = trials_of(results).values()
    trials = {
        name: [trial | {"selection": selection} for trial in trials]
        for name, trials, selection in zip(("plain", "poi_net"), (plain, poi_net), selections, strict=True)
    }
    titles = [annotation.text for annotation in training_curves(trials, "options").layout.annotations]
    assert titles == ["Training loss", f"Accuracy on {named}"]
    text = curve_text([*trials["plain"], *trials["poi_net"]])
    assert f"Scores are those of {named}, on which checkpoints were chosen." in text
    assert ("training set" in text) == ("held-out" in named)


def test_names_are_escaped(results):
    hostile = "<b>reader</b>"
    renamed = results | {"readers": {hostile: results["readers"]["plain"]}, "baselines": {"options": hostile}}
    for figure in (dot_plot(renamed), training_curves(trials_of(renamed), "options")):
        assert hostile not in figure.to_json()


def test_risk_ends_at_the_error_rate_of_all_questions(results):
    figure = risk_coverage_curves(benchmark.calibrations(results, "options"))
    assert [line.name for line in figure.data if line.showlegend] == ["plain", "poi_net"]
    assert len(figure.data) == 4
    for line in figure.data[:2]:
        accuracy = results["readers"][line.name]["metrics"]["splits"]["dev"]["all"]["accuracy"]["mean"]
        assert line.x[-1] == 100
        assert line.y[-1] == pytest.approx(100 - accuracy, abs=1e-3)
