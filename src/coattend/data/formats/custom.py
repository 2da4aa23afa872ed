"""Your own questions: CSV, JSON Lines or Parquet, a row for each question with its passage.

==============  =========  ==============================================================================
column          required   content
==============  =========  ==============================================================================
``passage``     always     the text that the question is about; rows with equal texts share one passage
``question``    always     the question; a blank that an option fills is written ``_``
``id``                     the question's id; without it, a hash of the row's texts
``subset``                 the part of the benchmark that the question belongs to
``options``     options    the answers to choose from: two or more texts. In CSV: ``option_1``,
                           ``option_2`` ...; empty cells at the end are no options
``label``       options    number of the right option, from 0; or instead of it, or in the same words,
``answer``      options    the text of the right option. For spans: the answer, if it has one only
``answers``     spans      list of ``{"text": ..., "start": ...}``, offsets in characters; empty if the passage
                           has no answer. In CSV: ``answer`` and ``start``, both empty if there is none
==============  =========  ==============================================================================

A row with options asks for one of them, a row without for a span. Other columns are refused.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ParamSpec

from coattend.data.formats import squad
from coattend.data.formats.base import InvalidRecord, PassageRecord, QuestionRecord, Rejection
from coattend.data.formats.checks import (
    Checked,
    label_of_answer,
    printable,
    require,
    require_options,
    require_passage,
    require_text,
)
from coattend.data.formats.reading import (
    ANY_COLUMN,
    REFETCH,
    TEXT_COLUMN,
    Readable,
    parse_json,
    read_cells,
    read_lines,
    read_parquet_rows,
)
from coattend.errors import CoattendError, did_you_mean
from coattend.text.hashing import text_id

REQUIRED_COLUMNS = ("passage", "question")
COLUMNS = (*REQUIRED_COLUMNS, "id", "subset", "options", "label", "answer", "answers", "start")
IN_CELLS = {"options": "option_1, option_2 and so on", "answers": "answer and start"}
"""Lists, and the columns that hold their parts in a CSV file."""
ANSWER_FIELDS = ("text", "start")
MAX_ID_CHARACTERS = 1000
OTHER_WIDTH = "has more or fewer cells than its header"
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""Separators of cells other than the comma, by their names."""
MAX_LISTED = 5
"""Unknown columns or fields that a message names."""
_OPTION_COLUMN = re.compile(r"option_[1-9][0-9]{0,4}")
_WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")

Row = dict[str, object]
"""Columns to unchecked values."""
Arguments = ParamSpec("Arguments")


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    """Read a file by its suffix, .csv, .jsonl or .parquet; see `coattend.data.formats.base.FormatReader`."""
    for location, row in read_rows(path):
        try:
            if isinstance(row, InvalidRecord):
                raise row
            record = _passage(require(row, dict, "the line"), path.name, max_characters)
            yield replace(record, location=location)
        except InvalidRecord as error:
            yield Rejection(path.name, location, str(error))


def read_rows(path: Readable) -> Iterator[tuple[str, object]]:
    """Yield each row of a file with its location, such as ``line 3``; an `InvalidRecord` stands for one that is no row.

    Raises:
        CoattendError: If the file has another suffix or other columns, or is not whole.
    """
    suffix = path.name.rpartition(".")[2].lower()
    if suffix not in _ROWS:
        raise CoattendError("is neither .csv, .jsonl nor .parquet", where=str(path), cure="Save it as one of them")
    read_suffix, cure = _ROWS[suffix]
    try:
        yield from read_suffix(path)
    except CoattendError as error:
        # Nobody else has one's own files.
        if error.cure != REFETCH:
            raise
        raise CoattendError(error.problem, where=error.where, cure=cure) from None


