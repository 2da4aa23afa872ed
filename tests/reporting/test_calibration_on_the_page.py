"""Tables and figure of calibration, beside the numbers that they are made of."""

import numpy as np
import pytest

from coattend.reporting import calibration


@pytest.fixture
def sure(compared):
    return compared[0]["readers"]["poi_net"]["metrics"]["calibration"]["dev"]


def test_there_is_a_table_for_each_split_and_a_row_for_each_reader(compared, sure):
    dev, test, _ = calibration.tables(compared[0])
    assert (dev.caption, test.caption) == ("Calibration, dev, options", "Calibration, test, options")
    rows = {row[0].text: row for row in dev.rows}
    assert set(rows) == {"plain", "poi_net"}
    _, accuracy, confidence, ece, aurc = rows["poi_net"]
    group = compared[0]["readers"]["poi_net"]["metrics"]["splits"]["dev"]["all"]
    assert accuracy.text == f"{group['accuracy']['mean']:.1f}"
    assert confidence.text == f"{sure['confidence']['mean']:.1f}"
    assert (ece.text, ece.notes[0]) == (f"{sure['ece']['mean']:.1f}", f"{sure['ece_by_chance']['mean']:.1f} by chance")
    assert (aurc.text, aurc.notes[0]) == (f"{sure['aurc']['mean']:.1f}", f"{sure['aurc_at_best']['mean']:.1f} at best")
    assert aurc.notes[1].endswith("2 seeds")


def test_tenths_are_means_over_seeds(compared, sure):
    dev, *_ = calibration.reliability(compared[0])
    row = next(row for row in dev.rows if row[0].text == "poi_net")
    first = [bins[0] for bins in sure["reliability"].values()]
    assert row[1].text == f"{np.mean([one['accuracy'] for one in first]):.1f}"
    assert row[1].notes == (f"{np.mean([one['confidence'] for one in first]):.1f}",)
    assert len(row) == 11


def test_a_line_goes_from_the_surest_to_all_questions(compared):
    figure = calibration.risk_against_coverage(calibration.by_split(compared[0], "options"))
    assert [line.name for line in figure.data if line.showlegend] == ["plain", "poi_net"]
    assert len(figure.data) == 4
    for line in figure.data[:2]:
        accuracy = compared[0]["readers"][line.name]["metrics"]["splits"]["dev"]["all"]["accuracy"]["mean"]
        assert line.x[-1] == 100
        assert line.y[-1] == pytest.approx(100 - accuracy, abs=1e-3)


def test_a_span_is_right_where_it_matches_exactly(compared):
    assert list(calibration.tasks(compared[0])) == [("options", ", options"), ("span", ", span")]
    exact = compared[0]["readers"]["plain_span"]["metrics"]["splits"]["dev"]["all"]["exact"]["mean"]
    assert calibration.by_split(compared[0], "span")["dev"]["plain_span"]["accuracy"] == exact
