"""The page of all measurements: ``docs/performance.md``."""

from collections.abc import Mapping
from typing import Any

from perf import limits
from perf.goals import GOALS, Goal, times
from perf.leads import LEADS

Results = Mapping[str, Any]


def of(results: Results) -> str:
    """The page, in Markdown."""
    parts = (HEAD, _dropout(results), _goals(results), *_limits(results), *_leads(results))
    return "\n\n".join((*parts, _machines(results), *_details(results))) + "\n"


HEAD = """\
# Performance

<!-- Written by `make bench` from perf/results.json: change perf/, not this file. -->

`make bench` measures this again on your machine. A speed beside another is a ratio in one run: ours and the peer take
turns, with the same model, the same dropout and the same questions, and the median of all rounds counts; brackets hold
the least and the greatest. Seconds without a peer are those of one command, the shortest commands' a median. `python -m
perf --help` says how to measure one thing alone, and what is measured is described where it is done, in `perf/`. Memory
as data grows takes half an hour and 4 GB, and is measured by itself: `python -m perf scale`."""


DROPOUT = """\
Dropout is 0 in MiniLM, on both sides of every ratio: that is the default here (`conf/base/parameters/encoders.yml`),
and what ALBERT v2's own configuration and DUMA's released code have. Readers of words have their own, on both sides.
{cost}"""


LEADS_HEAD = """\
The training step of the plain reader on {benchmark}, beside the same step with this one thing undone. What was expected
comes from profiles of a plain loop on two cores with matrix units, and from arithmetic."""


def _dropout(results: Results) -> str:
    try:
        cost = f"0.1 would make our step {times(results['leads']['figures']['faster']['no dropout'])} as long."
    except KeyError:
        cost = "What 0.1 costs was not measured."
    return DROPOUT.format(cost=cost)


def _limits(results: Results) -> list[str]:
    """Why goals were missed, as far as the figures say."""
    found = limits.sentences(results)
    head = "What follows from the figures on this page, for goals that were missed."
    return ["## What holds it back", head, "\n".join(f"- {one}" for one in found)] if found else []


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
