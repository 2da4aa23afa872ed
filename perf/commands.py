"""Whole commands as a user runs them: seconds and peak memory."""

import os
import statistics
import sys
import tempfile
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from typing import Any

from perf.timing import Usage, watch

ROOT = Path(__file__).parents[1]
USER_SETTINGS = ("COATTEND_RAW", "KEDRO_ENV", "MLFLOW_TRACKING_URI")
"""Environment variables of this machine's user, without which commands are measured."""
NODE_ROUNDS = 5
"""Runs of the shortest commands, of which the median counts."""


def measure(raw: Path | None, *, default_run: bool = True) -> dict[str, Any]:
    """Time listing the pipelines, one data node, the data stages of real benchmarks, and the default run.

    Args:
        raw: Folder of the real benchmarks, if there is one.
        default_run: False leaves out the whole default run, which takes minutes.
    """
    with tempfile.TemporaryDirectory() as folder:
        project = new_project(Path(folder))
        first = kedro(project, "run", "--pipelines", "ingestion", "--namespaces", "sample")
        again = [kedro(project, "run", "--nodes", "sample.ingest").seconds for _ in range(NODE_ROUNDS)]
        listed = [kedro(project, "registry", "list").seconds for _ in range(NODE_ROUNDS)]
        figures: dict[str, Any] = {
            "registry_list_seconds": round(statistics.median(listed), 2),
            "ingestion_first_seconds": first.seconds,
            "ingestion_again_seconds": round(statistics.median(again), 2),
        }
        for benchmark in ("dream", "race"):
            if raw is not None and (raw / benchmark).is_dir():
                stages = ("--pipelines", "ingestion,tagging,tokenization", "--namespaces", benchmark)
                figures[f"{benchmark}_data_stages"] = kedro(project, "run", *stages, raw=raw)._asdict()
        if default_run:
            figures["default_run"] = kedro(project, "run")._asdict()
    return figures


def new_project(folder: Path) -> Path:
    """Make a project with this one's configuration and nothing in its data folder."""
    copytree(ROOT / "conf", folder / "conf", ignore=ignore_patterns("local"))
    (folder / "conf" / "local").mkdir()  # Without the settings of this machine's user.
    for name in ("pyproject.toml", ".telemetry"):
        copy(ROOT / name, folder / name)
    (folder / "src").mkdir()
    return folder


def clean_environment() -> dict[str, str]:
    """Return the environment variables, without those of `USER_SETTINGS`."""
    return {key: value for key, value in os.environ.items() if key not in USER_SETTINGS}


def kedro(project: Path, *arguments: str, raw: Path | None = None) -> Usage:
    """Run one kedro command, with the raw files of real benchmarks if a folder is given."""
    environment = clean_environment()
    if raw is not None:
        environment["COATTEND_RAW"] = str(raw.resolve())
    return watch([Path(sys.executable).parent / "kedro", *arguments], folder=project, environment=environment)
