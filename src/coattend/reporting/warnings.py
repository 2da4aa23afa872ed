"""Warnings of trials, each once, with the trials that raise it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from coattend.evaluation.alarms import alarms


def warnings(by_name: Mapping[str, Iterable[dict[str, Any]]]) -> Iterator[str]:
    """What looks wrong, and with which trials.

    Args:
        by_name: Trials by what they are called together; those that failed raise nothing.
    """
    raised: dict[str, dict[str, list[str]]] = {}
    for name, trials in by_name.items():
        for trial in trials:
            for sentence in alarms(trial.get("signs", {})):
                raised.setdefault(sentence, {}).setdefault(name, []).append(str(trial["seed"]))
    for sentence, names in raised.items():
        who = "; ".join(f"{name}, seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}" for name, seeds in names.items())
        yield f"Warning, {who}: {sentence}"


def unwatched(trials: Iterable[dict[str, Any]]) -> Iterator[str]:
    """That there are trials of which no warning can be given."""
    count = sum(not trial.get("failure") and "signs" not in trial for trial in trials)
    if count:
        trials_were, them = ("1 trial was", "it") if count == 1 else (f"{count:,} trials were", "them")
        yield f"{trials_were} trained before such things were noted: nothing here warns of {them}."


def asked_in_part(benchmark: str, share: float) -> Iterator[str]:
    """That not all questions are asked.

    Args:
        benchmark: What they belong to.
        share: That of the questions that are asked.
    """
    if share < 1:
        yield f"{benchmark}: {100 * share:.3g} % of the questions to score are asked, drawn by their ids."


def study_warnings(results: dict[str, Any]) -> Iterator[str]:
    """What looks wrong with a study's trials, and what they were not asked.

    Args:
        results: What `coattend.reporting.study_table.results_of` returned.
    """
    # Trials that are asked the questions of several benchmarks are named once, by what they were trained on.
    elsewhere = results.get("trained_on", {})
    by_name = {
        f"{results['variants'][variant]['title']} on {elsewhere.get(benchmark, {}).get(variant, benchmark)}": trials
        for benchmark, of_benchmark in results["trials"].items()
        for variant, trials in of_benchmark.items()
    }
    for benchmark, found in results["analyses"].items():
        yield from asked_in_part(benchmark, found.get("scored", 1))
    yield from warnings(by_name)
    yield from unwatched(trial for trials in by_name.values() for trial in trials)
