"""Markdown tables and values of the generated documentation."""

from collections.abc import Iterable, Sequence
from typing import Any


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def yaml_value(value: Any) -> str:
    """Write a value as in a parameter file."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
