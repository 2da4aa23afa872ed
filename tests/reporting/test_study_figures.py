"""A study's chart of scores, and its page's figures by name."""

import plotly.io
import pytest
from studied import STUDY, found

from coattend.parameters import StudyParameters
from coattend.reporting import study_figures, study_page, study_table


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
