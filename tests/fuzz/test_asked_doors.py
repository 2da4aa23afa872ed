"""Questions to a reader, in files and over HTTP: each is answered or refused, and never the server's fault."""

from dataclasses import replace
from random import Random

import pytest
from fuzz.mutations import mutated
from fuzz.untrained import answerer

from fuzz import asked_doors, doors

CHANGED = 4
"""Inputs after changes, for each door: a reader answers to what is left of them."""


@pytest.fixture(scope="module", params=doors.ASKED)
def door(request):
    return doors.door(request.param)


def test_whole_broken_and_changed_inputs(door, tmp_path):
    assert all(door.takes(content, tmp_path) for content in door.whole)
    for file in door.broken_once():
        door.takes(file.read_bytes(), tmp_path)
    chance = Random(door.name)
    for _ in range(CHANGED):
        door.takes(mutated(chance.choice(door.whole), chance), tmp_path)


@pytest.fixture
def failing(monkeypatch):
    """A door behind which a reader fails at every question."""
    reader = replace(answerer("word", asked_doors.LIMITS), processing=None)
    monkeypatch.setattr(asked_doors, "_reader", lambda task: reader)
    asked_doors._application.cache_clear()
    yield doors.door("http_word")
    asked_doors._application.cache_clear()


def test_a_reader_that_fails_breaks_its_door(failing, tmp_path):
    with pytest.raises(AssertionError, match="500"):
        failing.takes(failing.whole[0], tmp_path)
