"""Does memory stay flat as data grows? The data stages and the training loader over 10,000 and 1,000,000 passages.

A million passages of the sample take about half an hour on two cores and 4 GB of disk.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from perf.commands import project_in
from perf.watch import watched

KINDS = ("stories", "clozes", "tales", "exams", "summaries", "news", "rows")
BATCHES = 20
"""How many the loader makes."""


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print and return."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--passages", type=int, nargs="+", default=[10_000, 1_000_000], help="sizes, the first to compare"
    )
    parser.add_argument("--folder", help="where to work; default: the system's folder for temporary files")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.load:
        load(chosen.load)
        return {}
    sizes = {}
    for count in chosen.passages:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            sizes[f"{count}"] = run(project_in(Path(folder)), count)
            print(count, json.dumps(sizes[f"{count}"]), flush=True)
    result = {
        "passages": sizes,
        "peak_beside_the_first": _growth([size["peak_mib"] for size in sizes.values()]),
        "loader_beside_the_first": _growth([size["loader"]["peak_mib"] for size in sizes.values()]),
    }
    print(json.dumps(result, indent=1))
    return result


def _growth(peaks: list[int]) -> list[float]:
    return [round(other / peaks[0], 3) for other in peaks[1:]]


def run(project: Path, count: int) -> dict[str, Any]:
    """One command over so many dialogues, from the generator to tokens; then the loader in a process of its own."""
    settings = [f"dialogues.train={count}", "dialogues.dev=100"]
    settings += [f"{kind}.{split}=0" for kind in KINDS for split in ("train", "dev")]
    params = [f"benchmarks.sample.generator.{one}" for one in settings]
    (project / "conf/local/parameters.yml").parent.mkdir(exist_ok=True)
    (project / "conf/local/parameters.yml").write_text("benchmarks: { sample: { shards: null } }\n")
    command = [Path(sys.executable).parent / "kedro", "run", "--pipelines", "ingestion,tagging,tokenization"]
    command += ["--namespaces", "sample", "--params", ",".join(params)]
    took = watched(command, folder=project, environment=os.environ)
    size = sum(path.stat().st_size for path in (project / "data").rglob("*") if path.is_file())
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    loaded = watched([sys.executable, "-m", "perf.scale", "--load", str(project)], folder=project, environment=here)
    return took._asdict() | {"disk_mib": round(size / 2**20), "loader": loaded._asdict()}


def load(project: Path) -> None:
    """The first batches of an epoch, as training has them."""
    from coattend.training.batching import LengthBuckets
    from perf.prepared import SAMPLE, Prepared

    plan = Prepared(project, None, (SAMPLE,)).plan(SAMPLE, "plain")
    train, _ = plan.training_questions()
    collator = plan.collator(plan.build(train).train(), train)
    budget = plan.training.tokens_per_batch
    buckets = LengthBuckets.of(train.examples, collator.sequence_length, tokens_per_batch=budget)
    for batch in islice(buckets, BATCHES):
        collator([train.examples[row] for row in batch])


if __name__ == "__main__":
    main()
