"""A Dask cluster gives the results of this machine, whoever of its workers dies."""

import os
import shutil
import signal
import uuid
from functools import partial
from multiprocessing import parent_process
from pathlib import Path

import dask
import psutil
import pytest
from distributed import LocalCluster
from waiting import start_waiting

from coattend.config import EngineParameters
from coattend.errors import CoattendError
from coattend.parallel.engine import map_shards

NOBODY = "tcp://127.0.0.1:9"


def cluster_of(workers: int, **options) -> LocalCluster:
    return LocalCluster(n_workers=workers, host="127.0.0.1", dashboard_address=None, silence_logs="CRITICAL", **options)


@pytest.fixture(scope="module")
def address() -> str:
    """Address of the scheduler of two worker processes, each with two threads."""
    with cluster_of(2, threads_per_worker=2) as cluster:
        yield cluster.scheduler_address


def cluster_at(address: str) -> EngineParameters:
    return EngineParameters(kind="dask", address=address)


def square(number: int) -> tuple[int, int]:
    return number, number * number


def in_a_worker(_: int) -> tuple[bool, str]:
    return parent_process() is not None, os.environ.get("COATTEND_TEST_STARTED", "")


def start(folder: Path) -> None:
    (folder / uuid.uuid4().hex).touch()
    os.environ["COATTEND_TEST_STARTED"] = folder.name


def refuse(number: int) -> int:
    if number == 3:
        raise CoattendError("is odd", where=f"shard {number}", cure="Take another")
    if number == 4:
        raise KeyError("four")
    return number


def noted(folder: Path, number: int) -> tuple[int, int]:
    (folder / f"{number} {uuid.uuid4().hex}").touch()
    return number, os.getpid()


def die_once(folder: Path, number: int) -> tuple[int, int]:
    attempts = noted(folder / "begun", number)
    if number == 5:
        try:
            with (folder / "killed").open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return attempts
        os.kill(os.getpid(), signal.SIGKILL)
    return attempts


def die(item: tuple[str, int]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def alone(folder: Path, number: int) -> int:
    mark = folder / str(os.getpid())
    mark.touch(exist_ok=False)
    total = sum(range(number * 10_000))
    mark.unlink()
    return total


def leave_no_folder(_: int) -> None:
    folder = Path.cwd()
    if folder.exists():
        folder.rmdir()


def test_items_whose_number_is_given_are_taken_a_few_ahead(address):
    consumed, results, ahead = [], [], 0
    items = (consumed.append(number) or number for number in range(60))
    for result in map_shards(cluster_at(address), square, items, total=60):
        results.append(result)
        ahead = max(ahead, len(consumed) - len(results))
    assert sorted(results) == [(n, n * n) for n in range(60)]
    assert ahead <= 4


def test_an_item_that_cannot_be_had_is_no_fault_of_the_scheduler(address, tmp_path):
    names = iter(["here", "not here", "here", "here", "here"])
    (tmp_path / "here").write_text("4")
    items = (int((tmp_path / name).read_text()) for name in names)
    with pytest.raises(FileNotFoundError, match="not here"):
        list(map_shards(cluster_at(address), square, items, total=5))


def test_workers_are_initialised_once(address, tmp_path):
    results = map_shards(cluster_at(address), in_a_worker, range(30), initializer=partial(start, tmp_path))
    assert set(results) == {(True, tmp_path.name)}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_worker_does_one_item_at_a_time(address, tmp_path):
    assert len(list(map_shards(cluster_at(address), partial(alone, tmp_path), range(40)))) == 40


def test_errors_come_home_as_they_are(address):
    with pytest.raises(CoattendError) as caught:
        list(map_shards(cluster_at(address), refuse, [1, 3]))
    assert (caught.value.where, caught.value.cure) == ("shard 3", "Take another")
    with pytest.raises(KeyError, match="four"):
        list(map_shards(cluster_at(address), refuse, [1, 4]))


def test_a_worker_that_is_killed_costs_what_it_was_at(address, tmp_path):
    markers = tmp_path / "begun"
    markers.mkdir()
    results = dict(map_shards(cluster_at(address), partial(die_once, tmp_path), range(40)))
    killed = int((tmp_path / "killed").read_text())
    assert sorted(results) == list(range(40))
    assert results[5] != killed
    assert not psutil.pid_exists(killed)
    # What it had finished and not yet sent home is done again, too.
    assert 40 < len(list(markers.iterdir())) <= 40 + 4


@pytest.mark.slow
def test_an_item_that_kills_workers_is_named():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster_of(1) as cluster,
        pytest.raises(CoattendError, match=r"Tagging DREAM, 0000-of-0001: 1 workers died of it"),
    ):
        list(map_shards(cluster_at(cluster.scheduler_address), die, [("0000-of-0001", 1)], title="Tagging DREAM"))


