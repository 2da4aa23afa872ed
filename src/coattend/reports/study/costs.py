"""Costs of a study's variants: parameters, time and memory; and their scores on what they learned from."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from statistics import mean

from coattend.config.study import QUANTITIES
from coattend.evaluation.records import TrialRecord
from coattend.evaluation.runs import finished
from coattend.reports import provenance
from coattend.reports.records import Numbers, StudyFindings
from coattend.reports.render import Section
from coattend.reports.study import paper_numbers
from coattend.reports.study.table import title_of, trials_by_training_benchmark
from coattend.reports.tables import NO_VALUE, Cell, Table, cells, noted_cell

COSTS = {"parameters", "peak_memory", "seconds_per_epoch", "training_score"}
"""Names by which a study asks for the table of costs."""


def cost_section(findings: StudyFindings) -> Section | None:
    """Write a section about parameters and training times, if the study asks for them."""
    if not COSTS & set(findings["shows"]):
        return None
    text = ["Minutes are those of a variant's fastest trial: what else a machine does makes the others slower."]
    if "peak_memory" in findings["shows"]:
        text.append("Memory is the process's, or on a GPU the allocator's, at its peak during training.")
    if "training_score" in findings["shows"]:
        text.append(
            "The score on training questions is that of the kept checkpoint on some of what it learned from, by the "
            "metric that chooses checkpoints."
        )
    if findings["protocol"] == "frozen":
        text.append("Parameters are those that are trained; papers count the encoder's, too.")
    text += _summed_times(findings)
    return Section("What variants cost", tuple(text), tuple(_cost_tables(findings)))


def _cost_tables(findings: StudyFindings) -> Iterator[Table]:
    """List parameters and time per epoch of the variants that were trained on each benchmark."""
    blocks = [block for block in findings["printed"] if not block["ensemble"]]
    printed = (f"Printed, {block['encoder']}" for block in blocks)
    measures = {
        "peak_memory": (QUANTITIES["peak_memory_gb"], _peak_memory),
        "training_score": (QUANTITIES["training_score"], _training_score),
    }
    optional = dict(measures[name] for name in measures if name in findings["shows"])
    columns = cells("Variant", QUANTITIES["parameters_millions"], QUANTITIES["minutes_per_epoch"], *optional, *printed)
    for benchmark, by_variant in trials_by_training_benchmark(findings).items():
        finished_trials = {name: trials for name, records in by_variant.items() if (trials := finished(records))}
        machines = sorted({provenance.machine(trial) for trial in chain.from_iterable(finished_trials.values())})
        rows = []
        for name, trials in finished_trials.items():
            parameters = [trial["parameters"] / 1e6 for trial in trials if trial.get("parameters")]
            fastest = _fastest(trials)
            machine = provenance.machine(fastest) if len(machines) > 1 else ""
            minutes = f"{_seconds_per_epoch(fastest) / 60:.1f}"
            rows.append(
                cells(
                    title_of(findings, name),
                    _format_mean(parameters, "{:.2f}"),
                    noted_cell(minutes, f"{fastest['questions']:,} questions", _untrained_note(trials), machine),
                    *(measure(trials) for measure in optional.values()),
                    *(_printed_costs(paper_numbers.printed_numbers(block, name), benchmark) for block in blocks),
                )
            )
        if rows:
            caption = f"{benchmark}, {machines[0]}" if len(machines) == 1 else benchmark
            yield Table(caption, columns, tuple(rows))


def _summed_times(findings: StudyFindings) -> Iterator[str]:
    """Compare the times of variants that have baselines of their own with those of these baselines, each summed up.

    Pairs whose fastest trials ran on two machines are left out.
    """
    against = {name: other for name, variant in findings["variants"].items() if (other := variant.get("against"))}
    for benchmark, by_variant in trials_by_training_benchmark(findings).items():
        fastest = {name: _fastest(trials) for name, records in by_variant.items() if (trials := finished(records))}
        seconds = {name: _seconds_per_epoch(trial) for name, trial in fastest.items()}
        pairs = {
            name: other
            for name, other in against.items()
            if {name, other} <= fastest.keys() and fastest[name]["device"] == fastest[other]["device"]
        }
        measured = _summed_increase(seconds, pairs)
        if measured is None:
            continue
        printed = []
        for block in findings["printed"]:
            numbers = {
                name: paper_numbers.printed_numbers(block, name, benchmark).get("minutes_per_epoch")
                for name in findings["variants"]
            }
            minutes = {name: float(time) for name, time in numbers.items() if isinstance(time, int | float)}
            increase = _summed_increase(minutes, pairs)
            printed += [] if increase is None else [f"printed times: {increase:+.1f} %, {block['encoder']}"]
        titles = ", ".join(title_of(findings, name) for name in pairs)
        note = f" ({'; '.join(printed)})" if printed else ""
        compared = f"those of the variants that they are compared with{note}"
        yield f"{benchmark}: summed up, the times of {titles} differ by {measured:+.1f} % from {compared}."


def _summed_increase(times: Mapping[str, float], pairs: Mapping[str, str]) -> float | None:
    """Increase in percent of the times of variants over those of their baselines; None without a pair."""
    timed = [(times[name], times[against]) for name, against in pairs.items() if name in times and against in times]
    variants, baselines = (sum(column) for column in zip(*timed, strict=True)) if timed else (0.0, 0.0)
    return 100 * (variants / baselines - 1) if baselines else None


def _untrained_note(trials: Sequence[TrialRecord]) -> str:
    """Say of a language model as it is what its time is that of; empty for trained variants."""
    return "" if all(trial.get("trained", True) for trial in trials) else "answered, none trained"


def _fastest(trials: Sequence[TrialRecord]) -> TrialRecord:
    """Select the trial that other processes disturbed least."""
    return min(trials, key=_seconds_per_epoch)


def _seconds_per_epoch(trial: TrialRecord) -> float:
    return trial["questions"] / trial["questions_per_second"] if trial["questions_per_second"] else 0.0


def _peak_memory(trials: Sequence[TrialRecord]) -> Cell:
    # Papers count in units of 10^9 bytes or of 2^30, and do not say which.
    peaks = [memory * 2**20 / 1e9 for trial in trials if (memory := trial.get("peak_memory_mib"))]
    return Cell(f"{max(peaks):.1f}" if peaks else NO_VALUE)


def _training_score(trials: Sequence[TrialRecord]) -> Cell:
    scores = [100 * score for trial in trials if (score := trial.get("training_score")) is not None]
    asked = max((trial.get("training_sample", 0) for trial in trials), default=0)
    return noted_cell(_format_mean(scores, "{:.1f}"), f"{asked:,} questions" if scores else "")


def _printed_costs(numbers: Mapping[str, Numbers], benchmark: str) -> str:
    parameters, on_benchmark = numbers.get("parameters_millions"), paper_numbers.as_mapping(numbers.get(benchmark, {}))
    costs = (
        (parameters, "million"),
        (on_benchmark.get("minutes_per_epoch"), "minutes"),
        (on_benchmark.get("peak_memory_gb"), "GB"),
        (on_benchmark.get("training_score"), "on training questions"),
    )
    return ", ".join(f"{cost:g} {unit}" for cost, unit in costs if isinstance(cost, int | float)) or NO_VALUE


def _format_mean(values: Sequence[float], template: str) -> str:
    return template.format(mean(values)) if values else NO_VALUE
