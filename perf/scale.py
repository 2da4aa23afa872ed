"""Memory as data grows: the data stages and the training loader over 10,000 and 1,000,000 passages.

A million passages of the sample take about half an hour on two cores and 4 GB of disk.
"""

import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from coattend.trials.build import build_collator, build_reader
from perf.commands import ROOT, clean_environment, new_project
from perf.timing import watch

PASSAGES = (10_000, 1_000_000)
KINDS = ("stories", "clozes", "tales", "exams", "summaries", "news", "rows")
"""Parts of the sample that are left out: all but dialogues."""
BATCHES = 20
"""Batches that the loader makes."""


def measure(passages: Sequence[int] = PASSAGES) -> dict[str, Any]:
    """Measure each size in a project of its own, and compare its memory with the first one's."""
    sizes = {}
    for count in passages:
        with tempfile.TemporaryDirectory() as folder:
            sizes[f"{count}"] = run_stages(new_project(Path(folder)), count)
    return {
        "passages": sizes,
        "peak_beside_the_first": growth([size["peak_mib"] for size in sizes.values()]),
        "loader_beside_the_first": growth([size["loader"]["peak_mib"] for size in sizes.values()]),
    }


def growth(peaks: Sequence[int]) -> list[float]:
    """Return the later peaks as multiples of the first."""
    return [round(peak / peaks[0], 3) for peak in peaks[1:]]


def run_stages(project: Path, count: int) -> dict[str, Any]:
    """Run the stages over so many dialogues as one command, then the loader in a process of its own."""
    sizes = [f"dialogues.train={count}", "dialogues.dev=100"]
    sizes += [f"{kind}.{split}=0" for kind in KINDS for split in ("train", "dev")]
    params = ",".join(f"benchmarks.sample.generator.{size}" for size in sizes)
    local = project / "conf/local/parameters.yml"
    local.write_text("benchmarks: { sample: { shards: null } }\n")
    command: list[str | Path] = [
        Path(sys.executable).parent / "kedro",
        "run",
        "--pipelines",
        "ingestion,tagging,tokenization",
    ]
    command += ["--namespaces", "sample", "--params", params]
    stages = watch(command, folder=project, environment=clean_environment())
    size = sum(path.stat().st_size for path in (project / "data").rglob("*") if path.is_file())
    environment = clean_environment() | {"PYTHONPATH": str(ROOT)}
    loader = watch([sys.executable, "-m", "perf.scale", project], folder=project, environment=environment)
    return stages._asdict() | {"disk_mib": round(size / 2**20), "loader": loader._asdict()}


def load(project: Path) -> None:
    """Make the first batches of an epoch, as training does."""
    from perf.prepared import SAMPLE, Prepared
    from perf.recipes import buckets_of

    experiment = Prepared(project, None, (SAMPLE,)).experiment(SAMPLE, "plain")
    train = experiment.training_questions().train
    collator = build_collator(experiment, build_reader(experiment, train).train(), train)
    for batch in islice(buckets_of(experiment, train, collator), BATCHES):
        collator([train.examples[row] for row in batch])


if __name__ == "__main__":
    load(Path(sys.argv[1]))
