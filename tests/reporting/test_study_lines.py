"""Figures of a study's scores along an axis, and what is refused of them when its file is read."""

import re

import pytest
from studied import STUDY, found, questions

from coattend import studies
from coattend.errors import CoattendError
from coattend.parameters import StudyParameters
from coattend.reporting import study_lines

GOOD = """\
paper: { title: A paper, authors: [A. Nobody], year: 2022, venue: none, key: nobody2022 }
studies:
  figure1:
    title: Turns
    source: A paper, figure 1
    benchmarks: [dream]
    base: { reader: poi_net }
    baseline: plain
    variants:
      plain: { title: 0 turns, series: [POI-Net, TB], at: 0, change: { reader: plain } }
      turns_1: { title: 1 turn, series: POI-Net, at: 1, change: { turns: 1 } }
      tb_1: { title: "1 turn, TB", series: TB, at: 1, change: { reader: tb_duma } }
    shows: [lines]
    axis: turns
"""


def drawn(variants, **found_in):
    about = STUDY.model_dump() | {"shows": ["lines"], "axis": "turns", "variants": variants}
    results, page, _ = found(StudyParameters.model_validate(about), **found_in)
    return results, page, {section.title: section.figures for section in study_lines.sections(results)}


def test_each_series_is_a_line_with_the_intervals_of_its_variants():
    both = {"series": ["<i>TB</i>", "POI-Net"], "at": 3, "title": "POI-Net"}
    results, page, figures = drawn({"plain": {"title": "Baseline", "series": "POI-Net", "at": 0.5}, "poi_net": both})
    ((caption, figure),) = figures["Score by turns: articles, dev"]
    assert f"<figcaption>{caption}</figcaption>" in page
    assert figure.layout.xaxis2.title.text == "Turns"
    assert {trace.name for trace in figure.data} == {"POI-Net", "&lt;i&gt;TB&lt;/i&gt;"}
    line = next(trace for trace in figure.data if trace.name == "POI-Net" and trace.yaxis == "y2")
    here = {"benchmark": "articles", "split": "dev", "group": "all", "metric": "f1"}
    rows = {row["variant"]: row for row in results["rows"] if here.items() <= row.items()}
    assert list(line.x) == [0.5, 3]
    assert list(line.y) == [rows[name]["mean"] for name in ("plain", "poi_net")]
    for place, name in enumerate(("plain", "poi_net")):
        assert line.y[place] - line.error_y.arrayminus[place] == pytest.approx(rows[name]["low"])
        assert line.y[place] + line.error_y.array[place] == pytest.approx(rows[name]["high"])
    alone = next(trace for trace in figure.data if trace.name != "POI-Net")
    assert list(alone.x) == [3]


def test_points_stand_at_as_many_questions_as_were_trained_on_and_are_of_the_subset_that_is_asked_about():
    own = {"series": "A", "at": "questions"}
    training = {"train_on": {"exams": "NE"}}
    variants = {"plain": own | {"title": "Baseline"}, "poi_net": own | {"title": "POI-Net"}}
    results, _, figures = drawn(variants, training=training, asked={"articles": questions("articles", 8)})
    ((_, figure),) = figures["Score by turns: exams, dev, NE"]
    (line,) = figure.data
    assert set(line.x) == {100}
    means = {row["mean"] for row in results["rows"] if (row["benchmark"], row["group"]) == ("exams", "NE")}
    assert set(line.y) == means


@pytest.mark.parametrize(
    ("right", "wrong", "line", "told"),
    [
        ("series: POI-Net, at: 1", "series: POI-Net", 11, "has only one of 'series' and 'at'"),
        ("series: POI-Net, at: 1", "at: 1", 11, "has only one of 'series' and 'at'"),
        ("POI-Net, at: 1", "POI-Net, at: 0", 11, "'turns_1' and 'plain' stand at the same place of the line 'POI-Net'"),
        ("POI-Net, at: 1", "POI-Net, at: one", 11, ""),
        ("    axis: turns\n", "", 13, "lines need an axis"),
        ("shows: [lines]", "shows: [curve]", 13, "lines that are not shown"),
        ("serie", "srie", 10, "Did you mean 'series'?"),
    ],
)
def test_lines_that_cannot_be_drawn_are_told_with_their_line(tmp_path, right, wrong, line, told):
    file = tmp_path / "mine.yml"
    file.write_text(GOOD)
    assert studies.read(file)
    file.write_text(GOOD.replace(right, wrong))
    with pytest.raises(CoattendError, match=re.escape(told)) as error:
        studies.read(file)
    assert f"{file}, line {line}," in error.value.message


@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        ("duma_figure4", {"DUMA": 5, "TB-DUMA": 5}),
        ("poi_net_figure4", dict.fromkeys(("Average", "Weighted", "Forgetting", "Intuition", "Multi-head block"), 5)),
        ("ours_learning_curve", {"Baseline": 4, "POI-Net": 4}),
    ],
)
def test_the_figures_of_layers_turns_and_questions_have_all_their_points(name, lengths):
    asked = studies.study(name).parameters
    assert "lines" in asked.shows
    series = [line for variant in asked.variants.values() for line in variant.series]
    assert {line: series.count(line) for line in series} == lengths
