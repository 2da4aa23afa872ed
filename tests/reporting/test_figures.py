"""The figures: complete, and told apart without colour."""

from coattend.reporting.figures import curves, dot_plot
from coattend.reporting.tables import scored


def trials_of(results):
    return {name: given["trials"] for name, given in scored(results, "options").items()}


def test_each_reader_has_a_dot_with_its_interval(compared):
    chart = compared[3]
    dev = next(trace for trace in chart.data if trace.name == "dev")
    metric = compared[0]["readers"]["plain"]["metrics"]["splits"]["dev"]["all"]["accuracy"]
    at = [name for name, *_ in dev.customdata].index("plain")
    assert dev.x[at] == metric["mean"]
    assert dev.x[at] - dev.error_x.arrayminus[at] == metric["low"]
    assert dev.x[at] + dev.error_x.array[at] == metric["high"]


def test_each_split_is_named_once_in_the_legend(compared):
    named = [trace.name for trace in compared[3].data if trace.showlegend]
    assert sorted(named) == ["dev", "test"]


def test_chance_is_a_line_in_each_panel(compared):
    lines = [shape for shape in compared[3].layout.shapes if shape.type == "line"]
    assert {(line.x0, line.x1) for line in lines} == {(25, 25)}
    assert len(lines) == 3


def test_splits_and_readers_differ_in_their_marks(compared):
    marks = {trace.name: trace.marker.symbol for trace in compared[3].data}
    assert marks["dev"] != marks["test"]
    lines = curves(trials_of(compared[0]), "options").data
    assert len({trace.marker.symbol for trace in lines}) == 2


def test_curves_have_a_line_for_each_seed_and_panel(compared):
    lines = curves(trials_of(compared[0]), "options").data
    assert len(lines) == 2 * 2 * 2
    assert {tuple(line.y) for line in lines} == {(1.0,), (40.0,)}


def test_names_are_text(compared):
    hostile = "<b>reader</b>"
    results = compared[0] | {
        "readers": {hostile: compared[0]["readers"]["plain"]},
        "baselines": {"options": hostile},
    }
    for figure in (dot_plot(results), curves(trials_of(results), "options")):
        assert hostile not in figure.to_json()
