"""A disk that is full or cannot be written: one plain message, what was there stays, and the next run goes on."""

import resource
import shutil
import subprocess

import pytest
import saving
from lasting import digests
from warm import Warm

from coattend.errors import CoattendError

KINDS = ("table", "shards", "metrics", "trial")
CURE = "Check the free space and the permissions of its folder, then run the same command again"
FULL = 'mount -t tmpfs -o size=64k none "$0" && exec "$@"'
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


@pytest.fixture
def mounted(tmp_path):
    """An interpreter that sees a folder as a shell command in its own namespace has mounted it, and that folder."""

    def start(mount):
        disk = tmp_path / "place"
        disk.mkdir(exist_ok=True)
        prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, str(disk)]
        if (
            not shutil.which("unshare")
            or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
        ):
            pytest.skip("this machine lets no user mount anything in a namespace")
        return Warm(tmp_path, "saving", prefix), disk

    return start


def refused(ended, reason):
    assert ended.code == 1
    assert (
        ended.output.startswith("Error: ") and f"cannot be written ({reason})" in ended.output and CURE in ended.output
    )
    assert "Traceback" not in ended.output


@pytest.mark.parametrize("artifact", ["table", *(pytest.param(name, marks=pytest.mark.slow) for name in KINDS[1:])])
def test_a_file_that_may_not_grow(tmp_path, artifact):
    with Warm(tmp_path, "saving") as warm:
        folder = str(tmp_path / artifact)
        assert warm.call(artifact, folder, "first").code == 0
        before = saving.load(artifact, folder)
        refused(warm.call(artifact, folder, "second", largest_file=8), "File too large")
        if artifact != "shards":  # Its manifest cannot be marked as unfinished either: nothing was touched.
            assert saving.load(artifact, folder) == before
        assert warm.call(artifact, folder, "second").code == 0
        assert saving.load(artifact, folder) not in ([], before)


@pytest.mark.slow
@pytest.mark.parametrize("artifact", ["shards", "table"])
def test_a_full_disk(mounted, artifact):
    """A file takes what is left of the disk, and is deleted before the next run."""
    warm, disk = mounted(FULL)
    with warm:
        assert warm.call(artifact, str(disk), "first").code == 0
        assert warm.call("fill", str(disk)).code == 0
        refused(warm.call(artifact, str(disk), "second"), "No space left on device")
        assert warm.call("free", str(disk)).code == 0
        assert warm.call(artifact, str(disk), "second").code == 0
        assert warm.call("show", artifact, str(disk)).output.count("second") == {"shards": 1, "table": 2}[artifact]


@pytest.mark.slow
def test_memory_on_a_full_disk_is_refused_before_it_is_written(mounted):
    """The kernel would kill the process at the first page for which there is no room."""
    warm, disk = mounted(FULL)
    with warm:
        refused(warm.call("vectors", str(disk)), "No space left on device")


@pytest.mark.slow
@pytest.mark.parametrize("artifact", KINDS)
def test_a_folder_that_can_only_be_read(mounted, tmp_path, artifact):
    folder = tmp_path / "place"
    folder.mkdir()
    with Warm(tmp_path, "saving") as warm:
        assert warm.call(artifact, str(folder), "first").code == 0
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    warm, _ = mounted(READ_ONLY)
    with warm:
        refused(warm.call(artifact, str(folder), "second"), "Read-only file system")
        assert warm.call("show", artifact, str(folder)).code == 0
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


@pytest.mark.slow
def test_a_checkpoint_that_finds_no_room(run_shared, shared_project):
    """The next training ends with the weights of an undisturbed one.

    The limit is above what MLflow's store and all tables take, and below a checkpoint.
    """
    overrides = {"benchmarks": {"sample": {"training": {"max_questions": 8}}}}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, before[1]))
    try:
        with pytest.raises(CoattendError, match=rf"checkpoint-\d+: cannot be written .*{CURE}"):
            run_shared("training", "sample.plain", **overrides)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    trials = shared_project / "data/test/06_models/trials"
    assert "cannot be written" in next(trials.glob("*/failure.json")).read_text()
    run_shared("training", "sample.plain", **overrides)
    (outcome,) = trials.glob("*/outcome.json")
    assert not list(trials.glob("*/failure.json")) and not list(trials.glob("*/checkpoints"))
    mended = digests(trials)
    shutil.rmtree(outcome.parent)
    run_shared("training", "sample.plain", **overrides)
    assert digests(trials) == mended
