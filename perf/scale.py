"""Does memory stay flat as data grows? The data stages over 10,000 and over 1,000,000 passages of the sample.

A million passages take about half an hour on two cores and 4 GB of disk.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perf.commands import project_in
from perf.watch import watched

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
    command = [Path(sys.executable).parent / "kedro", "run", "--pipelines", "ingestion,tagging,tokenization"]
    command += ["--namespaces", "sample", "--params", ",".join(params)]
    took = watched(command, folder=project, environment=os.environ)
    size = sum(path.stat().st_size for path in (project / "data").rglob("*") if path.is_file())
    return took._asdict() | {"disk_mib": round(size / 2**20)}


if __name__ == "__main__":
    main()
