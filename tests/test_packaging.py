"""What surrounds the package: pinned versions with their hashes, the wheel, and the workflow of GitHub."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(file):
    pins = re.findall(r"^([\w.-]+)==([^\s;\\]+)", (ROOT / file).read_text(), re.MULTILINE)
    assert len({normal(name) for name, _ in pins}) == len(pins)
    return {normal(name): version for name, version in pins}


def test_the_lock_file_has_every_pinned_version():
    lock, pins = pinned("requirements.lock"), pinned("constraints.txt")
    assert {name: lock.get(name) for name in pins} == pins


def test_the_lock_file_has_hashes_and_names_no_index():
    text = (ROOT / "requirements.lock").read_text()
    for block in re.split(r"\n(?=\S)", text.strip()):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block
    assert "://" not in text


def test_every_package_that_is_asked_for_is_pinned():
    asked = [*PROJECT["dependencies"], *(name for extra in PROJECT["optional-dependencies"].values() for name in extra)]
    # An extra may hold others of the package.
    names = {normal(re.match(r"[\w.-]+", name)[0]) for name in asked} - {"coattend"}
    assert names <= set(pinned("constraints.txt"))


def test_the_workflow_runs_commands_that_make_has():
    # YAML reads the key `on` as true.
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert {"lint", "test", "docs"} <= set(jobs)
    targets = set(re.findall(r"^([\w-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = [step["run"].split() for job in jobs.values() for step in job["steps"] if "run" in step]
    assert commands
    for command, target, *_ in commands:
        assert command == "make" and target in targets


@pytest.mark.slow
def test_the_wheel_can_be_published(tmp_path):
    """Its description is rendered as a package index would."""
    if importlib.util.find_spec("twine") is None:
        pytest.skip("twine is not installed: it is in the extra `release`")
    project = tmp_path / "project"
    shutil.copytree(ROOT / "src", project / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, project)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--wheel-dir", tmp_path, project], check=True)
    (wheel,) = tmp_path.glob("coattend-*.whl")
    check = [sys.executable, "-m", "twine", "check", "--strict", wheel]
    completed = subprocess.run(check, capture_output=True, text=True, check=False)
    assert (completed.returncode, "PASSED" in completed.stdout) == (0, True), completed.stdout
