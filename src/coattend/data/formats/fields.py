"""Any questions: JSON, JSON Lines, CSV, TSV or Parquet, whose parts a benchmark's file names by paths.

A path such as ``data[].paragraphs[].qas[]`` leads to each question. Another, such as ``context``, is looked up in the
question, and then in what is around it: its paragraph, its article, the file. `FieldParameters` has all of them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from coattend.config import FieldParameters
from coattend.data.formats import squad
from coattend.data.formats.base import InvalidRecord, PassageRecord, QuestionRecord, Rejection
from coattend.data.formats.checks import (
    json_type_name,
    label_of_answer,
    printable,
    require_options,
    require_passage,
    require_text,
)
from coattend.data.formats.custom import MAX_ID_CHARACTERS, OTHER_WIDTH, json_rows
from coattend.data.formats.paths import AbsentKey, Level, Levels, Lookup, Step, follow, has_step, listed, path_steps
from coattend.data.formats.reading import Readable, read_cells, read_json, read_parquet_rows
from coattend.errors import CoattendError
from coattend.text.hashing import text_id

YES_NO = ("yes", "no")
"""The options of questions whose answer is true or false."""
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}")
_YES, _NO = frozenset(("yes", "true", "1")), frozenset(("no", "false", "0"))


def read(path: Readable, *, max_characters: int, fields: FieldParameters) -> Iterator[PassageRecord | Rejection]:
    """Read a file by its paths; see `coattend.data.formats.base.FormatReader`.

    A passage's id is a hash of its text. A path that no question of the file has is an error of the whole file.
    """
    lookup = Lookup()
    records = _RECORDS[_form(path, fields)](path, fields)
    questions = (
        found
        for location, value in records
        for found in _read_record(location, value, fields, lookup, path, max_characters)
    )
    yield from _join_questions(questions)
    lookup.check(path, at_end=True)


def _form(path: Readable, fields: FieldParameters) -> str:
    form = fields.file or path.name.rpartition(".")[2].lower()
    if form not in _RECORDS:
        cure = "Set `file` in the source's fields to what it is"
        raise CoattendError(f"ends in none of .{', .'.join(_RECORDS)}", where=str(path), cure=cure)
    return form


def _json_records(path: Readable, _: FieldParameters) -> Iterator[tuple[str, object]]:
    yield "", read_json(path)


def _line_records(path: Readable, _: FieldParameters) -> Iterator[tuple[str, object]]:
    yield from json_rows(path)


def _parquet_records(path: Readable, _: FieldParameters) -> Iterator[tuple[str, object]]:
    yield from ((f"row {number}", row) for number, row in enumerate(read_parquet_rows(path), 1))


def _cell_records(
    path: Readable, fields: FieldParameters, *, separator: str, quoted: bool
) -> Iterator[tuple[str, object]]:
    header: list[str] | None = None
    for line, cells in read_cells(path, separator=separator, quoted=quoted):
        if not cells:
            continue
        if not fields.header:
            yield f"line {line}", cells
        elif header is None:
            header = [name.strip() for name in cells]
        elif len(cells) != len(header):
            yield f"line {line}", InvalidRecord(OTHER_WIDTH)
        else:
            yield f"line {line}", dict(zip(header, cells, strict=True))


def _csv_records(path: Readable, fields: FieldParameters) -> Iterator[tuple[str, object]]:
    return _cell_records(path, fields, separator=",", quoted=True)


def _tsv_records(path: Readable, fields: FieldParameters) -> Iterator[tuple[str, object]]:
    return _cell_records(path, fields, separator="\t", quoted=False)


_RECORDS: dict[str, Callable[[Readable, FieldParameters], Iterator[tuple[str, object]]]] = {
    "json": _json_records,
    "jsonl": _line_records,
    "csv": _csv_records,
    "tsv": _tsv_records,
    "parquet": _parquet_records,
}
"""How files are read by their form: records with their locations; a JSON file is one record without a location."""


def _read_record(
    location: str, value: object, fields: FieldParameters, lookup: Lookup, path: Readable, max_characters: int
) -> Iterator[PassageRecord | Rejection]:
    """Read the questions of a line or row, or of a whole JSON file."""
    if isinstance(value, InvalidRecord):
        yield Rejection(path.name, location, str(value))
        return
    # Each element of a JSON file is a question where nothing else is said.
    questions = fields.questions or ("" if location else "[]")
    # The elements of a list around all questions are no parts of one of them.
    outermost = () if not location and isinstance(value, list) else (Level(value),)
    for levels, problem in _questions(value, path_steps(questions), questions, outermost):
        numbers = [str(level.number) for level in reversed(levels) if level.number]
        where = location or f"record {numbers[0] if numbers else 1}"
        inside = ".".join(numbers if location else numbers[1:])
        name = f"{where}, question {inside}" if inside else where
        try:
            if isinstance(problem, AbsentKey):
                lookup.note(questions, name, problem)
            if problem is not None:
                raise problem
            lookup.found(questions)
            if not _is_skipped(levels, fields):
                yield replace(_passage(levels, name, fields, lookup, path.name, max_characters), location=where)
        except InvalidRecord as error:
            # Elements before the first question, such as a header, may lack its list.
            if not _is_skipped(levels, fields):
                yield Rejection(path.name, name, str(error))
        lookup.check(path)


def _questions(
    value: object, steps: tuple[Step, ...], path: str, around: Levels
) -> Iterator[tuple[Levels, InvalidRecord | None]]:
    """Yield the levels of each question, or of what lacks the rest of the path, with the reason."""
    if not steps:
        # A path that ends in a key, not in a list, leads to one question.
        yield (around if around and around[0].value is value else (Level(value), *around)), None
        return
    step, *rest = steps
    try:
        inner = follow(value, (step,), path)
    except InvalidRecord as error:
        yield around, error
        return
    if step is None and isinstance(inner, list):
        for number, element in enumerate(inner, 1):
            yield from _questions(element, tuple(rest), path, (Level(element, number), *around))
    else:
        yield from _questions(inner, tuple(rest), path, around)


def _passage(
    levels: Levels, location: str, fields: FieldParameters, lookup: Lookup, file: str, max_characters: int
) -> PassageRecord:
    """Build a passage with a question, or with one for each of its right options."""

    def value(path: str, *, optional: bool = False) -> object:
        return lookup.value(path, levels, location, optional=optional)[0]

    raw_text = value(fields.question)
    text = require_text(raw_text, "the question", max_characters=max_characters)
    if fields.blank is not None:
        text = text.replace(fields.blank, "_")
    parts = [text] if fields.passage is None else _texts(value(fields.passage), "the passage")
    passage = require_passage("\n".join(parts), "the passage", max_characters=max_characters)
    if fields.answer_is == "span":
        questions = [_span(value, fields, passage, max_characters)]
    else:
        questions = _choices(value, fields, max_characters)
    subset = None if fields.subset is None else _name(value(fields.subset, optional=True), "the subset")
    shared_id = _question_id(levels, location, fields, lookup)
    asked = []
    for question in questions:
        if shared_id is None:
            question_id = text_id("\n".join([passage, text, *(question.options or ())]))
        else:
            question_id = shared_id + question.question_id
        asked.append(replace(question, question_id=question_id, subset=subset, question=text))
    turns = tuple(parts) if fields.turns else None
    return PassageRecord(text_id(passage), passage, turns, file, tuple(asked))


def _choices(value: Callable[..., object], fields: FieldParameters, max_characters: int) -> list[QuestionRecord]:
    """Build a question with options, or one for each right option; its text and the beginning of its id follow."""
    if isinstance(fields.options, tuple):
        values = [value(path, optional=True) for path in fields.options]
        # Questions of one file may have different numbers of options.
        while values and (values[-1] is None or values[-1] == ""):
            values.pop()
        options = require_options(values, max_characters=max_characters)
    elif fields.options is not None:
        options = require_options(value(fields.options), max_characters=max_characters)
    else:
        options = YES_NO
    keys = None if fields.option_keys is None else value(fields.option_keys)
    answers = listed(value(str(fields.answer)))
    if fields.answer_is == "flags":
        labels = _flagged(answers, options)
    else:
        labels = {_label(answer, fields.answer_is, options, keys) for answer in answers}
    if len(labels) == 1:
        return [QuestionRecord("", None, "options", "", options=options, label=labels.pop())]
    if not labels or fields.several is None:
        cure = "; `several: each` asks for each" if labels else ""
        raise InvalidRecord(f"has {len(labels) or 'no'} right options instead of one{cure}")
    if len(labels) == len(options):
        raise InvalidRecord("has no wrong option")
    return [_ask_for(label, labels, options) for label in sorted(labels)]


def _ask_for(label: int, labels: set[int], options: tuple[str, ...]) -> QuestionRecord:
    """Build the question that has one of the right options, and all wrong ones; its id ends in the option's number."""
    numbers = [number for number in range(len(options)) if number == label or number not in labels]
    among = tuple(options[number] for number in numbers)
    return QuestionRecord(f"-{label + 1}", None, "options", "", options=among, label=numbers.index(label))


