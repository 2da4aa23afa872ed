"""Measure speed and memory, each beside a peer or a limit.

Figures go to perf/results.json, with a description of the machine, and from there to docs/performance.md. Each is
written as soon as it is measured, so that a run that is cut off keeps what it has. ``python -m perf gpu`` is for a
machine with a GPU.
"""

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perf import (
    commands,
    data_stages,
    inference,
    interactions,
    likelihood,
    memory,
    overhead,
    page,
    passages,
    scale,
    training,
)
from perf.commands import ROOT
from perf.prepared import SAMPLE, Prepared, available

WRITTEN = ("perf/results.json", "docs/performance.md")
RESULTS, PAGE = (ROOT / file for file in WRITTEN)

READERS = {
    "options": training.options,
    "spans": training.spans,
    "recurrent": training.recurrent,
    "rate": training.rate,
    "frozen": training.frozen,
    "inference": inference.measure,
    "overhead": overhead.measure,
    "passages": passages.measure,
    "served": passages.measure_served,
    "memory": memory.measure,
    "likelihood": likelihood.measure,
}
"""Measurements of readers on real questions."""
BENCHMARKS = ("dream", "race", "squad_v1", "cbt")
BY_DEFAULT = ("commands", "interactions", "data_stages", *READERS)
NAMES = (*BY_DEFAULT, "scale")


def main() -> None:
    """Measure whatever there is data for, or plan a campaign on a GPU."""
    if sys.argv[1:2] == ["gpu"]:
        from perf.gpu.__main__ import main as plan_campaign

        plan_campaign(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(
        prog="python -m perf", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"measurements: {', '.join(NAMES)}; by default all but scale"
    )
    parser.add_argument(
        "--raw", type=Path, default=os.environ.get("COATTEND_RAW"), help="folder with benchmarks; default $COATTEND_RAW"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison")
    parser.add_argument("--batches", type=int, default=5, help="batches a round")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"nothing is called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if options.raw is not None:
        os.environ["COATTEND_RAW"] = str(options.raw.resolve())  # The data stages read there, too.
    names = options.names or BY_DEFAULT
    prepared = None
    for name in (name for name in NAMES if name in names):
        print(f"measuring {name}", flush=True)
        if name in READERS:
            prepared = prepared or Prepared.of([SAMPLE, *available(options.raw, BENCHMARKS)])
            figures = READERS[name](prepared, options.rounds, options.batches)
        else:
            figures = measure(name, options.raw, options.rounds)
        print(json.dumps(figures, indent=1), flush=True)
        record(name, figures)
    print(f"written to {RESULTS} and {PAGE}")


def measure(name: str, raw: Path | None, rounds: int) -> dict[str, Any]:
    """Measure something that needs no prepared questions."""
    if name == "commands":
        return commands.measure(raw)
    if name == "interactions":
        return interactions.measure(rounds)
    if name == "scale":
        return scale.measure()
    benchmarks = available(raw, ("dream", "race"))
    return {benchmark: data_stages.measure(raw, benchmark, rounds) for benchmark in benchmarks if raw is not None}


def record(name: str, figures: dict[str, Any]) -> None:
    """Store figures; where there was no data for any, the earlier ones stay."""
    if not figures:
        return
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    date = datetime.now(UTC).date().isoformat()
    results[name] = {"machine": page.machine(written=WRITTEN), "measured": date, "figures": figures}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page.renew(PAGE.read_text(), results))


if __name__ == "__main__":
    main()
