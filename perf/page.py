"""The page of all measurements: ``docs/performance.md``."""

from collections.abc import Mapping
from typing import Any

from perf.goals import GOALS, Goal, times
from perf.leads import LEADS

Results = Mapping[str, Any]


def of(results: Results) -> str:
    """The page, in Markdown."""
    return "\n\n".join((HEAD, _goals(results), *_leads(results), _machines(results), *_details(results))) + "\n"


HEAD = """\
# Performance

<!-- Written by `make bench` from perf/results.json: change perf/, not this file. -->

`make bench` measures this again on your machine. A speed beside another is a ratio in one run: ours and the peer take
turns, with the same model, the same dropout and the same questions, and the median of all rounds counts; brackets hold
the least and the greatest. Seconds without a peer are those of one command, the shortest commands' a median. `python -m
perf --help` says how to measure one thing alone, and what is measured is described where it is done, in `perf/`. Memory
as data grows takes half an hour and 4 GB, and is measured by itself: `python -m perf scale`."""


LEADS_HEAD = """\
The training step of the plain reader on {benchmark}, beside the same step with this one thing undone. What was expected
comes from profiles of a plain loop on two cores with matrix units, and from arithmetic."""


def _goals(results: Results) -> str:
    rows = ["| what | beside | goal | measured |", "|---|---|---|---|"]
    for goal in GOALS:
        rows.append(f"| {goal.what} | {goal.peer} | {goal.goal} | {_found(goal, results)} |")
    return "\n".join(rows)


def _found(goal: Goal, results: Results) -> str:
    try:
        return goal.found(results[goal.of]["figures"])
    except (KeyError, TypeError):
        return "not measured"


def _leads(results: Results) -> list[str]:
    """What each way to be fast should bring, and what it brings."""
    if "leads" not in results:
        return []
    figures = results["leads"]["figures"]
    rows = ["| what | expected | measured | in our step |", "|---|---|---|---|"]
    for name, ratio in figures["faster"].items():
        lead = LEADS[name]
        rows.append(f"| {lead.what} | {lead.expected} | {times(ratio)} | {lead.kept} |")
    return ["## What each way to be fast brings", LEADS_HEAD.format(**figures), "\n".join(rows)]


def _machines(results: Results) -> str:
    rows = [
        "## Where",
        "| measurement | processor | cores, threads | bf16 | date | code |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in results.items():
        machine = one["machine"]
        units = ", ".join(machine["bf16"]) or "none"
        cores = f"{machine['cores']}, {machine['threads']}"
        rows.append(f"| {name} | {machine['processor']} | {cores} | {units} | {one['measured']} | {machine['code']} |")
    return rows[0] + "\n\n" + "\n".join(rows[1:])


def _details(results: Results) -> list[str]:
    """Questions a second of each way."""
    rows = ["| what | on | questions a second |", "|---|---|---|"]
    for name, figures in _with_rates(results):
        rates = ", ".join(f"{way} {rate:g}" for way, rate in figures["questions_per_second"].items())
        rows.append(f"| {name} | {figures['benchmark']} | {rates} |")
    return ["## Questions a second", "\n".join(rows)] if len(rows) > 2 else []


def _with_rates(results: Results) -> list[tuple[str, Any]]:
    found = [(f"training, {name}", results[name]["figures"]) for name in ("options", "spans") if name in results]
    for kind, title in (("recurrent", "training"), ("inference", "inference")):
        if kind in results:
            found += [(f"{title}, {name}", one) for name, one in results[kind]["figures"].items()]
    return found
