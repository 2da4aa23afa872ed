"""Tables of a report: their cells, their numbers as text, and their export to Markdown and LaTeX."""

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Self, TypeVar

import pyarrow as pa

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import Estimate

NO_VALUE = "–"
METRIC_TITLES = {
    "accuracy": "Accuracy",
    "exact": "Exact match",
    "f1": "F1",
    "has_answer_exact": "Exact match where there is an answer",
    "no_answer_exact": "Exact match where there is none",
    "ece": "Calibration error (ECE)",
    "aurc": "Risk, mean over coverages (AURC)",
    "has_answer_f1": "F1 where there is an answer",
    "no_answer_f1": "F1 where there is none",
    "oracle_f1": "F1 with the best threshold (oracle)",
    "no_answer_share": "Answers “none”",
    "answerability_auroc": "Answerability AUROC",
}


@dataclass(frozen=True)
class Cell:
    """A value with notes in small print below it, one a line."""

    text: str
    notes: tuple[str, ...] = ()


Key = TypeVar("Key")
Row = tuple[Cell, ...]
TableRow = Mapping[str, Cell | str]
"""Column head to cell."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under column heads; the first column names the row."""

    caption: str  # May be empty.
    columns: Row
    rows: tuple[Row, ...]
    aligned: bool = True  # Align columns of numbers to the right.
    quiet: bool = False  # Print in grey: nothing in it was measured here.

    @classmethod
    def of(
        cls,
        caption: str,
        rows: Iterable[TableRow],
        *,
        notes: Mapping[str, str] | None = None,
        aligned: bool = True,
        quiet: bool = False,
    ) -> Self:
        """Make a table of rows that map the same heads to cells; ``notes`` stand below some of the heads."""
        listed = list(rows)
        heads = tuple(noted_cell(head, (notes or {}).get(head, "")) for head in (listed[0] if listed else ()))
        return cls(caption, heads, tuple(cells(*row.values()) for row in listed), aligned, quiet)

    @classmethod
    def of_columns(
        cls,
        caption: str,
        corner: str,
        columns: Iterable[tuple[Cell | str, Mapping[Key, Cell | str]]],
        rows: Mapping[Key, Cell | str] | None = None,
        *,
        aligned: bool = True,
    ) -> Self:
        """Make a table of heads with columns that map keys to cells; ``rows`` name and order the keys."""
        listed = list(columns)
        names = rows if rows is not None else {key: str(key) for _, column in listed for key in column}
        body = (cells(name, *(column.get(key, NO_VALUE) for _, column in listed)) for key, name in names.items())
        return cls(caption, cells(corner, *(head for head, _ in listed)), tuple(body), aligned)

    @property
    def numeric_columns(self) -> list[bool]:
        """True for each column that is aligned to the right."""
        return [
            self.aligned and all(_is_number(row[column].text) for row in self.rows)
            for column in range(len(self.columns))
        ]


def cells(*contents: Cell | str) -> Row:
    """Make a row of cells, or of column heads; plain texts have no notes."""
    return tuple(Cell(content) if isinstance(content, str) else content for content in contents)


def _is_number(text: str) -> bool:
    return text[:1] in "+-–<0123456789"


def format_interval(estimate: Estimate, sign: str = "") -> str:
    """Format an interval as ``[low, high]``, empty if there is none; ``+`` signs positive ends, too."""
    low, high = estimate["low"], estimate["high"]
    return "" if low is None or high is None else f"[{low:{sign}.1f}, {high:{sign}.1f}]"


def estimate_cell(estimate: Estimate, *notes: str, sign: str = "") -> Cell:
    """Make a cell of a mean with its interval and those notes that are not empty."""
    return noted_cell(f"{estimate['mean']:{sign}.1f}", format_interval(estimate, sign), *notes)


def noted_cell(text: str, *notes: str) -> Cell:
    """Make a cell with those notes that are not empty."""
    return Cell(text, tuple(filter(None, notes)))


def format_questions(split: str, group: str) -> str:
    """Name a split, or a group of its questions."""
    return split if group == EVERYTHING else f"{split}, {group}"


def format_p_value(p: float | None) -> str:
    """Format a p value with three digits."""
    if p is None:
        return NO_VALUE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_value_in_text(p: float | None) -> str:
    """Format a p value to follow the letter p in a sentence, without a line break between them."""
    text = format_p_value(p)
    return text.replace(" ", "\u00a0") if text.startswith("<") else f"=\u00a0{text}"


def format_duration(seconds: float | None) -> str:
    """Format seconds, long durations in minutes."""
    if seconds is None:
        return NO_VALUE
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def format_setting(value: object) -> str:
    """Format a setting's value."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def settings_tables(settings: Mapping[str, Mapping[str, str]]) -> tuple[Table, Table]:
    """Split settings, by column title, into a table of those that differ and a table of those that are the same."""
    names = sorted({name for values in settings.values() for name in values})
    # A setting that only some have differs.
    differing = {name: name for name in names if len({values.get(name) for values in settings.values()}) > 1}
    same = {name: name for name in names if name not in differing}
    return (
        Table.of_columns("Settings that differ", "Setting", settings.items(), differing, aligned=False),
        Table.of_columns("Settings that are the same", "Setting", settings.items(), same, aligned=False),
    )


def to_markdown(table: Table) -> str:
    """Write a table as Markdown, its caption in bold above it."""
    lines = [_markdown_row(table.columns), "|" + " --- |" * len(table.columns), *map(_markdown_row, table.rows)]
    caption = f"**{markdown_text(table.caption)}**\n\n" if table.caption else ""
    return caption + "\n".join(lines)


def _markdown_row(cells: Row) -> str:
    return "| " + " | ".join(map(_markdown_cell, cells)) + " |"


def _markdown_cell(cell: Cell) -> str:
    """Append intervals to the value as they are, and all other notes in parentheses."""
    intervals = [note for note in cell.notes if note.startswith("[")]
    comments = "; ".join(note for note in cell.notes if not note.startswith("["))
    return markdown_text(" ".join([cell.text, *intervals, *[f"({comments})"] * bool(comments)]))


def markdown_text(text: str) -> str:
    """Escape text so that neither Markdown nor HTML in it is interpreted."""
    escaped = escape(" ".join(text.split()), quote=False)
    # The backslash comes first, since it escapes the others.
    for character in ("\\", "|", "*", "`"):
        escaped = escaped.replace(character, f"\\{character}")
    return escaped.replace("](", "]\\(")


_IN_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": "\\textbackslash ", "~": "\\textasciitilde ", "^": "\\textasciicircum "}
)


def to_latex(table: Table) -> str:
    """Write a table as LaTeX for the package booktabs."""
    import pandas as pd

    frame = pd.DataFrame(
        [[" ".join(filter(None, (cell.text, *cell.notes))) for cell in row] for row in table.rows],
        columns=[cell.text for cell in table.columns],
    )
    text = io.StringIO()
    # pandas escapes cells and heads alone.
    frame.to_latex(text, index=False, escape=True, caption=table.caption.translate(_IN_LATEX))
    return text.getvalue()


def to_csv(rows: pa.Table) -> str:
    """Write an Arrow table as CSV."""
    text: str = rows.to_pandas().to_csv(index=False, lineterminator="\n")
    return text
