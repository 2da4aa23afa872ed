"""The tables of what the readers are and what they cost."""

from typing import Any

from coattend.reporting.tables import NONE, Cell, Table

MIB_PER_GIB = 1024


def costs(results: dict[str, Any]) -> Table:
    """One row for every reader, those that were not run among them."""
    heads = (
        Cell("Reader"),
        Cell("Seeds"),
        Cell("Parameters", ("trained",)),
        Cell("Training", ("a seed",)),
        Cell("Questions a second", ("in training",)),
        Cell("Peak memory"),
        Cell("Device"),
        Cell("Tagger"),
    )
    rows = [(Cell(name), *_cost(entry)) for name, entry in results["readers"].items()]
    return Table("", heads, tuple(rows))


def _cost(entry: dict[str, Any]) -> list[Cell]:
    if entry["metrics"] is None:
        return [Cell("not run"), *[Cell(NONE)] * 6]
    every = entry["metrics"]["trials"]
    trials = [trial for trial in every if not trial.get("failure")]
    lost = len(every) - len(trials)
    numbers = ", ".join(str(trial["seed"]) for trial in trials)
    seeds = [f"seed {numbers}"] * bool(trials) + [f"{lost} failed"] * bool(lost)
    memory = _mean(trials, "peak_memory_mib")
    return [
        Cell(str(len(trials)), tuple(seeds)),
        Cell(_number(_mean(trials, "parameters"), "{:,.0f}")),
        Cell(duration(_mean(trials, "seconds"))),
        Cell(_number(_mean(trials, "questions_per_second"), "{:,.1f}")),
        Cell(_number(memory and memory / MIB_PER_GIB, "{:.1f} GiB")),
        Cell(_distinct(trials, "device"), (_distinct(trials, "precision"),)),
        Cell(_distinct(trials, "tagger")),
    ]


def options(results: dict[str, Any]) -> tuple[Table, Table]:
    """What the readers are set to: first what differs between them, then what is the same for all."""
    settings = {
        name: _settings(entry["metrics"]["trials"])
        for name, entry in results["readers"].items()
        if entry["metrics"] is not None
    }
    return apart(settings)


def apart(settings: dict[str, dict[str, str]]) -> tuple[Table, Table]:
    """Settings in two tables: first those that differ, then those that are the same.

    Args:
        settings: Whose they are, to setting to value.
    """
    heads = tuple(map(Cell, ("Setting", *settings)))
    keys = sorted({key for values in settings.values() for key in values})
    rows = {key: [values.get(key, NONE) for values in settings.values()] for key in keys}
    differ, same = (
        tuple(tuple(map(Cell, (key, *row))) for key, row in rows.items() if (len(set(row)) == 1) == equal)
        for equal in (False, True)
    )
    return (
        Table("Settings that differ", heads, differ, aligned=False),
        Table("Settings that are the same", heads, same, aligned=False),
    )


def _settings(trials: list[dict[str, Any]]) -> dict[str, str]:
    """Of the first trial that has any; a reader's trials differ by their seed alone."""
    for trial in trials:
        if "options" in trial:
            own = {"encoder": trial.get("encoder")} if trial.get("encoder") else {}
            training = {f"training.{key}": value for key, value in trial.get("training", {}).items()}
            return {key: shown(value) for key, value in (own | trial["options"] | training).items()}
    return {}


def shown(value: Any) -> str:
    """A setting's value as text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _mean(trials: list[dict[str, Any]], key: str) -> float | None:
    values = [trial[key] for trial in trials if trial.get(key) is not None]
    return sum(values) / len(values) if values else None


def _number(value: float | None, form: str) -> str:
    return NONE if value is None else form.format(value)


def duration(seconds: float | None) -> str:
    """Seconds as text, long ones in minutes."""
    if seconds is None:
        return NONE
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _distinct(trials: list[dict[str, Any]], key: str) -> str:
    return ", ".join(sorted({str(trial[key]) for trial in trials if trial.get(key)})) or NONE
