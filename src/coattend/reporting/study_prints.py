"""Tables of a study's analyses."""

from collections.abc import Iterable, Iterator, Mapping
from statistics import mean
from typing import Any

from coattend.reporting.tables import LABELS, NONE, Cell, Table, measured, place

Shown = tuple[tuple[str, ...], list[Table]]
"""Paragraphs and tables."""


def ensembles(results: Mapping[str, Any]) -> Shown:
    """Trials of one variant that answer together."""
    text = (
        "All trials together, the best 70 % of them by their held-out scores, from four trials on, and a greedy "
        "choice. Options and words are chosen by the mean of probabilities, spans by the most votes. The greedy choice "
        "is made on dev, so that its gain there is too good.",
    )
    tables = []
    for benchmark, by_variant in _of(results, "ensemble"):
        rows = [row for found in by_variant.values() for row in found]
        ways = list(dict.fromkeys(row["how"] for row in rows))
        heads = ("Variant", "One trial, mean", *(how.capitalize() for how in ways), "Printed")
        for split, group, metric in dict.fromkeys((row["split"], row["group"], row["metric"]) for row in rows):
            here, body = {"split": split, "group": group, "metric": metric}, []
            for name, found in by_variant.items():
                title, alone = results["variants"][name]["title"], {"benchmark": benchmark, "variant": name}
                single = _row(results["rows"], here | alone)
                together = [_together(_row(found, here | {"how": how})) for how in ways]
                mean_of_trials = NONE if single is None else f"{single['mean']:.1f}"
                body.append((Cell(title), Cell(mean_of_trials), *together, Cell(_printed(single))))
            caption = f"{benchmark}, {place(split, group)}: {LABELS[metric]}"
            tables.append(Table(caption, tuple(map(Cell, heads)), tuple(body)))
    return text, tables


def _row(rows: Iterable[Mapping[str, Any]], here: Mapping[str, str]) -> Mapping[str, Any] | None:
    """The first row of a place."""
    return next((row for row in rows if here.items() <= row.items()), None)


def _together(row: Mapping[str, Any] | None) -> Cell:
    return Cell(NONE) if row is None else measured(row, f"seeds {', '.join(map(str, row['seeds']))}")


def _printed(row: Mapping[str, Any] | None) -> str:
    """What is printed for an ensemble."""
    values = [one["value"] for one in row["printed"] if one["ensemble"]] if row else []
    return f"{values[0]:g}" if values else NONE


def examples(results: Mapping[str, Any]) -> Shown:
    """What each variant answers to the study's examples. One that is found on a benchmark is not missed on others."""
    tables, missing = [], []
    there = [one for _, found in _of(results, "predictions") for one in found if "missing" not in one]
    known = {name for one in there for name in (one["question_id"], one["question"])}
    for benchmark, found in _of(results, "predictions"):
        missing += [
            f"“{one['question']}” is not among the questions of {benchmark}."
            for one in found
            if "missing" in one and one["question"] not in known
        ]
        tables += [_example(results, one) for one in found if "missing" not in one]
    return tuple(missing), tables


def _example(results: Mapping[str, Any], example: Mapping[str, Any]) -> Table:
    gold = " / ".join(dict.fromkeys(example["gold"])) or "no answer"
    options = f" Options: {'; '.join(example['options'])}." if example["options"] else ""
    rows = tuple(
        (
            Cell(results["variants"][name]["title"]),
            Cell("; ".join(dict.fromkeys(one["answer"] or "no answer" for one in by_seed.values())) or NONE),
            Cell(f"{sum(one['right'] for one in by_seed.values())} of {len(by_seed)}"),
            Cell(_printed_answer(example, name)),
        )
        for name, by_seed in example["answers"].items()
    )
    caption = f"{example['question']} Gold: {gold}.{options}"
    return Table(caption, tuple(map(Cell, ("Variant", "Answer", "Right", "Printed"))), rows, aligned=False)


def _printed_answer(example: Mapping[str, Any], variant: str) -> str:
    """The answer that the paper prints; an option's place counts from 1 there."""
    printed = example["printed"].get(variant)
    if isinstance(printed, int) and example["options"]:
        return example["options"][printed - 1] if 0 < printed <= len(example["options"]) else NONE
    return NONE if printed is None else str(printed)


def reranked(results: Mapping[str, Any]) -> Shown:
    """The best candidates, ranked again by language models."""
    tables = []
    for benchmark, by_variant in _of(results, "reranking"):
        rows = tuple(
            (Cell(results["variants"][name]["title"]), Cell(where), *cells)
            for name, changed in by_variant.items()
            for where, cells in _changes(changed["splits"])
        )
        heads = ("Variant", "Where", "Before", "After", "Right among the best", "Gained", "Lost")
        tables.append(Table(f"{benchmark}, accuracy, mean over seeds", tuple(map(Cell, heads)), rows))
    return ("Weights are tuned on one half of dev and used on the other.",), tables


def _changes(splits: Mapping[str, Any]) -> Iterator[tuple[str, list[Cell]]]:
    for split, by_group in splits.items():
        for group, found in by_group.items():
            seeds = list(found["seeds"].values())
            keys = ("before", "after", "right_among_n_best", "gained", "lost")
            cells = [Cell(f"{mean(seed[key] for seed in seeds):.1f}") for key in keys]
            yield place(split, group), cells


def _of(results: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """An analysis by benchmark."""
    for benchmark, found in results["analyses"].items():
        if name in found:
            yield benchmark, found[name]
