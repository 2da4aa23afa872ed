import sys

import pytest

from coattend import parallel
from coattend.config import LOCAL, EngineParameters
from coattend.errors import CoattendError
from coattend.parallel.engine import map_shards


def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("engine", [LOCAL, EngineParameters(kind="dask")])
def test_both_engines_take_the_same(engine):
    assert list(map_shards(engine, double, [1, 2], workers=1, title="Doubling")) == [2, 4]


def test_a_missing_package_is_told_with_how_to_install_it(monkeypatch):
    monkeypatch.delattr(parallel, "dask", raising=False)
    monkeypatch.delitem(sys.modules, "coattend.parallel.dask", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CoattendError, match=r"needs the package distributed.*pip install 'coattend\[dask\]'"):
        map_shards(EngineParameters(kind="dask"), double, [1, 2])


def test_an_address_is_that_of_a_dask_scheduler():
    with pytest.raises(ValueError, match="needs kind: dask"):
        EngineParameters(address="tcp://127.0.0.1:8786")
    with pytest.raises(ValueError, match="should match pattern"):
        EngineParameters(kind="dask", address="127.0.0.1:8786")
