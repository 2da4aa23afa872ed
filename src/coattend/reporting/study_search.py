"""How a study tuned the training of its variants: what was chosen, and every configuration that was tried."""

from collections.abc import Iterator, Mapping
from typing import Any

from coattend.reporting.page import Section
from coattend.reporting.settings import shown
from coattend.reporting.tables import NONE, Cell, Table


def sections(results: Mapping[str, Any]) -> Iterator[Section]:
    """A section, if the study has a search and a variant was run.

    Args:
        results: What `coattend.reporting.study_table.results_of` returned; those of before there were searches lack it.
    """
    searches = {benchmark: found for benchmark, found in results.get("searches", {}).items() if found}
    if searches:
        titles = {name: variant["title"] for name, variant in results["variants"].items()}
        chosen = tuple(_chosen(benchmark, found, titles) for benchmark, found in searches.items())
        tried = tuple(_tried(benchmark, found, titles) for benchmark, found in searches.items())
        yield Section("How training was tuned", tuple(_text(results["search"])), chosen, tried)


def _text(search: Mapping[str, Any]) -> Iterator[str]:
    values = " and ".join(f"{field} ({_values(one)})" for field, one in search["space"].items())
    yield (
        f"Every variant was trained in {search['trials']} configurations with the first seed: the configured one, and "
        f"others that are spread evenly over {values}. The best by its score on the held-out questions, which are a "
        "part of the training set, was then trained with all seeds. Dev had no part in it."
    )
    yield (
        "The held-out score of the best of several is too good, since it was chosen by that score: compare variants by "
        "the scores above."
    )


def _values(values: Mapping[str, Any]) -> str:
    if values["choices"] is not None:
        return ", ".join(map(shown, values["choices"]))
    return f"{values['low']:g} to {values['high']:g}{', by ratios' if values['log'] else ''}"


def _chosen(benchmark: str, searches: Mapping[str, Any], titles: Mapping[str, str]) -> Table:
    fields = _fields(searches)
    rows = []
    for name, search in searches.items():
        configured, chosen = search["tried"][0], search["tried"][search["chosen"]]
        failed = sum(one["held_out"] is None for one in search["tried"])
        rows.append(
            (
                Cell(titles[name]),
                *(_value(chosen, field, configured) for field in fields),
                Cell(_percent(chosen)),
                Cell(_percent(configured)),
                Cell(str(len(search["tried"])), (f"{failed} failed",) if failed else ()),
            )
        )
    heads = ("Variant", *fields, "Held-out, %", "As configured, %", "Configurations tried")
    return Table(f"{benchmark}: what was chosen", tuple(map(Cell, heads)), tuple(rows))


def _tried(benchmark: str, searches: Mapping[str, Any], titles: Mapping[str, str]) -> Table:
    fields = _fields(searches)
    rows = tuple(
        (
            Cell(titles[name], _marks(place, search["chosen"])),
            *(_value(one, field) for field in fields),
            Cell(_percent(one), (one["failure"],) if one["failure"] else ()),
            Cell(one["trial_id"]),
        )
        for name, search in searches.items()
        for place, one in enumerate(search["tried"])
    )
    heads = ("Variant", *fields, "Held-out, %", "Trial")
    return Table(f"{benchmark}: all that was tried", tuple(map(Cell, heads)), rows)


def _marks(place: int, chosen: int) -> tuple[str, ...]:
    return ("configured",) * (place == 0) + ("chosen",) * (place == chosen)


def _fields(searches: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(field for search in searches.values() for field in search["tried"][0]["values"]))


def _value(tried: Mapping[str, Any], field: str, configured: Mapping[str, Any] | None = None) -> Cell:
    """A field's value, and what it was configured as where that is another."""
    value = tried["values"][field]
    before = value if configured is None else configured["values"][field]
    return Cell(shown(value), () if before == value else (f"configured {shown(before)}",))


def _percent(tried: Mapping[str, Any]) -> str:
    return NONE if tried["held_out"] is None else f"{100 * tried['held_out']:.1f}"
