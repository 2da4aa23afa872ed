"""A study's chart of scores, and its page's figures by name."""

import plotly.io
import pytest
from studied import STUDY, found

from coattend.parameters import StudyParameters
from coattend.reporting import study_figures, study_page, study_table
from coattend.reporting.study_boundaries import shares


@pytest.fixture(scope="module")
def studied():
    shows = {"shows": ["by_subset", "by_question_type"]}
    return found(StudyParameters.model_validate(STUDY.model_dump() | shows))


def test_the_chart_has_every_variants_score_where_the_study_asks(studied):
    results = studied[0]
    chart = study_figures.scores(study_table.asked_rows(results))
    panels = [("exams", "accuracy"), ("articles", "exact"), ("articles", "f1")]
    assert [note.text for note in chart.layout.annotations] == [
        "exams: Accuracy",
        "articles: Exact match",
        "articles: F1",
    ]
    assert [trace.showlegend for trace in chart.data] == [True, False, False]  # Each split once.
    for (benchmark, metric), trace in zip(panels, chart.data, strict=True):
        rows = {
            row["title"]: row
            for row in results["rows"]
            if (row["benchmark"], row["metric"], row["group"]) == (benchmark, metric, "all")
        }
        assert dict(zip(trace.customdata, trace.x, strict=True)) == {title: row["mean"] for title, row in rows.items()}
        lows = [mean - below for mean, below in zip(trace.x, trace.error_x.arrayminus, strict=True)]
        assert lows == pytest.approx([rows[title]["low"] for title in trace.customdata])


def test_a_study_without_scores_has_an_empty_chart():
    assert not study_figures.scores([]).data


def test_every_figure_of_the_page_has_a_name_of_its_own(studied):
    sections = study_page.sections(studied[0])
    figures = study_page.figures(studied[0], sections)
    assert {"by_subset_exams_dev", "by_question_word_articles_dev", "risk_against_coverage_exams"} <= set(figures)
    captions = {caption for section in sections for caption, _ in section.figures}
    others = set(figures) - set(study_page.figures({"breakdowns": [], "shows": []}, sections))
    assert len(figures) == len(captions) + len(others)
    assert {"by_length_of_the_question_in_words_exams_dev", "by_part_of_speech_of_the_answer_exams_dev"} <= others
    for figure in figures.values():
        assert len(plotly.io.from_json(figure.to_json()).data) == len(figure.data)


def test_boundary_words_are_drawn_as_shares_of_each_part_of_speech():
    results, page, _ = found(StudyParameters.model_validate(STUDY.model_dump() | {"shows": ["boundary_pos"]}))
    figure = study_page.figures(results, study_page.sections(results))["parts_of_speech_of_boundary_words_articles"]
    counts = results["analyses"]["articles"]["boundary_pos"]
    assert [note.text for note in figure.layout.annotations] == [
        "Gold and predicted words",
        "Wrongly predicted words, by the gold word",
    ]
    expected = [counts["plain"]["gold"], counts["plain"]["predicted"], counts["poi_net"]["predicted"]]
    expected += [counts["plain"]["wrong"], counts["poi_net"]["wrong"]]
    assert [bar.name for bar in figure.data] == ["Gold", "Baseline", "POI-Net", "Baseline", "POI-Net"]
    for bar, counted in zip(figure.data, expected, strict=True):
        drawn = {tag: share for tag, share in zip(bar.x, bar.y, strict=True) if share}
        assert drawn == pytest.approx({tag: 100 * count / sum(counted.values()) for tag, count in counted.items()})
    looks = {(bar.marker.color, bar.marker.pattern.shape) for bar in figure.data}
    assert len(looks) == 3
    assert "Parts of speech of boundary words: articles. The share of each" in page
    assert "parts_of_speech_of_boundary_words_exams" not in study_page.figures(results, study_page.sections(results))


def test_parts_of_speech_that_are_rare_at_boundaries_are_drawn_together():
    common = {f"T{number}": 20.0 - number for number in range(12)}
    all_words = {"Gold": common | {"RARE": 1.0, "RARER": 0.5}, "Baseline": common, "POI-Net": common}
    gold, *_, wrong, none = shares(all_words, {"Baseline": {"RARE": 2.0}, "POI-Net": {}}).data
    assert list(gold.x) == [*common, "others"]
    assert gold.customdata[-1] == 1.5
    assert sum(gold.y) == pytest.approx(100)
    assert dict(zip(wrong.x, wrong.y, strict=True))["others"] == 100
    assert not any(none.y)
