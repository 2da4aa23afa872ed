"""A study's scores in groups of questions: figures, and tables of the same."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coattend.reporting.page import Section
from coattend.reporting.study_figures import breakdown, counts
from coattend.reporting.tables import LABELS, NONE, Cell, Table, measured

TITLES = {
    "by_question_type": "By question word",
    "by_question_length": "By length of the question, in words",
    "by_document_length": "By length of the passage, in words",
    "by_answer_length": "By length of the answer, in words",
    "by_answer_frequency": "By rank of the answer among the candidates, the most frequent first",
    "by_answer_pos": "By part of speech of the answer",
    "by_annotation": "By annotated type",
    "by_subset": "By subset",
}
"""What breakdowns are called."""

NOTES = {
    "by_answer_pos": (
        "An answer's part of speech is that of its first word that is no article, preposition or the like.",
    )
}
"""What else there is to know of some."""


def not_shown(results: Mapping[str, Any]) -> Iterator[Section]:
    """The sections of breakdowns that the study does not show.

    Args:
        results: What `coattend.reporting.study_table.results_of` returned.
    """
    for name in TITLES:
        if name not in results["shows"]:
            yield from sections(name, results)


def sections(name: str, results: Mapping[str, Any]) -> Iterator[Section]:
    """A section for each benchmark and split.

    Args:
        name: One of `TITLES`.
        results: What `coattend.reporting.study_table.results_of` returned.
    """
    rows = results["breakdowns"]
    places = dict.fromkeys((row["benchmark"], row["split"]) for row in rows if row["breakdown"] == name)
    for benchmark, split in places:
        own = [row for row in rows if (row["breakdown"], row["benchmark"], row["split"]) == (name, benchmark, split)]
        title = f"{TITLES[name]}: {', '.join((benchmark, split, *results['homes'][benchmark]))}"
        yield Section(
            title,
            NOTES.get(name, ()),
            folded=_groups(own),
            figures=((f"{title}. Bars hold 95 % of a bootstrap over passages.", breakdown(own)),),
        )


def _groups(rows: Sequence[Mapping[str, Any]]) -> tuple[Table, ...]:
    variants, metrics = (list(dict.fromkeys(row[key] for row in rows)) for key in ("title", "metric"))
    values = {(row["group"], row["title"], row["metric"]): row for row in rows}
    heads = ["Group", *(f"{title}, {LABELS[metric]}" for title in variants for metric in metrics)]
    body = tuple(
        (
            Cell(group, (f"{count} questions",)),
            *(_value(values.get((group, title, metric))) for title in variants for metric in metrics),
        )
        for group, count in counts(rows).items()
    )
    return (Table("As a table", tuple(map(Cell, heads)), body),)


def _value(row: Mapping[str, Any] | None) -> Cell:
    return Cell(NONE) if row is None else measured(row)