def test_a_scheduler_that_cannot_be_reached_is_told(monkeypatch):
    monkeypatch.setattr("coattend.parallel.dask.CONNECT_TIMEOUT_S", 0.3)
    with pytest.raises(CoattendError, match=rf"engine.address: {NOBODY}: Dask's scheduler cannot be reached.*Start it"):
        list(map_shards(cluster_at(NOBODY), square, range(3)))
    assert list(map_shards(cluster_at(NOBODY), square, [])) == []


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_told(capfd):
    with cluster_of(1) as cluster:
        results = map_shards(cluster_at(cluster.scheduler_address), square, range(100))
        next(results)
        cluster.close()
        with pytest.raises(CoattendError, match=r"engine.address: tcp://\S+: Dask's scheduler went away"):
            list(results)
    assert capfd.readouterr() == ("", "")


def test_workers_that_do_not_see_the_folder_are_told(address, tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(CoattendError, match=rf"{folder}: a worker on \S+ cannot enter it.*Share the project's folder"):
        list(map_shards(cluster_at(address), leave_no_folder, range(20)))


def test_stopping_early_begins_nothing_more(address, tmp_path):
    results = map_shards(cluster_at(address), partial(noted, tmp_path), range(1000))
    next(results)
    results.close()
    list(map_shards(cluster_at(address), square, range(20)))
    assert len(list(tmp_path.iterdir())) <= 5


def test_it_draws_nothing_where_there_is_no_terminal(address, capfd):
    list(map_shards(cluster_at(address), square, range(3), title="Squaring"))
    assert capfd.readouterr() == ("", "")


def files(project: Path, *folders: str) -> dict[str, bytes]:
    paths = [file for folder in folders for file in project.joinpath(folder).rglob("*") if file.is_file()]
    return {str(file.relative_to(project)): file.read_bytes() for file in paths}


@pytest.mark.slow
def test_tables_are_the_same_bytes_as_those_of_this_machine(address, kedro_run, project, sample_tables):
    engine = {"kind": "dask", "address": address}
    kedro_run("ingestion,tagging,tokenization", "sample", engine=engine)
    shards = ("04_feature", "05_model_input")
    contents = files(project / "data" / "test", *shards)
    assert len([name for name in contents if name.endswith(".parquet")]) >= 4
    assert contents == files(sample_tables, *shards)


@pytest.mark.slow
def test_trials_and_predictions_are_those_of_this_machine(address, shared_project, run_shared):
    training = {"epochs": 1, "evaluations": 1, "max_questions": 8, "seeds": [0, 1]}
    data = shared_project / "data" / "test"

    def run(**engine: str) -> dict[str, bytes]:
        params = {"benchmarks": {"sample": {"training": training}}, "engine": {"kind": "local"} | engine}
        run_shared("training,evaluation", "sample.plain", **params)
        contents = files(data, "06_models/trials", "07_model_output/sample/plain")
        # What tells times: costs, and when a file that was checked last changed.
        timed = ("outcome.json", "metrics.json", "outcome.json.sha256", "metrics.json.sha256", ".checked")
        return {name: content for name, content in contents.items() if not name.endswith(timed)}

    local = run()
    assert len({Path(name).parts[2] for name in local if name.endswith("model.safetensors")}) == 2
    for folder in ("06_models", "07_model_output"):
        shutil.rmtree(data / folder)
    assert run(kind="dask", address=address) == local


@pytest.mark.slow
def test_an_interrupt_ends_a_cluster_of_this_machine_quietly(tmp_path):
    running, workers = start_waiting(tmp_path, "dask")
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (out, err) == ("interrupted\n", "")
    assert not psutil.wait_procs(workers, timeout=10)[1]
