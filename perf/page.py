"""The page of all measurements: ``docs/performance.md``."""

from collections.abc import Callable, Mapping
from statistics import mean, stdev
from typing import Any, NamedTuple

from perf.leads import LEADS

Results = Mapping[str, Any]


class Goal(NamedTuple):
    """What is measured, beside what, what it should come to, and how to find what it came to.

    Attributes:
        what: What is measured.
        peer: Beside what.
        goal: What it should come to.
        of: Which measurement.
        found: What it came to, from the measurement's figures; KeyError where it was left out.
    """

    what: str
    peer: str
    goal: str
    of: str
    found: Callable[[Any], str]


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


def _times(ratio: Mapping[str, float]) -> str:
    return f"{ratio['ratio']:.1f} x [{ratio['least']:.1f}, {ratio['greatest']:.1f}]"


def _percent(ratio: Mapping[str, float]) -> str:
    return " %".join((f"{100 * ratio['ratio']:.0f}", f" [{100 * ratio['least']:.0f}, {100 * ratio['greatest']:.0f}]"))


def _rate(figures: Any) -> str:
    unit = "" if figures["matrix_units"] else ", no matrix units: no goal"
    return f"{_percent(figures['share'])} of {figures['gflops']['product']:.0f} GFLOP/s{unit}"


def _stages(name: str, show: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda figures: show(figures[name])


def _inference(figures: Any) -> str:
    return ", ".join(
        f"{task} {_times(one['faster'])}, in fp32 {one['faster_in_fp32']['ratio']:.1f} x"
        for task, one in figures.items()
    )


def _switches(figures: Any) -> str:
    shown = (f"{name} {mean(one):.1f} ± {stdev(one):.1f}" for name, one in figures["ways"].items())
    return ", ".join(shown)


GOALS = (
    Goal(
        "training, options, questions a second",
        "the stock multiple-choice example's recipe: random order, padded to the longest, fp32",
        "5 x",
        "options",
        lambda figures: _times(figures["faster_than"]["stock"]),
    ),
    Goal(
        "the same",
        "every sequence padded to 512, fp32, as the papers' released code",
        "12 x",
        "options",
        lambda figures: _times(figures["faster_than"]["padded to 512"]),
    ),
    Goal(
        "training, options, operations a second",
        "a product of 4096 x 384 x 1536 in bf16",
        "45 % where there are matrix units",
        "rate",
        _rate,
    ),
    Goal(
        "training, spans, questions a second",
        "the stock question-answering example's recipe: windows padded to 384, fp32",
        "3 x",
        "spans",
        lambda figures: _times(figures["faster_than"]["stock"]),
    ),
    *(
        Goal(
            f"training, {title}",
            "the same network, each question read alone",
            "5 x",
            "recurrent",
            _stages(reader, lambda one: _times(one["faster_than"]["one by one"])),
        )
        for reader, title in (("aoa_reader", "AoA Reader"), ("dcn_plus", "DCN+"))
    ),
    Goal(
        "frozen protocol, DUMA, a trial, once the encoder has read all",
        "fine-tuning it",
        "20 x",
        "frozen",
        lambda figures: (
            f"{_times(figures['trial_faster'])}, {figures['kept_kib_per_question']:.0f} KiB a question kept"
        ),
    ),
    Goal(
        "its steps alone, questions a second",
        "those of fine-tuning it",
        "",
        "frozen",
        lambda figures: _times(figures["faster"]),
    ),
    Goal(
        "inference, questions a second",
        "pipelines of `transformers` over the same encoder",
        "3 x",
        "inference",
        _inference,
    ),
    Goal(
        "data stages, RACE",
        "each passage tagged and tokenised for each option",
        "25 x",
        "data_stages",
        _stages("race", lambda one: _times(one["faster"])),
    ),
    Goal(
        "the same, seconds and memory of the whole command",
        "",
        "90 s, 2 GiB",
        "commands",
        _stages("race_data_stages", lambda one: f"{one['seconds']:.0f} s, {one['peak_mib'] / 1024:.2f} GiB"),
    ),
    Goal(
        "tokens on disk, RACE",
        "a padded file for each option, 64-bit numbers",
        "2 %",
        "data_stages",
        _stages("race", lambda one: f"{one['tokens_percent_of_features']:.2f} %"),
    ),
    Goal(
        "a batch's tensors",
        "its training step",
        "3 %",
        "options",
        lambda figures: f"{figures['percent_for_tensors']:.2f} %",
    ),
    Goal(
        "`plain` on the sample's dev, in fp32 and with questions that meet at random",
        "as it is; three seeds each",
        "within the spread of seeds",
        "switches",
        _switches,
    ),
    Goal(
        "memory of the data stages, 1,000,000 passages",
        "10,000 passages",
        "within 10 %",
        "scale",
        lambda figures: f"{figures['peak_beside_the_first'][-1]:.2f} x",
    ),
    Goal(
        "memory of the training loader, 1,000,000 passages",
        "10,000 passages",
        "within 10 %",
        "scale",
        lambda figures: f"{figures['loader_beside_the_first'][-1]:.2f} x",
    ),
    Goal("`kedro registry list`", "", "1.5 s", "commands", lambda figures: f"{figures['registry_list_seconds']:.2f} s"),
    Goal(
        "`kedro run` of one data node",
        "",
        "3 s",
        "commands",
        lambda figures: f"{figures['ingestion_again_seconds']:.2f} s",
    ),
    Goal(
        "going through a study's 100 trials, all trained already",
        "",
        "1 s",
        "overhead",
        lambda figures: f"{figures['seconds']:.2f} s",
    ),
    Goal(
        "`make run`, set up already",
        "",
        "180 s",
        "commands",
        lambda figures: f"{figures['default_run']['seconds']:.0f} s",
    ),
)


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
        rows.append(f"| {lead.what} | {lead.expected} | {_times(ratio)} | {lead.kept} |")
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