def _flagged(flags: list[object], options: tuple[str, ...]) -> set[int]:
    """Return the indices of the options whose flags are true."""
    if len(flags) != len(options):
        raise InvalidRecord(f"has {len(flags)} flags of {len(options)} options")
    return {number for number, flag in enumerate(flags) if _is_yes(flag)}


def _label(answer: object, answer_is: str, options: tuple[str, ...], keys: object) -> int:
    """Return the index of the option that an answer names."""
    if answer is None or answer == "":
        raise InvalidRecord("the answer is missing")
    text = str(answer).strip()
    if answer_is == "yes_no":
        return int(not _is_yes(answer))
    if answer_is == "text":
        return label_of_answer(require_text(answer, "the answer", max_characters=len(str(answer))), options)
    if answer_is == "key":
        names = [str(key) for key in keys] if isinstance(keys, list) else []
        if len(names) != len(options):
            raise InvalidRecord(f"has {len(names)} keys of {len(options)} options")
        if text not in names:
            raise InvalidRecord(f"the answer {printable(answer)!r} is none of the keys {', '.join(names)[:60]}")
        return names.index(text)
    if answer_is == "letter":
        letter = text.upper()
        label = ord(letter) - ord("A") if len(letter) == 1 else -1
    else:
        label = _whole_number(answer, "the answer") - (answer_is == "number")
    if not 0 <= label < len(options):
        reason = f"the answer {printable(answer)!r} is the {answer_is} of none of its {len(options)} options"
        raise InvalidRecord(reason)
    return label


