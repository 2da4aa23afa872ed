"""A study's figures, by name."""

import plotly.io
import pytest
from example_study import findings_of, study

from coattend.reports.study.figures import boundary_figure, score_figure
from coattend.reports.study.page import named_figures, study_sections
from coattend.reports.study.table import rows_in_question


@pytest.fixture(scope="module")
def findings():
    return findings_of(study("by_subset", "by_question_type"))


def test_the_chart_has_every_score_that_the_study_asks_about(findings):
    chart = score_figure(rows_in_question(findings))
    panels = {"exams: Accuracy": ("exams", "accuracy")}
    panels |= {"articles: Exact match": ("articles", "exact"), "articles: F1": ("articles", "f1")}
    assert [annotation.text for annotation in chart.layout.annotations] == list(panels)
    assert [trace.showlegend for trace in chart.data] == [True, False, False]  # Each split once.
    for key, trace in zip(panels.values(), chart.data, strict=True):
        rows = {
            row["title"]: row
            for row in findings["rows"]
            if (row["benchmark"], row["metric"]) == key and row["group"] == "all"
        }
        assert dict(zip(trace.customdata, trace.x, strict=True)) == {title: row["mean"] for title, row in rows.items()}
        lows = [mean - below for mean, below in zip(trace.x, trace.error_x.arrayminus, strict=True)]
        assert lows == pytest.approx([rows[title]["low"] for title in trace.customdata])


def test_without_scores_the_chart_is_empty():
    assert not score_figure([]).data


def test_every_figure_of_the_page_has_a_name(findings):
    sections = study_sections(findings)
    figures = named_figures(findings, sections)
    assert {"by_subset_exams_dev", "by_question_word_articles_dev", "risk_against_coverage_exams"} <= set(figures)
    captions = {caption for section in sections for caption, _ in section.figures}
    unrequested = set(figures) - set(named_figures({"breakdowns": [], "shows": []}, sections))
    assert len(figures) == len(captions) + len(unrequested)
    expected = {"by_length_of_the_question_in_words_exams_dev", "by_part_of_speech_of_the_answer_exams_dev"}
    assert expected <= unrequested
    for figure in figures.values():
        assert len(plotly.io.from_json(figure.to_json()).data) == len(figure.data)


def test_boundary_words_are_drawn_as_shares_of_parts_of_speech():
    findings = findings_of(study("boundary_pos"))
    figures = named_figures(findings, study_sections(findings))
    figure = figures["parts_of_speech_of_boundary_words_articles"]
    counts = findings["analyses"]["articles"]["boundary_pos"]
    series = [counts["plain"]["gold"], counts["plain"]["predicted"], counts["poi_net"]["predicted"]]
    series += [counts["plain"]["wrong"], counts["poi_net"]["wrong"]]
    assert [bar.name for bar in figure.data] == ["Gold", "Baseline", "POI-Net", "Baseline", "POI-Net"]
    for bar, tags in zip(figure.data, series, strict=True):
        shares = {tag: share for tag, share in zip(bar.x, bar.y, strict=True) if share}
        assert shares == pytest.approx({tag: 100 * count / sum(tags.values()) for tag, count in tags.items()})
    assert len({(bar.marker.color, bar.marker.pattern.shape) for bar in figure.data}) == 3
    assert "parts_of_speech_of_boundary_words_exams" not in figures


def test_rare_parts_of_speech_are_drawn_together():
    frequent = {f"T{number}": 20.0 - number for number in range(12)}
    predicted = {"Gold": frequent | {"RARE": 1.0, "RARER": 0.5}, "Baseline": frequent, "POI-Net": frequent}
    gold, *_, wrong, empty = boundary_figure(predicted, {"Baseline": {"RARE": 2.0}, "POI-Net": {}}).data
    assert list(gold.x) == [*frequent, "others"]
    assert gold.customdata[-1] == 1.5
    assert sum(gold.y) == pytest.approx(100)
    assert dict(zip(wrong.x, wrong.y, strict=True))["others"] == 100
    assert not any(empty.y)
