"""Tables of a study's analyses."""

from collections.abc import Iterator, Mapping
from statistics import mean
from typing import Any

from coattend.reporting.tables import LABELS, NONE, Cell, Table

Shown = tuple[tuple[str, ...], list[Table]]
"""Paragraphs and tables."""


def ensembles(results: Mapping[str, Any]) -> Shown:
    """Trials of one variant that answer together."""
    text = (
        "All trials together, the best 70 % of them by their held-out scores, and a greedy choice. Options and words "
        "are chosen by the mean of probabilities, spans by the most votes. The greedy choice is made on dev, so that "
        "its gain there is too good.",
    )
    tables = []
    for benchmark, by_variant in _of(results, "ensemble"):
        rows = [(name, row) for name, found in by_variant.items() for row in found]
        for split, group, metric in dict.fromkeys((row["split"], row["group"], row["metric"]) for _, row in rows):
            where = split if group == "all" else f"{split}, {group}"
            ways = list(dict.fromkeys(row["how"] for _, row in rows))
            body = tuple(
                (
                    Cell(results["variants"][name]["title"]),
                    Cell(_single(results, benchmark, name, split, group, metric)),
                    *(_together(found, how, split, group, metric) for how in ways),
                    Cell(_printed(results, benchmark, name, split, group, metric)),
                )
                for name, found in by_variant.items()
            )
            heads = ("Variant", "One trial, mean", *(how.capitalize() for how in ways), "Printed")
            tables.append(Table(f"{benchmark}, {where}: {LABELS[metric]}", tuple(map(Cell, heads)), body))
    return text, tables


def _together(found: list[dict[str, Any]], how: str, split: str, group: str, metric: str) -> Cell:
    place = {"how": how, "split": split, "group": group, "metric": metric}
    row = next((row for row in found if place.items() <= row.items()), None)
    if row is None:
        return Cell(NONE)
    bracket = () if row["low"] is None else (f"[{row['low']:.1f}, {row['high']:.1f}]",)
    return Cell(f"{row['mean']:.1f}", (*bracket, f"seeds {', '.join(map(str, row['seeds']))}"))


def _single(results: Mapping[str, Any], benchmark: str, variant: str, split: str, group: str, metric: str) -> str:
    place = {"benchmark": benchmark, "variant": variant, "split": split, "group": group, "metric": metric}
    return next((f"{row['mean']:.1f}" for row in results["rows"] if place.items() <= row.items()), NONE)


def _printed(results: Mapping[str, Any], benchmark: str, variant: str, split: str, group: str, metric: str) -> str:
    where = split if group == "all" else f"{split}/{group}"
    for block in results["printed"]:
        value = block["numbers"].get(variant, {}).get(benchmark, {}).get(where) if block["ensemble"] else None
        if isinstance(value, dict):
            value = value.get("exact_match" if metric == "exact" else metric)
        if value is not None:
            return f"{value:g}"
    return NONE


def boundary_words(results: Mapping[str, Any]) -> Shown:
    """Parts of speech of the words at which answers begin and end."""
    text = (
        "Counts of the first and the last word of each answer, a one-word answer's twice, as means over seeds; the "
        "gold answer is a question's first. Wrong: another word with another part of speech, by the gold word's.",
    )
    tables = []
    for benchmark, by_variant in _of(results, "boundary_pos"):
        for kind, caption in (("predicted", "Boundary words"), ("wrong", "Boundary words with a wrong part of speech")):
            tables.append(_counts(results, f"{caption}, {benchmark}", by_variant, kind))
    return text, tables


def _counts(results: Mapping[str, Any], caption: str, by_variant: Mapping[str, Any], kind: str) -> Table:
    titles = {name: results["variants"][name]["title"] for name in by_variant}
    printed = {titles[name]: _printed_counts(results, name, kind) for name in by_variant}
    columns: dict[str, Mapping[str, float]] = {}
    for name, found in by_variant.items():
        # Variants that read the same tags have the same gold counts: these stand there once.
        if found["gold"] not in columns.values():
            columns["Gold" if not columns else f"Gold, as for {titles[name]}"] = found["gold"]
        columns[titles[name]] = found[kind]
    columns |= {f"{title}, printed": counts for title, counts in printed.items() if counts}
    tags = dict.fromkeys(tag for counts in columns.values() for tag in counts)
    body = tuple(
        (Cell(tag), *(Cell(f"{counts[tag]:,.0f}" if tag in counts else NONE) for counts in columns.values()))
        for tag in tags
    )
    return Table(caption, tuple(map(Cell, ("Tag", *columns))), body)


def _printed_counts(results: Mapping[str, Any], variant: str, kind: str) -> dict[str, int]:
    field = "boundary_pos" if kind == "predicted" else "boundary_pos_wrong"
    return next(
        (
            block["numbers"][variant][field]
            for block in results["printed"]
            if field in block["numbers"].get(variant, {})
        ),
        {},
    )


def examples(results: Mapping[str, Any]) -> Shown:
    """What each variant answers to the study's examples."""
    tables, missing = [], []
    for benchmark, found in _of(results, "predictions"):
        missing += [
            f"“{one['question']}” is not among the questions of {benchmark}." for one in found if "missing" in one
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
            yield (split if group == "all" else f"{split}, {group}"), cells


def _of(results: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """An analysis by benchmark."""
    for benchmark, found in results["analyses"].items():
        if name in found:
            yield benchmark, found[name]
