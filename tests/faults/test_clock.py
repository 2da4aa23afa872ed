"""A clock that is set back: what was done before stays done, and what is done then is like any other."""

import os
import subprocess
from pathlib import Path

import pytest
import saving
from warm import Warm

LIBRARIES = "/usr/lib*/**/faketime/libfaketime.so.1"


@pytest.fixture
def set_back():
    """The environment of a process that lives two days ago."""
    library = next(Path("/").glob(LIBRARIES[1:]), None)
    if library is None:
        pytest.skip("libfaketime is not installed")
    return {"LD_PRELOAD": str(library), "FAKETIME": "-2d", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@pytest.mark.slow
@pytest.mark.parametrize("artifact", ["shards", "table", "metrics", "trial"])
def test_what_is_saved_after_the_clock_was_set_back(tmp_path, set_back, artifact):
    folder = tmp_path / artifact
    with Warm(tmp_path, "saving") as now, Warm(tmp_path, "saving", **set_back) as before:
        assert now.call(artifact, str(folder), "first").code == 0
        written = {file: file.stat().st_mtime_ns for file in folder.rglob("*.parquet")}
        assert before.call(artifact, str(folder), "first").code == 0
        assert {file: file.stat().st_mtime_ns for file in folder.rglob("*.parquet")} == written
        assert before.call(artifact, str(folder), "second").code == 0
        loaded = saving.load(artifact, str(folder))
        assert now.call(artifact, str(folder), "second").code == 0
        assert saving.load(artifact, str(folder)) == loaded != []


def test_a_process_is_the_same_after_the_clock_was_set_back(tmp_path):
    """The kernel then says that it was started earlier: as seen by who reads its start from /proc/stat."""
    from coattend.tracking.store import this_process

    boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime"))
    stat = Path("/proc/stat").read_text().replace(boot, f"btime {int(boot.split()[1]) - 172_800}")
    (tmp_path / "stat").write_text(stat)
    mount = f'mount --bind "{tmp_path / "stat"}" /proc/stat && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("this machine lets no user mount anything in a namespace")
    code = "import sys; from coattend.tracking.store import _tag; print(_tag(int(sys.argv[1])))"
    python = Path(os.sys.executable)
    completed = subprocess.run(
        [*command, python, "-c", code, str(os.getpid())], capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == this_process()
