"""Tables and values as they stand in the generated parts of the documentation."""

from collections.abc import Iterable, Sequence
from typing import Any


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown.

    Args:
        heads: What stands above its columns.
        rows: The cells of each row.
    """
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def shown(value: Any) -> str:
    """A value as a parameter file has it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
