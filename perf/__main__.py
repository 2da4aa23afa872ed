"""All measurements; they go to ``perf/results.json`` with a description of the machine, and to ``docs/performance.md``.

Each is written as soon as it is made, so that a run that is cut off keeps what it has.
"""

import argparse
import json
import os
import platform
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from perf import (
    commands,
    data_stages,
    frozen,
    inference,
    interactions,
    leads,
    overhead,
    page,
    profiled,
    scale,
    switches,
    training,
)
from perf.prepared import ROOT, SAMPLE, Prepared, at_hand

WRITTEN = ("perf/results.json", "docs/performance.md")
RESULTS, PAGE = (ROOT / one for one in WRITTEN)

READERS: dict[str, Callable[[Prepared, int, int], dict[str, Any]]] = {
    "options": training.options,
    "spans": training.spans,
    "recurrent": training.recurrent,
    "rate": training.rate,
    "turns": training.turns,
    "profiled": profiled.measure,
    "leads": leads.measure,
    "switches": switches.measure,
    "frozen": frozen.measure,
    "inference": inference.measure,
    "overhead": overhead.measure,
}
"""What is measured on readers, with rounds and batches a round."""

OTHERS = ("commands", "interactions", "data_stages")


def main() -> None:
    """Measure what there is data for."""
    parser = argparse.ArgumentParser(
        prog="python -m perf", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("only", nargs="*", help=f"what to measure: {', '.join((*READERS, *OTHERS, 'scale'))}")
    parser.add_argument(
        "--raw", type=Path, default=os.environ.get("COATTEND_RAW"), help="folder with benchmarks; default $COATTEND_RAW"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison")
    parser.add_argument("--batches", type=int, default=5, help="batches a round")
    chosen = parser.parse_args()
    unknown = set(chosen.only) - {*READERS, *OTHERS, "scale"}
    if unknown:
        parser.error(f"nothing is called {', '.join(sorted(unknown))}")
    wanted = chosen.only or [*OTHERS, *READERS]
    raw = ["--raw", str(chosen.raw)] if chosen.raw else []
    for name in (name for name in OTHERS if name in wanted):
        note(name, other(name, raw, chosen.raw))
    if set(wanted) & set(READERS):
        prepared = Prepared.of([SAMPLE, *at_hand(chosen.raw, ("dream", "squad_v1", "cbt"))])
        for name in (name for name in READERS if name in wanted):
            print(f"measuring {name}", flush=True)
            note(name, READERS[name](prepared, chosen.rounds, chosen.batches))
    if "scale" in wanted:
        note("scale", scale.main([]))
    print(f"written to {RESULTS} and {PAGE}")


def other(name: str, raw: list[str], folder: Path | None) -> Any:
    """What is measured without a reader on real questions."""
    if name == "commands":
        return commands.main(raw)
    if name == "interactions":
        return interactions.main([])
    return {one: data_stages.main([*raw, "--benchmark", one]) for one in at_hand(folder, ("dream", "race"))}


def note(name: str, figures: Any) -> None:
    """Keep what was measured, and show it; what there was no data for leaves what was measured before."""
    if not figures:
        return
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[name] = {"machine": machine(), "measured": datetime.now(UTC).date().isoformat(), "figures": figures}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page.of(results))


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    info = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
    flags = next((line.split(":")[1].split() for line in info if line.startswith("flags")), [])
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "threads": int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
        "bf16": [flag for flag in flags if flag in ("avx512_bf16", "amx_bf16")],
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers")},
        "code": _code(),
    }


def _code() -> str:
    """The commit, and whether anything but these results differs from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--", ".", *(f":!{one}" for one in WRITTEN))
    return git("describe", "--always") + ("-dirty" if changed else "")


if __name__ == "__main__":
    main()
