"""Your own questions: CSV, JSON Lines or Parquet, a row for each question with its passage.

==============  =========  ==============================================================================
column          needed     what it holds
==============  =========  ==============================================================================
``passage``     always     the text that the question is about; rows with equal texts share one passage
``question``    always     the question; a blank that an option fills is written ``_``
``id``                     the question's id; without it, a hash of the row's texts
``subset``                 the part of the benchmark that the question belongs to
``options``     options    what can be chosen: two or more texts. In CSV: ``option_1``, ``option_2`` ..., as many
                           as there are; empty cells at the end are no options
``label``       options    number of the right option, from 0; or instead of it, or in the same words,
``answer``      options    the text of the right option. For spans: the answer, if it has one only
``answers``     spans      list of ``{"text": ..., "start": ...}``, offsets in characters; empty if the passage
                           has no answer. In CSV: ``answer`` and ``start``, both empty if there is none
==============  =========  ==============================================================================

A row with options asks for one of them, a row without for a span. Other columns are refused.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from coattend.benchmarks import parquet, squad
from coattend.benchmarks.checks import Flaw, label_of, named, need, need_options, need_text, need_words
from coattend.benchmarks.files import CURE, Readable, numbered_lines, parsed, text_lines
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected
from coattend.errors import CoattendError, did_you_mean
from coattend.text.identity import text_id

NEEDED = ("passage", "question")
KNOWN = (*NEEDED, "id", "subset", "options", "label", "answer", "answers", "start")
ANSWER = ("text", "start")
_NUMBERED = re.compile(r"option_[1-9][0-9]{0,4}")
_WHOLE = re.compile(r"[0-9]{1,9}")


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejected]:
    """Read a file by its suffix: ``.csv``, ``.jsonl`` or ``.parquet``; see `coattend.benchmarks.formats.Read`."""
    for place, row in rows(path):
        try:
            if isinstance(row, Flaw):
                raise row
            record = _passage(need(row, dict, "the line"), path.name, max_characters)
            yield replace(record, place=place)
        except Flaw as flaw:
            yield Rejected(path.name, place, str(flaw))


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
    with path.open("rb") as content:
        reader = csv.DictReader(text_lines(content, path), strict=True)
        try:
            header = [name.strip() for name in reader.fieldnames or ()]
            _check_header(header, path)
            reader.fieldnames = header
            for row in reader:
                whole = None not in row and None not in row.values()
                yield (
                    f"line {reader.line_num}",
                    _from_cells(row) if whole else Flaw("has more or fewer cells than its header"),
                )
        except csv.Error as error:
            raise CoattendError(f"is not CSV ({error})", where=f"{path}, line {reader.line_num}", cure=CURE) from None


def _check_header(header: list[str], path: Readable) -> None:
    missing = [name for name in NEEDED if name not in header]
    strange = [name for name in header if name not in KNOWN and not _NUMBERED.fullmatch(name)]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        problem = f"has the column {twice!r} twice in its header ({', '.join(header)[:200]})"
        raise CoattendError(problem, where=str(path), cure="Leave one of them out")
    if missing or strange:
        problem = f"has no column {missing[0]!r}" if missing else f"has an unknown column {strange[0]!r}"
        cure = did_you_mean((missing or strange)[0], header if missing else [*KNOWN, "option_1"])
        raise CoattendError(f"{problem} in its header ({', '.join(header)[:200]})", where=str(path), cure=cure)


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
            made[name] = int(made[name])
    if options:
        return made | {"options": options}
    return made | {"answers": _answers(made)}


def _answers(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer that stands in two columns, if there is one."""
    given = row.get("answer")
    return [] if given is None else [{"text": given, "start": row.get("start")}]


def _passage(row: dict[str, Any], file: str, max_characters: int) -> PassageRecord:
    for name in row:
        if name not in KNOWN:
            raise Flaw(f"has an unknown field {name[:60]!r}. {did_you_mean(name, list(KNOWN))}")
    text = need_words(need_text(row.get("passage"), "the passage", max_characters=max_characters), "the passage")
    question = _question(row, text, max_characters)
    return PassageRecord(text_id(text), text, None, file, (question,))


def _question(row: dict[str, Any], passage: str, max_characters: int) -> QuestionRecord:
    text = need_text(row.get("question"), "the question", max_characters=max_characters)
    subset = row.get("subset")
    if subset is not None:
        need_text(subset, "the subset", max_characters=max_characters)
    if row.get("options") is not None:
        options = need_options(row["options"], max_characters=max_characters)
        if len(set(options)) < len(options):
            twice = next(one for one in options if options.count(one) > 1)
            raise Flaw(f"has the option {named(twice)!r} twice")
        return QuestionRecord(
            _id(row, passage, text, *options), subset, "options", text, options=options, label=_label(row, options)
        )
    answers = _answers(row) if row.get("answers") is None else need(row["answers"], list, "the list of answers")
    for one in answers:
        for name in need(one, dict, "an answer"):
            if name not in ANSWER:
                raise Flaw(f"an answer has an unknown field {named(name)!r}. {did_you_mean(name, list(ANSWER))}")
    pairs = [{"text": one.get("text"), "answer_start": one.get("start")} for one in answers]
    fields = {"id": _id(row, passage, text), "question": text, "answers": pairs, "is_impossible": not pairs}
    found = squad.question(fields, passage, max_characters)
    return QuestionRecord(found.question_id, subset, "span", text, answers=found.answers, answerable=found.answerable)


def _id(row: dict[str, Any], *texts: str) -> str:
    given = row.get("id")
    return text_id("\n".join(texts)) if given is None else need_text(given, "the id", max_characters=1000)


def _label(row: dict[str, Any], options: tuple[str, ...]) -> int:
    if row.get("label") is None:
        return label_of(need_text(row.get("answer"), "the answer", max_characters=1_000_000), options)
    label = need(row["label"], int, "the label")
    if not 0 <= label < len(options):
        raise Flaw(f"the label {label} is none of its {len(options)} options, counted from 0")
    answer = row.get("answer")
    if answer is not None and answer != options[label]:
        raise Flaw(f"the label {label} says {named(options[label])!r}, and the answer {named(answer)!r}")
    return label
