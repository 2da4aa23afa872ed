"""SQuAD 1.1 and 2.0: JSON ``data[].paragraphs[].{context, qas[].{id, question, answers[], is_impossible}}``.

Hugging Face stores them as Parquet, a row for each question with its paragraph.

Source: Rajpurkar et al. 2016 and 2018.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from coattend.data.formats.base import InvalidRecord, PassageRecord, QuestionRecord, Rejection
from coattend.data.formats.checks import json_type_name, require, require_passage, require_text
from coattend.data.formats.reading import REFETCH, STRUCT_COLUMN, TEXT_COLUMN, Readable, read_json, read_parquet_rows
from coattend.errors import CoattendError
from coattend.text.hashing import text_id

PARQUET_COLUMNS = dict.fromkeys(("id", "title", "context", "question"), TEXT_COLUMN) | {"answers": STRUCT_COLUMN}


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    """Read a file of articles; see `coattend.data.formats.base.FormatReader`.

    A passage's id is a hash of its article's title and its text; if a file repeats a paragraph, a number follows. All
    gold answers are kept. An answer whose offset is wrong is searched in the passage, and taken if it occurs once.
    """
    content = read_json(path)
    articles = content.get("data") if isinstance(content, dict) else None
    if not isinstance(articles, list) or not articles:
        problem = "no articles" if isinstance(content, dict) else json_type_name(content)
        raise CoattendError(f'holds {problem} instead of {{"data": [articles]}}', where=str(path), cure=REFETCH)
    counts: Counter[str] = Counter()
    for number, article in enumerate(articles, 1):
        location = f"article {number}"
        try:
            title = require(require(article, dict, "the article").get("title", ""), str, "the title")
            paragraphs = require(article.get("paragraphs"), list, "the list of paragraphs")
        except InvalidRecord as error:
            yield Rejection(path.name, location, str(error))
            continue
        for index, paragraph in enumerate(paragraphs, 1):
            where = f"{location}, paragraph {index}"
            for record in _read_paragraph(paragraph, title, path.name, where, max_characters):
                yield _with_unique_id(record, counts) if isinstance(record, PassageRecord) else record


def read_parquet(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    """Read a Parquet file; see `coattend.data.formats.base.FormatReader`. No answers: the passage has none."""
    for number, row in enumerate(read_parquet_rows(path, PARQUET_COLUMNS), 1):
        location = f"row {number}"
        try:
            location = require_text(row["id"], "the id", max_characters=max_characters)
            answers = require(row["answers"], dict, "the answers")
            texts = require(answers.get("text"), list, "the texts of the answers")
            starts = require(answers.get("answer_start"), list, "the starts of the answers")
            if len(texts) != len(starts):
                raise InvalidRecord(f"has {len(texts)} answers and {len(starts)} starts")
            pairs = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
            fields = {"id": row["id"], "question": row["question"], "answers": pairs, "is_impossible": not pairs}
            context = require_passage(row["context"], "the context", max_characters=max_characters)
            question = read_question(fields, context, max_characters)
            yield PassageRecord(_passage_id(row["title"] or "", context), context, None, path.name, (question,))
        except InvalidRecord as error:
            yield Rejection(path.name, location, str(error))


def read_question(fields: Mapping[str, object], context: str, max_characters: int) -> QuestionRecord:
    """Build a question from SQuAD's fields, whose ``id`` is checked already.

    Raises:
        InvalidRecord: If it cannot be used.
    """
    text = require_text(fields.get("question"), "the question", max_characters=max_characters)
    impossible = require(fields.get("is_impossible", False), bool, "is_impossible")
    raw_answers = require(fields.get("answers", []), list, "the list of answers")
    answers = tuple(_locate_answer(answer, context) for answer in raw_answers)
    # Version 1.1 has no is_impossible, and only questions with answers.
    if impossible and answers:
        raise InvalidRecord("is marked as impossible and has answers")
    if not impossible and not answers:
        raise InvalidRecord("has no answers and is not marked as impossible")
    return QuestionRecord(str(fields["id"]), None, "span", text, answers=answers, answerable=not impossible)


def _read_paragraph(
    paragraph: object, title: str, file: str, location: str, max_characters: int
) -> Iterator[PassageRecord | Rejection]:
    try:
        fields = require(paragraph, dict, "the paragraph")
        context = require_passage(fields.get("context"), "the context", max_characters=max_characters)
        raw_questions = require(fields.get("qas"), list, "the list of questions")
    except InvalidRecord as error:
        yield Rejection(file, location, str(error))
        return
    questions = []
    for index, raw_question in enumerate(raw_questions, 1):
        name = f"{location}, question {index}"
        try:
            question = require(raw_question, dict, "the question")
            name = require_text(question.get("id"), "the id", max_characters=max_characters)
            questions.append(read_question(question, context, max_characters))
        except InvalidRecord as error:
            yield Rejection(file, name, str(error))
    yield PassageRecord(_passage_id(title, context), context, None, file, tuple(questions))


def _passage_id(title: str, context: str) -> str:
    return text_id(f"{title}\n{context}")


def _with_unique_id(record: PassageRecord, counts: Counter[str]) -> PassageRecord:
    """Number the repetitions of a paragraph in a file."""
    counts[record.passage_id] += 1
    count = counts[record.passage_id]
    return record if count == 1 else replace(record, passage_id=f"{record.passage_id}-{count}")


def _locate_answer(answer: object, context: str) -> tuple[str, int]:
    fields = require(answer, dict, "an answer")
    text = require(fields.get("text"), str, "an answer's text")
    start = fields.get("answer_start")
    if not text.strip():
        raise InvalidRecord("an answer is empty")
    if type(start) is int and start >= 0 and context.startswith(text, start):
        return text, start
    # The offset is wrong: only an answer that occurs once can still be located.
    first = context.find(text)
    if first < 0:
        raise InvalidRecord(f"the answer {text[:60]!r} is not in the passage")
    if context.find(text, first + 1) >= 0:
        raise InvalidRecord(f"the answer {text[:60]!r} is not at its offset {start}, and several times in the passage")
    return text, first