def _parquet_rows(path: Readable) -> Iterator[tuple[str, object]]:
    types = dict.fromkeys(COLUMNS, ANY_COLUMN) | dict.fromkeys((*REQUIRED_COLUMNS, "id"), TEXT_COLUMN)
    rows = read_parquet_rows(path, types, optional=frozenset(COLUMNS) - set(REQUIRED_COLUMNS), strict=True)
    yield from ((f"row {number}", row) for number, row in enumerate(rows, 1))


def json_rows(path: Readable) -> Iterator[tuple[str, object]]:
    """Yield each line of a JSON Lines file as `read_rows` does."""
    # A line that is no JSON stops the reading only at the end, so that all problems can be listed.
    first_error: CoattendError | None = None
    for number, text in read_lines(path):
        if not text.strip():
            continue
        try:
            yield f"line {number}", parse_json(text, f"{path}, line {number}")
        except CoattendError as error:
            first_error = first_error or error
            yield f"line {number}", InvalidRecord(error.problem)
    if first_error is not None:
        raise first_error


def _csv_rows(path: Readable) -> Iterator[tuple[str, Row | InvalidRecord]]:
    rows = read_cells(path)
    header = [name.strip() for name in next(rows, (1, []))[1]]
    _check_header(header, path)
    for line, cells in rows:
        if cells and len(cells) != len(header):
            yield f"line {line}", InvalidRecord(OTHER_WIDTH)
        elif cells:
            yield f"line {line}", _from_cells(dict(zip(header, cells, strict=True)))


def _check_header(header: list[str], path: Readable) -> None:
    for separator, name in SEPARATORS.items():
        if len(header) == 1 and set(REQUIRED_COLUMNS) <= set(header[0].split(separator)):
            cure = "Save it with commas: spreadsheets ask for the separator when they export CSV"
            raise CoattendError(f"has {name} between its cells", where=str(path), cure=cure)
    missing = [name for name in REQUIRED_COLUMNS if name not in header]
    known = [name for name in COLUMNS if name not in IN_CELLS]
    unknown = [name for name in header if name not in known and not _OPTION_COLUMN.fullmatch(name)][:MAX_LISTED]
    names = ", ".join(header)[:200]
    if len(set(header)) < len(header):
        repeated = next(name for name in header if header.count(name) > 1)
        problem = f"has the column {repeated!r} twice in its header ({names})"
        raise CoattendError(problem, where=str(path), cure="Leave one of them out")
    if missing or unknown:
        problems = [f"has no column {name!r}" for name in missing]
        problems += [f"has an unknown column {name!r}" for name in unknown]
        cures = [did_you_mean(name, header) for name in missing]
        cures += [
            f"A CSV file has {IN_CELLS[name]}" if name in IN_CELLS else did_you_mean(name, [*known, "option_1"])
            for name in unknown
        ]
        cure = " ".join(dict.fromkeys(cures))
        raise CoattendError(f"{', '.join(problems)} in its header ({names})", where=str(path), cure=cure)


_ROWS: dict[str, tuple[Callable[[Readable], Iterator[tuple[str, object]]], str]] = {
    "csv": (_csv_rows, 'Close every quotation mark, and write one inside a quoted cell twice (""), as spreadsheets do'),
    "jsonl": (json_rows, "Write one question a line, each an object in braces, as json.dumps does"),
    "parquet": (_parquet_rows, "Write the file again"),
}
"""How files are read by their suffixes, and the cure of one that is not whole."""


def _from_cells(cells: dict[str, str]) -> Row:
    """Gather the options of a CSV row, and turn its numbers into integers."""
    numbered = sorted((name for name in cells if _OPTION_COLUMN.fullmatch(name)), key=lambda name: int(name[7:]))
    options = [cells[name] for name in numbered]
    # Questions of one file may have different numbers of options.
    while options and not options[-1].strip():
        options.pop()
    row: Row = {name: text for name, text in cells.items() if name not in numbered and text.strip()}
    for name in ("label", "start"):
        if _WHOLE_NUMBER.fullmatch(cells.get(name, "").strip()):
            row[name] = int(cells[name].strip())
    return row | ({"options": options} if options else {"answers": _answers_in_cells(row)})


