"""Whole commands as a user runs them: seconds and peak memory."""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from shutil import copy, copytree
from typing import Any

ROOT = Path(__file__).parents[1]


def project_in(folder: Path) -> Path:
    """A project with nothing in its data folder."""
    copytree(ROOT / "conf", folder / "conf")
    for name in ("pyproject.toml", ".telemetry"):
        copy(ROOT / name, folder / name)
    (folder / "src").mkdir()
    return folder


def timed(project: Path, *arguments: str, raw: str = "") -> float:
    """Seconds of one kedro command, with the raw files of real benchmarks if a folder is given."""
    began = time.perf_counter()
    command = [Path(sys.executable).parent / "kedro", *arguments]
    environment = {key: value for key, value in os.environ.items() if key != "COATTEND_RAW"}
    if raw:
        environment["COATTEND_RAW"] = str(Path(raw).resolve())
    subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print and return."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of the ingestion")
    parser.add_argument(
        "--raw", default=os.environ.get("COATTEND_RAW"), help="folder with DREAM and RACE; default $COATTEND_RAW"
    )
    parser.add_argument("--skip-default", action="store_true", help="leave the whole default run out")
    chosen = parser.parse_args(arguments)
    ingestion = ("run", "--pipelines", "ingestion", "--namespaces", "sample")
    with tempfile.TemporaryDirectory() as folder:
        project = project_in(Path(folder))
        first = timed(project, *ingestion)
        again = [timed(project, *ingestion) for _ in range(chosen.rounds)]
        result: dict[str, Any] = {
            "ingestion_first_seconds": round(first, 2),
            "ingestion_again_seconds": round(statistics.median(again), 2),
        }
        for benchmark in ("dream", "race") if chosen.raw else ():
            if not Path(chosen.raw, benchmark).is_dir():
                continue
            stages = ("run", "--pipelines", "ingestion,tagging,tokenization", "--namespaces", benchmark)
            result[f"{benchmark}_data_stages_seconds"] = round(timed(project, *stages, raw=chosen.raw), 1)
            result[f"{benchmark}_data_stages_again_seconds"] = round(timed(project, *stages, raw=chosen.raw), 1)
            tokens = (project / "data/05_model_input" / benchmark).rglob("*.parquet")
            result[f"{benchmark}_tokens_mb"] = round(sum(path.stat().st_size for path in tokens) / 1e6, 1)
        if not chosen.skip_default:
            result["default_run_seconds"] = round(timed(project, "run"), 1)
            kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            result["default_run_peak_mib"] = round(kib / 1024)
    print(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    main()
