"""Figures of a study's scores along an axis."""

import pytest
from example_study import findings_of, question_rows, study

from coattend.reports.study.sections import line_sections


def line_study(variants):
    return study("lines", axis="turns", variants=variants)


def figures_of(findings):
    """Title of each section to its caption and figure."""
    return {section.title: section.figures[0] for section in line_sections(findings)}


def test_each_series_is_a_line_with_the_intervals_of_its_variants():
    of_both = {"series": ["<i>TB</i>", "POI-Net"], "at": 3, "title": "POI-Net"}
    findings = findings_of(
        line_study({"plain": {"title": "Baseline", "series": "POI-Net", "at": 0.5}, "poi_net": of_both})
    )
    caption, figure = figures_of(findings)["Score by turns: articles, dev"]
    assert caption.startswith("Score by turns: articles, dev.")
    assert figure.layout.xaxis2.title.text == "Turns"
    assert {trace.name for trace in figure.data} == {"POI-Net", "&lt;i&gt;TB&lt;/i&gt;"}
    line = next(trace for trace in figure.data if trace.name == "POI-Net" and trace.yaxis == "y2")
    key = {"benchmark": "articles", "split": "dev", "group": "all", "metric": "f1"}
    rows = {row["variant"]: row for row in findings["rows"] if key.items() <= row.items()}
    assert list(line.x) == [0.5, 3]
    assert list(line.y) == [rows[name]["mean"] for name in ("plain", "poi_net")]
    for index, name in enumerate(("plain", "poi_net")):
        assert line.y[index] - line.error_y.arrayminus[index] == pytest.approx(rows[name]["low"])
        assert line.y[index] + line.error_y.array[index] == pytest.approx(rows[name]["high"])
    single_point = next(trace for trace in figure.data if trace.name != "POI-Net")
    assert list(single_point.x) == [3]


def test_points_of_a_learning_curve_stand_at_the_number_of_training_questions():
    point = {"series": "A", "at": "questions"}
    parameters = line_study({"plain": point | {"title": "Baseline"}, "poi_net": point | {"title": "POI-Net"}})
    training, questions = {"train_on": {"exams": "NE"}}, {"articles": question_rows("articles", 8)}
    findings = findings_of(parameters, training=training, questions=questions)
    # Only the subset that was trained on is asked parameters.
    _, figure = figures_of(findings)["Score by turns: exams, dev, NE"]
    (line,) = figure.data
    assert set(line.x) == {100}
    means = {row["mean"] for row in findings["rows"] if (row["benchmark"], row["group"]) == ("exams", "NE")}
    assert set(line.y) == means
