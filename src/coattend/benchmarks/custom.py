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

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from coattend.benchmarks import squad
from coattend.benchmarks.checks import Flaw, label_of, named, need, need_options, need_text, need_words
from coattend.benchmarks.custom_rows import KNOWN, answer_in_cells, rows
from coattend.benchmarks.files import Readable
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected
from coattend.errors import did_you_mean
from coattend.text.identity import text_id

ANSWER = ("text", "start")
LONGEST_ID = 1000
MOST_TOLD = 5
"""Unknown fields of a row that are told."""
Found = TypeVar("Found")


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


def _passage(row: dict[str, Any], file: str, max_characters: int) -> PassageRecord:
    strange = [name for name in row if name not in KNOWN]
    flaws = [f"has an unknown field {name[:60]!r}. {did_you_mean(name, list(KNOWN))}" for name in strange[:MOST_TOLD]]

    def tried(check: Callable[..., Found], *given: Any) -> Found | None:
        """What a check gives, or nothing where it finds a flaw, which is told with the row's others."""
        try:
            return check(*given)
        except Flaw as flaw:
            flaws.append(str(flaw))
            return None

    text = tried(_words, row.get("passage"), max_characters)
    asked = tried(_text, row.get("question"), "the question", max_characters)
    if row.get("subset") is not None:
        tried(_text, row["subset"], "the subset", max_characters)
    if row.get("id") is not None:
        tried(_text, row["id"], "the id", LONGEST_ID)
    if row.get("options") is not None:
        options = tried(_options, row["options"], max_characters)
        label = None if options is None else tried(_label, row, options)
        choice = {"task": "options", "options": options, "label": label}
    elif text is not None:
        found = tried(_answered, row, text, max_characters)
        choice = {} if found is None else {"task": "span", "answers": found.answers, "answerable": found.answerable}
    if flaws or text is None or asked is None:
        raise Flaw("; ".join(flaws))
    name = row.get("id")
    if name is None:
        name = text_id("\n".join([text, asked, *(choice.get("options") or ())]))
    question = QuestionRecord(question_id=name, subset=row.get("subset"), question=asked, **choice)
    return PassageRecord(text_id(text), text, None, file, (question,))


def _text(value: Any, what: str, most: int) -> str:
    return need_text(value, what, max_characters=most)


def _words(value: Any, most: int) -> str:
    return need_words(_text(value, "the passage", most), "the passage")


def _options(values: Any, most: int) -> tuple[str, ...]:
    options = need_options(values, max_characters=most)
    if len(set(options)) < len(options):
        twice = next(one for one in options if options.count(one) > 1)
        raise Flaw(f"has the option {named(twice)!r} twice")
    return options


def _answered(row: dict[str, Any], passage: str, most: int) -> QuestionRecord:
    """The answers of a row without options, with SQuAD's checks."""
    answers = answer_in_cells(row) if row.get("answers") is None else need(row["answers"], list, "the list of answers")
    for one in answers:
        for name in need(one, dict, "an answer"):
            if name not in ANSWER:
                raise Flaw(f"an answer has an unknown field {named(name)!r}. {did_you_mean(name, list(ANSWER))}")
    pairs = [{"text": one.get("text"), "answer_start": one.get("start")} for one in answers]
    return squad.question({"id": "", "question": "?", "answers": pairs, "is_impossible": not pairs}, passage, most)


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
