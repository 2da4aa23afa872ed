"""Lines of a study's figures: files that cannot be drawn are refused, and the papers' figures are complete."""

import re

import pytest

from coattend import studies
from coattend.errors import CoattendError

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


def test_lines_that_cannot_be_drawn_are_refused_with_their_place(tmp_path):
    file = tmp_path / "mine.yml"
    file.write_text(GOOD)
    assert studies.read_studies(file)
    for right, wrong, line, problem in [
        ("series: POI-Net, at: 1", "series: POI-Net", 11, "has only one of 'series' and 'at'"),
        ("series: POI-Net, at: 1", "at: 1", 11, "has only one of 'series' and 'at'"),
        ("POI-Net, at: 1", "POI-Net, at: 0", 11, "'turns_1' and 'plain' stand at the same place of the line 'POI-Net'"),
        ("POI-Net, at: 1", "POI-Net, at: one", 11, "at"),
        ("    axis: turns\n", "", 13, "lines need an axis"),
        ("shows: [lines]", "shows: [curve]", 13, "lines that are not shown"),
        ("serie", "srie", 10, "Did you mean 'series'?"),
    ]:
        file.write_text(GOOD.replace(right, wrong))
        with pytest.raises(CoattendError, match=re.escape(problem)) as error:
            studies.read_studies(file)
        assert f"{file}, line {line}," in error.value.message


def test_the_papers_figures_have_all_their_points():
    for name, lengths in [
        ("duma_figure4", {"DUMA": 6, "TB-DUMA": 6}),
        ("poi_net_figure4", dict.fromkeys(("Average", "Weighted", "Forgetting", "Intuition", "Multi-head block"), 5)),
        ("ours_learning_curve", {"Baseline": 4, "POI-Net": 4}),
    ]:
        parameters = studies.load_study(name).parameters
        assert "lines" in parameters.shows
        series = [line for variant in parameters.variants.values() for line in variant.series]
        assert {line: series.count(line) for line in series} == lengths
