"""What a training leaves alone in memory."""

import gc

import pytest

from coattend.training.fit import train_all
from coattend.training.freed_memory import overlook_what_is_loaded


@pytest.fixture
def anew():
    gc.unfreeze()
    overlook_what_is_loaded.cache_clear()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("anew")
def test_garbage_is_searched_for_in_what_is_new_alone(plan_for, tmp_path):
    train_all(plan_for(seeds=[3]), tmp_path)
    loaded = gc.get_freeze_count()
    assert loaded > 10 * len(gc.get_objects())
    train_all(plan_for(seeds=[4]), tmp_path)
    assert gc.get_freeze_count() <= loaded
