"""Every door of files, with small changes to whole inputs: what comes in is right, or refused in one sentence."""

import tempfile
from pathlib import Path

import pytest
from fuzz.mutations import mutated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coattend.benchmarks import formats
from fuzz import doors

OF_FILES = [name for name in doors.NAMES if name not in doors.ASKED]
EXAMPLES = {"study": 8}
"""A study's pipeline is built each time."""


@pytest.fixture(scope="module", params=OF_FILES)
def door(request):
    return doors.door(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("given")


def test_every_format_has_a_door():
    assert {name for name in formats.names() if name != "custom"} <= set(OF_FILES)
    assert {f"custom_{kind}" for kind in ("csv", "jsonl", "parquet")} <= set(OF_FILES)


def test_what_is_whole_is_taken(door, folder):
    assert all(door.takes(content, folder) for content in door.whole)


def test_what_once_broke_it_is_refused_or_right(door, folder):
    for file in door.broken_once():
        door.takes(file.read_bytes(), folder)


def test_small_changes_do_not_break_it(door):
    @settings(
        max_examples=EXAMPLES.get(door.name, 25),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(door.whole), st.randoms(use_true_random=False))
    def given_it(content, chance):
        with tempfile.TemporaryDirectory() as folder:
            door.takes(mutated(content, chance), Path(folder))

    given_it()
