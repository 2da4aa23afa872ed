"""Progress of work, on a terminal and without one."""

import os
import re
import subprocess
import sys
from contextlib import suppress

import pytest

from coattend.parallel.progress import log_progress, remaining_time


def test_lines_say_how_far_it_is_and_how_long_the_rest_takes(caplog):
    caplog.set_level("INFO")
    assert list(log_progress(iter("abc"), 3, "Tagging", interval=0)) == ["a", "b", "c"]
    assert [record.message.partition(",")[0] for record in caplog.records] == ["Tagging: 1 of 3", "Tagging: 2 of 3"]
    assert all(record.message.endswith("left") for record in caplog.records)


def test_work_that_takes_no_time_says_nothing(caplog):
    caplog.set_level("INFO")
    assert list(log_progress(iter("abc"), 3, "Tagging")) == ["a", "b", "c"]
    assert not caplog.records


@pytest.mark.parametrize(
    ("seconds", "finished", "total", "text"),
    [
        (10, 1, 3, "about 20 s left"),
        (60, 1, 11, "about 10 min left"),
        (3600, 2, 7, "about 2 h 30 min left"),
        (10, 1, 720, "about 2 h 0 min left"),
        (0, 5, 9, "about 0 s left"),
    ],
)
def test_the_rest_is_told_for_people(seconds, finished, total, text):
    assert remaining_time(seconds, finished, total) == text


WORK = (
    "from coattend.parallel.progress import track_progress; list(track_progress((n for n in range(3)), 3, 'Tagging'))"
)
COLOUR = re.compile(r"\x1b\[[0-9;]*[34][0-9][0-9;]*m")


def on_a_terminal(**environment):
    """Run the work on a pseudo-terminal and return its output."""
    controller, terminal = os.openpty()
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    variables |= {"TERM": "xterm-256color", "COLUMNS": "100"} | environment
    with subprocess.Popen(
        [sys.executable, "-c", WORK], stdin=terminal, stdout=terminal, stderr=terminal, env=variables
    ) as process:
        os.close(terminal)
        output = b""
        with suppress(OSError):  # Which is how the end of a terminal is told.
            while part := os.read(controller, 4096):
                output += part
        os.close(controller)
    assert process.returncode == 0, output
    return output.decode()


def test_a_terminal_has_a_bar_with_the_time_that_is_left():
    output = on_a_terminal()
    assert "Tagging" in output and "━" in output and "100%" in output
    assert re.search(r"\d:\d\d:\d\d", output)
    assert COLOUR.search(output)


def test_no_color_leaves_the_bar_and_takes_its_colours():
    output = on_a_terminal(NO_COLOR="1")
    assert "Tagging" in output and "━" in output and "100%" in output
    assert not COLOUR.search(output)