def _span(value: Callable[..., object], fields: FieldParameters, passage: str, max_characters: int) -> QuestionRecord:
    """Build a question about a span, with the checks of SQuAD; its id and text follow."""
    impossible = fields.impossible is not None and _is_true(value(fields.impossible, optional=True))
    starts = None if fields.start is None or impossible else listed(value(fields.start))
    pairs: list[tuple[object, int | None]]
    if impossible:
        pairs = []
    elif starts is not None and fields.end is not None:
        ends = listed(value(fields.end))
        numbers = [
            (_whole_number(start, "a start"), _whole_number(end, "an end"))
            for start, end in _paired(starts, ends, "starts", "ends")
        ]
        for start, end in numbers:
            if not 0 <= start <= end < len(passage):
                raise InvalidRecord(f"an answer from {start} to {end} is not inside the passage")
        pairs = [(passage[start : end + 1], start) for start, end in dict.fromkeys(numbers)]
    else:
        answers = [answer for answer in listed(value(str(fields.answer))) if answer not in (None, "")]
        if starts is None:
            pairs = [(answer, None) for answer in answers]
        else:
            present = [start for start in starts if start not in (None, "")]
            pairs = [
                (answer, _whole_number(start, "a start"))
                for answer, start in _paired(answers, present, "answers", "starts")
            ]
    located = [{"text": text, "answer_start": start} for text, start in pairs]
    row: Mapping[str, object] = {"id": "", "question": "?", "answers": located, "is_impossible": not located}
    return squad.read_question(row, passage, max_characters)


def _question_id(levels: Levels, location: str, fields: FieldParameters, lookup: Lookup) -> str | None:
    """Return a question's id: its own, or that of what is around it with the question's number."""
    if fields.id is None:
        return None
    value, depth = lookup.value(fields.id, levels, location, optional=True)
    name = _name(value, "the id")
    numbers = [str(level.number) for level in reversed(levels[:depth])]
    return name and fields.id_prefix + "-".join([name, *numbers])


def _join_questions(records: Iterable[PassageRecord | Rejection]) -> Iterator[PassageRecord | Rejection]:
    """Join records in a row that are about one passage."""
    pending: PassageRecord | None = None
    for record in records:
        if isinstance(record, Rejection):
            yield record
        elif pending and (pending.passage_id, pending.location) == (record.passage_id, record.location):
            pending = replace(pending, questions=pending.questions + record.questions)
        else:
            if pending:
                yield pending
            pending = record
    if pending:
        yield pending


def _is_skipped(levels: Levels, fields: FieldParameters) -> bool:
    return fields.skip is not None and any(has_step(level.value, path_steps(fields.skip)[0]) for level in levels)


def _texts(value: object, name: str) -> list[str]:
    """Return a text, or the texts of a list, which may be empty."""
    texts: list[str] = []
    for text in listed(value):
        if not isinstance(text, str):
            kind = "missing" if text is None else json_type_name(text)
            raise InvalidRecord(f"{name} is missing" if text is None else f"{name} is {kind} instead of a text")
        texts.append(text)
    return texts


def _paired(first: list[object], second: list[object], *names: str) -> Iterator[tuple[object, object]]:
    if len(first) != len(second):
        raise InvalidRecord(f"has {len(first)} {names[0]} and {len(second)} {names[1]}")
    return zip(first, second, strict=True)


def _name(value: object, what: str) -> str | None:
    """Return an id or a subset; a number is one, too."""
    if value is None or value == "":
        return None
    text = str(value) if isinstance(value, int) else value
    return require_text(text, what, max_characters=MAX_ID_CHARACTERS)


def _is_yes(answer: object) -> bool:
    text = str(answer).strip().lower()
    if text not in _YES | _NO:
        raise InvalidRecord(f"the answer {printable(answer)!r} is neither yes nor no")
    return text in _YES


def _is_true(value: object) -> bool:
    return value is not None and str(value).strip().lower() in _YES


def _whole_number(value: object, name: str) -> int:
    # Cells are texts; true and false are instances of int.
    if isinstance(value, bool) or not _WHOLE_NUMBER.fullmatch(str(value).strip()):
        raise InvalidRecord(f"{name} is {printable(value)!r} instead of a whole number")
    return int(str(value))
