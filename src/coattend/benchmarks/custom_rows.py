"""The rows of files of one's own questions; what they hold is said in `coattend.benchmarks.custom`."""

import csv
import re
from collections.abc import Iterator
from typing import Any

from coattend.benchmarks import parquet
from coattend.benchmarks.checks import Flaw
from coattend.benchmarks.files import CURE, Readable, numbered_lines, parsed, text_lines
from coattend.errors import CoattendError, did_you_mean

NEEDED = ("passage", "question")
KNOWN = (*NEEDED, "id", "subset", "options", "label", "answer", "answers", "start")
LONGEST_CELL = 2**24
"""Characters that a cell of a CSV file may have; where a quotation mark is never closed, memory ends here."""
MOST_TOLD = 5
"""Unknown columns that are told."""
_NUMBERED = re.compile(r"option_[1-9][0-9]{0,4}")
_WHOLE = re.compile(r"[0-9]{1,9}")
_CELLS = "has more or fewer cells than its header"


def rows(path: Readable) -> Iterator[tuple[str, Any]]:
    """The rows of a file, some in memory at a time.

    Args:
        path: The file.

    Yields:
        Where a row stands, such as ``line 3``, and the row: columns to values, or a `Flaw` that says what is wrong.

    Raises:
        CoattendError: If the file has another suffix or other columns, or is not whole.
    """
    suffix = path.name.rpartition(".")[2].lower()
    if suffix == "csv":
        yield from _csv_rows(path)
    elif suffix == "jsonl":
        yield from _json_rows(path)
    elif suffix == "parquet":
        kinds = dict.fromkeys(KNOWN, parquet.ANYTHING) | dict.fromkeys((*NEEDED, "id"), parquet.TEXT)
        found = parquet.rows(path, kinds, optional=frozenset(KNOWN) - set(NEEDED), strict=True)
        yield from ((f"row {number}", row) for number, row in enumerate(found, 1))
    else:
        raise CoattendError("is neither .csv, .jsonl nor .parquet", where=str(path), cure="Save it as one of them")


def _json_rows(path: Readable) -> Iterator[tuple[str, Any]]:
    """A line that is no JSON stops whoever wants all rows, but only behind the last one: all problems can be told."""
    broken: CoattendError | None = None
    for number, text in numbered_lines(path):
        try:
            yield f"line {number}", parsed(text, f"{path}, line {number}")
        except CoattendError as error:
            broken = broken or error
            yield f"line {number}", Flaw(error.problem)
    if broken is not None:
        raise broken


def _csv_rows(path: Readable) -> Iterator[tuple[str, dict[str, Any] | Flaw]]:
    csv.field_size_limit(LONGEST_CELL)
    with path.open("rb") as content:
        lines = csv.reader(text_lines(content, path), strict=True)
        first = 1
        try:
            header = [name.strip() for name in next(lines, [])]
            _check_header(header, path)
            first = lines.line_num + 1
            for cells in lines:
                if cells:
                    whole = len(cells) == len(header)
                    row = _from_cells(dict(zip(header, cells, strict=True))) if whole else Flaw(_CELLS)
                    yield f"line {first}", row
                first = lines.line_num + 1
        except csv.Error as error:
            raise CoattendError(f"is not CSV ({error})", where=f"{path}, line {first}", cure=CURE) from None


def _check_header(header: list[str], path: Readable) -> None:
    """Tell all that is wrong with the names of columns."""
    missing = [name for name in NEEDED if name not in header]
    strange = [name for name in header if name not in KNOWN and not _NUMBERED.fullmatch(name)]
    told = ", ".join(header)[:200]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        problem = f"has the column {twice!r} twice in its header ({told})"
        raise CoattendError(problem, where=str(path), cure="Leave one of them out")
    if missing or strange:
        problems = [f"has no column {name!r}" for name in missing]
        problems += [f"has an unknown column {name!r}" for name in strange[:MOST_TOLD]]
        cures = [did_you_mean(name, header) for name in missing]
        cures += [did_you_mean(name, [*KNOWN, "option_1"]) for name in strange[:MOST_TOLD]]
        cure = " ".join(dict.fromkeys(cures))
        raise CoattendError(f"{', '.join(problems)} in its header ({told})", where=str(path), cure=cure)


def _from_cells(row: dict[str, str]) -> dict[str, Any]:
    """A row of texts as a row of values."""
    cells = {name: value for name, value in row.items() if not _NUMBERED.fullmatch(name)}
    numbered = sorted((name for name in row if _NUMBERED.fullmatch(name)), key=lambda name: int(name[7:]))
    options = [row[name] for name in numbered]
    while options and not options[-1].strip():
        options.pop()
    made: dict[str, Any] = {name: value for name, value in cells.items() if value.strip()}
    for name in ("label", "start"):
        if _WHOLE.fullmatch(made.get(name, "").strip()):
            made[name] = int(made[name].strip())
    if options:
        return made | {"options": options}
    return made | {"answers": answer_in_cells(made)}


def answer_in_cells(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer that stands in the columns ``answer`` and ``start``, if there is one."""
    given = row.get("answer")
    return [] if given is None else [{"text": given, "start": row.get("start")}]