def _answers_in_cells(row: Row) -> list[Row]:
    """Return the answer in the columns ``answer`` and ``start``, if there is one."""
    answer, start = row.get("answer"), row.get("start")
    return [] if answer is None and start is None else [{"text": answer, "start": start}]


def _passage(row: Row, file: str, max_characters: int) -> PassageRecord:
    """Check a row; the message has all of its problems."""
    unknown = [name for name in row if name not in COLUMNS][:MAX_LISTED]
    problems = [f"has an unknown field {name[:60]!r}. {did_you_mean(name, list(COLUMNS))}" for name in unknown]

    def attempt(
        check: Callable[Arguments, Checked], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Checked | None:
        try:
            return check(*args, **kwargs)
        except InvalidRecord as error:
            problems.append(str(error))
            return None

    passage = attempt(require_passage, row.get("passage"), "the passage", max_characters=max_characters)
    text = attempt(require_text, row.get("question"), "the question", max_characters=max_characters)
    for name, limit in (("subset", max_characters), ("id", MAX_ID_CHARACTERS)):
        if row.get(name) is not None:
            attempt(require_text, row[name], f"the {name}", max_characters=limit)
    question: QuestionRecord | None = None
    if row.get("options") is not None:
        options = attempt(_options, row["options"], max_characters)
        label = attempt(_label, row, options) if options is not None else None
        question = QuestionRecord("", None, "options", "", options=options, label=label)
    else:
        if row.get("label") is not None:
            problems.append("has a label and no options")
        if passage is not None:
            question = attempt(_span_question, row, passage, max_characters)
    # The ids need the texts, so they come last.
    if problems or passage is None or text is None or question is None:
        raise InvalidRecord("; ".join(problems))
    question_id, subset = row.get("id"), row.get("subset")
    if question_id is None:
        question_id = text_id("\n".join([passage, text, *(question.options or ())]))
    subset = None if subset is None else str(subset)
    question = replace(question, question_id=str(question_id), subset=subset, question=text)
    return PassageRecord(text_id(passage), passage, None, file, (question,))


def _options(values: object, max_characters: int) -> tuple[str, ...]:
    options = require_options(values, max_characters=max_characters)
    if len(set(options)) < len(options):
        repeated = next(option for option in options if options.count(option) > 1)
        raise InvalidRecord(f"has the option {printable(repeated)!r} twice")
    return options


def _span_question(row: Row, passage: str, max_characters: int) -> QuestionRecord:
    """Check the answers of a row without options as those of SQuAD."""
    listed = row.get("answers")
    raw_answers: list[Row] = _answers_in_cells(row) if listed is None else require(listed, list, "the list of answers")
    for answer in raw_answers:
        for name in require(answer, dict, "an answer"):
            if name not in ANSWER_FIELDS:
                cure = did_you_mean(name, list(ANSWER_FIELDS))
                raise InvalidRecord(f"an answer has an unknown field {printable(name)!r}. {cure}")
    pairs = [{"text": answer.get("text"), "answer_start": answer.get("start")} for answer in raw_answers]
    fields = {"id": "", "question": "?", "answers": pairs, "is_impossible": not pairs}
    return squad.read_question(fields, passage, max_characters)


def _label(row: Row, options: tuple[str, ...]) -> int:
    if row.get("label") is None:
        return label_of_answer(require_text(row.get("answer"), "the answer", max_characters=1_000_000), options)
    label = row["label"]
    # Where a column has gaps, pandas writes whole numbers as 1.0.
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    label = require(label, int, "the label")
    if not 0 <= label < len(options):
        raise InvalidRecord(f"the label {label} is none of its {len(options)} options, counted from 0")
    answer = row.get("answer")
    if answer is not None and answer != options[label]:
        said = f"the label {label} says {printable(options[label])!r}"
        raise InvalidRecord(f"{said}, and the answer {printable(answer)!r}")
    return label
