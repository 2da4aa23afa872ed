"""How far work is, on a terminal and where there is none."""

import os
import re
import subprocess
import sys
from contextlib import suppress

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


WORK = "from coattend.engines.progress import shown; list(shown((n for n in range(3)), 3, 'Tagging'))"
COLOUR = re.compile(r"\x1b\[[0-9;]*[34][0-9][0-9;]*m")


def on_a_terminal(**environment):
    """What the work shows there."""
    own, its = os.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    kept |= {"TERM": "xterm-256color", "COLUMNS": "100"} | environment
    with subprocess.Popen([sys.executable, "-c", WORK], stdin=its, stdout=its, stderr=its, env=kept) as process:
        os.close(its)
        said = b""
        with suppress(OSError):  # Which is how the end of a terminal is told.
            while part := os.read(own, 4096):
                said += part
        os.close(own)
    assert process.returncode == 0, said
    return said.decode()


def test_a_terminal_has_a_bar_with_the_time_that_is_left():
    shown = on_a_terminal()
    assert "Tagging" in shown and "━" in shown and "100%" in shown
    assert re.search(r"\d:\d\d:\d\d", shown)
    assert COLOUR.search(shown)


def test_no_color_leaves_the_bar_and_takes_its_colours():
    shown = on_a_terminal(NO_COLOR="1")
    assert "Tagging" in shown and "━" in shown and "100%" in shown
    assert not COLOUR.search(shown)
