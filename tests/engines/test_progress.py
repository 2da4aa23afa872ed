"""How far work is, where there is no terminal."""

import pytest

from coattend.engines.progress import left, told


def test_lines_say_how_far_it_is_and_how_long_the_rest_takes(caplog):
    caplog.set_level("INFO")
    assert list(told(iter("abc"), 3, "Tagging", every=0)) == ["a", "b", "c"]
    assert [record.message.partition(",")[0] for record in caplog.records] == ["Tagging: 1 of 3", "Tagging: 2 of 3"]
    assert all(record.message.endswith("left") for record in caplog.records)


def test_work_that_takes_no_time_says_nothing(caplog):
    caplog.set_level("INFO")
    assert list(told(iter("abc"), 3, "Tagging")) == ["a", "b", "c"]
    assert not caplog.records


@pytest.mark.parametrize(
    ("seconds", "done", "total", "said"),
    [
        (10, 1, 3, "about 20 s left"),
        (60, 1, 11, "about 10 min left"),
        (3600, 2, 7, "about 2 h 30 min left"),
        (0, 5, 9, "about 0 s left"),
    ],
)
def test_the_rest_is_told_for_people(seconds, done, total, said):
    assert left(seconds, done, total) == said
