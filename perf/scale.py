"""Does memory stay flat as data grows? The data stages over 10,000 and over 1,000,000 passages of the sample.

Peak memory is that of all processes of a command together, shared pages counted once (PSS), looked at twice a second.
A million passages take about half an hour on two cores and 4 GB of disk.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from perf.commands import project_in

KINDS = ("stories", "clozes", "tales", "exams", "summaries", "news", "rows")


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print and return."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--passages", type=int, nargs="+", default=[10_000, 1_000_000], help="sizes, the first to compare"
    )
    parser.add_argument("--folder", help="where to work; default: the system's folder for temporary files")
    chosen = parser.parse_args(arguments)
    sizes = {}
    for count in chosen.passages:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            sizes[f"{count}"] = run(project_in(Path(folder)), count)
            print(count, json.dumps(sizes[f"{count}"]), flush=True)
    first, *others = (size["peak_mib"] for size in sizes.values())
    result = {"passages": sizes, "peak_beside_the_first": [round(other / first, 3) for other in others]}
    print(json.dumps(result, indent=1))
    return result


def run(project: Path, count: int) -> dict[str, Any]:
    """One command over so many dialogues, from the generator to tokens."""
    settings = [f"dialogues.train={count}", "dialogues.dev=100"]
    settings += [f"{kind}.{split}=0" for kind in KINDS for split in ("train", "dev")]
    params = [f"benchmarks.sample.generator.{one}" for one in settings]
    (project / "conf/local/parameters.yml").parent.mkdir(exist_ok=True)
    (project / "conf/local/parameters.yml").write_text("benchmarks: { sample: { shards: null } }\n")
    command = [str(Path(sys.executable).parent / "kedro"), "run", "--pipelines", "ingestion,tagging,tokenization"]
    command += ["--namespaces", "sample", "--params", ",".join(params)]
    began = time.perf_counter()
    with (project / "log.txt").open("w") as log:
        process = psutil.Popen(command, cwd=project, stdout=log, stderr=subprocess.STDOUT, env=os.environ.copy())
        peak = 0
        while process.poll() is None:
            peak = max(peak, memory(process))
            time.sleep(0.5)
    if process.returncode:
        raise SystemExit((project / "log.txt").read_text()[-2000:])
    size = sum(path.stat().st_size for path in (project / "data").rglob("*") if path.is_file())
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "peak_mib": round(peak / 2**20),
        "disk_mib": round(size / 2**20),
    }


def memory(process: psutil.Process) -> int:
    """Bytes of a process and all that it started."""
    held = 0
    for one in (process, *process.children(recursive=True)):
        try:
            held += one.memory_full_info().pss
        except psutil.Error:  # It has just ended.
            continue
    return held


if __name__ == "__main__":
    main()
