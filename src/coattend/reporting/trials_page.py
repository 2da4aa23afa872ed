"""The page of two trials: what they are, who is better, and every question."""

from collections.abc import Iterator, Mapping
from typing import Any

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.intervals import LEVEL
from coattend.evaluation.side_by_side import WINNERS
from coattend.reporting.notes import ENCODER_NOTE
from coattend.reporting.page import Section
from coattend.reporting.question_list import WINNER_NAMES
from coattend.reporting.settings import apart, duration, shown
from coattend.reporting.tables import LABELS, NONE, Cell, Table, bracket, measured, place, probability

SIDES = {"left": "Left", "right": "Right"}
_DIGEST = 8  # Characters that tell one from another.


def sections(
    contests: list[dict[str, Any]], trials: Mapping[str, dict[str, Any]], task: str, left_out: Mapping[str, int]
) -> list[Section]:
    """All but the list of questions.

    Args:
        contests: What `coattend.reporting.trial_comparison.contests` returned.
        trials: ``left`` and ``right`` to what the trial is and came to.
        task: What they answer.
        left_out: Splits that one of them was not asked, and how many questions they have.
    """
    differ, same = apart({SIDES[side]: _settings(trial) for side, trial in trials.items()})
    return [
        Section("In short", (_who(trials), *map(_sentence, contests)), (_outcomes(contests), _differences(contests))),
        Section("The trials", (), (_trials(trials), *([differ] if differ.rows else [])), (same,)),
        Section("What to keep in mind", tuple(_notes(contests, trials, task, left_out))),
    ]


def _who(trials: Mapping[str, dict[str, Any]]) -> str:
    left, right = (f"{trial['reader']} with seed {trial['seed']}" for trial in trials.values())
    return f"Left is {left}, Right is {right}."


def _sentence(contest: dict[str, Any]) -> str:
    metric, found = next(iter(contest["metrics"].items()))
    where = place(contest["split"], contest["group"])
    interval = f" {bracket(found, '+')}" if found["low"] is not None else ""
    return (
        f"On {where}, {LABELS[metric].lower()} of Left is {found['left']:.1f} %, of Right {found['right']:.1f} %: "
        f"{found['mean']:+.1f} points{interval}; McNemar’s exact p {_p(contest['mcnemar_p'])}."
    )


def _p(p: float) -> str:
    text = probability(p)
    return text.replace(" ", "\u00a0") if text.startswith("<") else f"=\u00a0{text}"


def _place(contest: dict[str, Any]) -> Cell:
    return Cell(contest["split"], () if contest["group"] == EVERYTHING else (contest["group"],))


def _outcomes(contests: list[dict[str, Any]]) -> Table:
    heads = ("Correct were", *(WINNER_NAMES[name].lower() for name in WINNERS), "questions")
    rows = tuple(
        (_place(one), *(Cell(f"{one['counts'][name]:,}") for name in WINNERS), Cell(f"{one['questions']:,}"))
        for one in contests
    )
    return Table("How many questions each answered correctly", tuple(map(Cell, heads)), rows)


def _differences(contests: list[dict[str, Any]]) -> Table:
    heads = ("", "Left", "Right", "Left less Right", "p, bootstrap", "p, McNemar")
    rows = tuple(
        (
            Cell(_place(one).text, (*_place(one).notes, LABELS[metric])),
            Cell(f"{found['left']:.1f}"),
            Cell(f"{found['right']:.1f}"),
            measured(found, sign="+"),
            Cell(probability(found["p"])),
            Cell(NONE if metric == "f1" else probability(one["mcnemar_p"])),
        )
        for one in contests
        for metric, found in one["metrics"].items()
    )
    return Table("Percent, and the difference in points", tuple(map(Cell, heads)), rows)


def _trials(trials: Mapping[str, dict[str, Any]]) -> Table:
    about = {
        "Trial": lambda one: one["trial_id"],
        "Reader": lambda one: one["reader"],
        "Seed": lambda one: str(one["seed"]),
        "Trained on": lambda one: f"{one['questions']:,} questions of {one['benchmark']}",
        "Training": lambda one: duration(one["seconds"]),
        "Parameters trained": lambda one: f"{one['parameters']:,}",
        "Device": lambda one: f"{one['device']}, {one['precision']}",
        "Tagger": lambda one: one["tagger"],
    }
    heads = tuple(map(Cell, ("", *SIDES.values())))
    rows = tuple((Cell(name), *(Cell(text(one)) for one in trials.values())) for name, text in about.items())
    return Table("What they are", heads, rows, aligned=False)


def _settings(trial: dict[str, Any]) -> dict[str, str]:
    named = {name: trial[name] for name in ("reader", "head", "seed", "encoder")}
    # Of the encoder's own file only what is not its name: its digest would say the same.
    named |= {f"encoder.{key}": value for key, value in trial["encoder_files"].items() if key != "digest"}
    training = {f"training.{key}": value for key, value in trial["training"].items()}
    digests = {"training questions, digest": trial["data"], "code of the reader, digest": trial["source"]}
    values = {key: shown(value) for key, value in (named | trial["options"] | training).items()}
    return values | {key: digest[:_DIGEST] for key, digest in digests.items()}


def _notes(
    contests: list[dict[str, Any]], trials: Mapping[str, dict[str, Any]], task: str, left_out: Mapping[str, int]
) -> Iterator[str]:
    yield (
        "These are two trainings. Intervals and p values say how the same two would fare with other questions, not "
        "how their readers would, trained with other seeds."
    )
    yield (
        f"In brackets: where the difference would lie for {100 * LEVEL:.0f} % of other draws of passages. McNemar’s "
        "test takes questions as independent, which those about one passage are not: where the two disagree, trust "
        "the bootstrap."
    )
    if task == "span":
        yield "Correct means an exact match. The mark beside an answer is its F1."
    if len({trial["data"] for trial in trials.values()}) > 1:
        yield "They were not trained on the same: their training questions, tokens or tags differ."
    for one in contests:
        for side, count in one["missing"].items():
            if count and one["group"] == EVERYTHING:
                yield f"{SIDES[side]} gave no answer to {count:,} questions of {one['split']}, which count as wrong."
    for split, count in left_out.items():
        yield f"{count:,} questions of {split} are left out: one of the two was not asked any of them."
    for side, trial in trials.items():
        if trial["selection"] == "dev":
            yield f"The checkpoint of {SIDES[side]} was chosen on dev, so its dev score is too good."
    if task == "span" and any(trial["encoder"] == "embedded" for trial in trials.values()):
        yield ENCODER_NOTE
