"""What a reader of the page has to keep in mind: what was left out, what failed, what is too good."""

from collections.abc import Iterator
from typing import Any

from coattend.reporting.warnings import asked_in_part, unwatched, warnings

ENCODER_NOTE = (
    "The embedded MiniLM encoder was tuned on sentence pairs that include the questions of SQuAD and TriviaQA: it has "
    "seen questions of this kind, so span results with it may be too good."
)


def trials(results: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The trials of all readers."""
    for entry in results["readers"].values():
        if entry["metrics"] is not None:
            yield from entry["metrics"]["trials"]


def notes(results: dict[str, Any]) -> Iterator[str]:
    """One sentence for each thing.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    yield from asked_in_part(results["title"], results.get("scored", 1))
    yield from warned(results)
    yield from unwatched(trials(results))
    rejected = results["rejected"]
    yield f"Ingestion rejected {rejected['records']:,} records" + _reasons(rejected)
    yield from _missing(results)
    left_out = sum(len(trial.get("unreadable") or ()) for trial in trials(results))
    if left_out:
        yield f"{left_out:,} training questions could not be read and were left out, counted once for each trial."
    for name, entry in results["readers"].items():
        for trial in (entry["metrics"] or {"trials": ()})["trials"]:
            if trial.get("failure"):
                yield f"{name}, seed {trial['seed']}, failed: {trial['failure']}"
            elif trial.get("selection") == "dev":
                chosen = "checkpoints, and for spans the null threshold, were chosen on dev"
                yield f"{name}, seed {trial['seed']}: {chosen}, so its dev scores are too good."
    if any(_tuned_encoder(entry["metrics"]) for entry in results["readers"].values()):
        yield ENCODER_NOTE


def warned(results: dict[str, Any]) -> Iterator[str]:
    """What looks wrong with the trials of readers.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    run = {name: entry["metrics"] for name, entry in results["readers"].items() if entry["metrics"] is not None}
    return warnings({name: metrics["trials"] for name, metrics in run.items()})


def _reasons(rejected: dict[str, Any], shown: int = 5) -> str:
    reasons = [f"{count:,} × {reason}" for reason, count in list(rejected["reasons"].items())[:shown]]
    rest = len(rejected["reasons"]) - len(reasons)
    if rest:
        reasons.append(f"{rest:,} other reasons, see the rejected table")
    return f": {'; '.join(reasons)}." if reasons else "."


def _missing(results: dict[str, Any]) -> Iterator[str]:
    for name, entry in results["readers"].items():
        for reason, splits in (entry["metrics"] or {}).get("not_scored", {}).items():
            for split, count in splits.items():
                yield f"{name} is not scored on {count:,} questions of {split}: {reason}."
        for reason, count in (entry["metrics"] or {}).get("not_read", {}).items():
            yield f"{name} could not be given {count:,} questions, which count as wrong: {reason}."


def _tuned_encoder(metrics: dict[str, Any] | None) -> bool:
    """Whether a reader of spans may stand on the embedded encoder."""
    if metrics is None or metrics["task"] != "span":
        return False
    return any(trial.get("encoder", "embedded") == "embedded" for trial in metrics["trials"])
