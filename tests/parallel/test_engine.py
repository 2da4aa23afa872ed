"""Items are mapped the same in this process, in processes of this machine and on a Dask cluster."""

import os
import sys
from functools import partial
from multiprocessing import active_children, parent_process

import pytest

from coattend import parallel
from coattend.config import LOCAL, EngineParameters
from coattend.errors import CoattendError
from coattend.parallel.engine import map_shards

CLUSTER_HERE = EngineParameters(kind="dask")


def square(number: int) -> tuple[int, int]:
    return number, number * number


def process_and_start(_: int) -> tuple[bool, str]:
    return parent_process() is not None, os.environ.get("COATTEND_TEST_STARTED", "")


def start(value: str) -> None:
    os.environ["COATTEND_TEST_STARTED"] = value


@pytest.mark.parametrize("engine", [LOCAL, CLUSTER_HERE])
@pytest.mark.parametrize(("items", "workers"), [(range(4), 1), (range(1), 4), ([], None)])
def test_little_work_stays_in_this_process(engine, items, workers, capfd):
    results = map_shards(engine, process_and_start, items, workers=workers, initializer=partial(start, "yes"))
    assert list(results) == [(False, "")] * len(items)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("engine", [LOCAL, CLUSTER_HERE])
def test_workers_of_this_machine_are_initialised_and_end(engine):
    children_before = set(active_children())
    results = map_shards(engine, process_and_start, range(6), workers=2, initializer=partial(start, "yes"))
    assert set(results) == {(True, "yes")}
    assert set(active_children()) <= children_before


def test_a_missing_package_is_told_with_how_to_install_it(monkeypatch):
    monkeypatch.delattr(parallel, "dask", raising=False)
    monkeypatch.delitem(sys.modules, "coattend.parallel.dask", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CoattendError, match=r"needs the package distributed.*pip install 'coattend\[dask\]'"):
        map_shards(CLUSTER_HERE, square, [1, 2])


def test_an_address_is_that_of_a_dask_scheduler():
    with pytest.raises(ValueError, match="needs kind: dask"):
        EngineParameters(address="tcp://127.0.0.1:8786")
    with pytest.raises(ValueError, match="should match pattern"):
        EngineParameters(kind="dask", address="127.0.0.1:8786")
