"""Whole commands as a user runs them: seconds and peak memory."""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from shutil import copy, copytree
from typing import Any

from perf.watch import Watched, watched

ROOT = Path(__file__).parents[1]


def project_in(folder: Path) -> Path:
    """A project with nothing in its data folder."""
    copytree(ROOT / "conf", folder / "conf")
    for name in ("pyproject.toml", ".telemetry"):
        copy(ROOT / name, folder / name)
    (folder / "src").mkdir()
    return folder


def timed(project: Path, *arguments: str, raw: str = "") -> Watched:
    """One kedro command, with the raw files of real benchmarks if a folder is given."""
    command = [Path(sys.executable).parent / "kedro", *arguments]
    environment = {key: value for key, value in os.environ.items() if key != "COATTEND_RAW"}
    if raw:
        environment["COATTEND_RAW"] = str(Path(raw).resolve())
    return watched(command, folder=project, environment=environment)


def data_stages(project: Path, benchmark: str, raw: str) -> dict[str, Any]:
    """The data stages of a benchmark, and the same again with nothing changed."""
    stages = ("run", "--pipelines", "ingestion,tagging,tokenization", "--namespaces", benchmark)
    first = timed(project, *stages, raw=raw)
    tables = list((project / "data").rglob(f"*/{benchmark}/**/*.parquet"))
    before = {path: path.stat().st_mtime_ns for path in tables}
    again = timed(project, *stages, raw=raw)
    nothing = timed(project, "registry", "list", raw=raw)
    tokens = [path.stat().st_size for path in tables if "05_model_input" in path.parts]
    return {
        "seconds": first.seconds,
        "peak_mib": first.peak_mib,
        "again_seconds": again.seconds,
        "again_without_kedros_start_seconds": round(again.seconds - nothing.seconds, 1),
        "rewritten": sum(path.stat().st_mtime_ns != when for path, when in before.items()),
        "tokens_mb": round(sum(tokens) / 1e6, 1),
    }


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print and return."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of one data node")
    parser.add_argument(
        "--raw", default=os.environ.get("COATTEND_RAW"), help="folder with DREAM and RACE; default $COATTEND_RAW"
    )
    parser.add_argument("--skip-default", action="store_true", help="leave the whole default run out")
    chosen = parser.parse_args(arguments)
    ingestion = ("run", "--pipelines", "ingestion", "--namespaces", "sample")
    with tempfile.TemporaryDirectory() as folder:
        project = project_in(Path(folder))
        first = timed(project, *ingestion)
        again = [timed(project, "run", "--nodes", "sample.ingest").seconds for _ in range(chosen.rounds)]
        listed = [timed(project, "registry", "list").seconds for _ in range(chosen.rounds)]
        result: dict[str, Any] = {
            "registry_list_seconds": round(statistics.median(listed), 2),
            "ingestion_first_seconds": first.seconds,
            "ingestion_again_seconds": round(statistics.median(again), 2),
        }
        for benchmark in ("dream", "race") if chosen.raw else ():
            if Path(chosen.raw, benchmark).is_dir():
                result[f"{benchmark}_data_stages"] = data_stages(project, benchmark, chosen.raw)
        if not chosen.skip_default:
            result["default_run"] = timed(project, "run")._asdict()
    print(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    main()
