"""Two runs at once in one project: each ends as it would alone."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lasting import digests
from warm import Warm


@pytest.mark.slow
def test_two_processes_save_the_same_things_at_once(tmp_path):
    """In versions that change, so that each finds what the other has left half replaced."""
    with Warm(tmp_path, "saving") as server, ThreadPoolExecutor() as pool:
        (tmp_path / "other").mkdir()
        with Warm(tmp_path / "other", "saving") as second_server:
            futures = [
                pool.submit(process.call, "at_once", str(tmp_path / "shared"), 10)
                for process in (server, second_server)
            ]
            ended = [future.result() for future in futures]
    assert [future.code for future in ended] == [0, 0], ended


@pytest.mark.slow
def test_two_runs_of_one_reader_at_once(kedro, project):
    """Raw files, tables and the trial are made by whichever comes first; the other waits or does the same.

    They are those of a run that is alone.
    """
    command = ["run", "--env", "test", "--namespaces", "sample"]
    command += ["--pipelines", "ingestion,tagging,tokenization,training,evaluation"]
    command += ["--to-outputs", "sample.as_reader.metrics"]
    command += ["--params", "readers.as_reader.vectors=random,readers.as_reader.hidden=8"]
    program = Path(sys.executable).parent / "kedro"
    started = [
        subprocess.Popen([program, *command], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=500)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0], outputs
    assert len(list(project.glob("data/test/06_models/trials/*/outcome.json"))) == 1
    written = digests(project / "data")
    shutil.rmtree(project / "data")
    alone = kedro(*command)
    assert alone.returncode == 0, alone.stdout
    assert digests(project / "data") == written
