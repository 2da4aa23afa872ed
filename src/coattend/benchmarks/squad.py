"""SQuAD 1.1 and 2.0: JSON ``data[].paragraphs[].{context, qas[].{id, question, answers[], is_impossible}}``.

Source: Rajpurkar et al. 2016 and 2018.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from coattend.benchmarks.checks import Flaw, name_of, need, need_text, need_words
from coattend.benchmarks.files import CURE, Readable, read_json
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected
from coattend.errors import CoattendError
from coattend.text.identity import text_id


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejected]:
    """Read a file of articles; see `coattend.benchmarks.formats.Read`.

    A passage's id is a hash of its article's title and its text; where an article has a paragraph again, it gets a
    number behind it. All gold answers are kept. An answer whose offset is
    wrong is looked for in the passage, and taken if it stands there once.
    """
    content = read_json(path)
    articles = content.get("data") if isinstance(content, dict) else None
    if not isinstance(articles, list) or not articles:
        held = "no articles" if isinstance(content, dict) else name_of(content)
        raise CoattendError(f'holds {held} instead of {{"data": [articles]}}', where=str(path), cure=CURE)
    seen: Counter[str] = Counter()
    for number, article in enumerate(articles, 1):
        place = f"article {number}"
        try:
            title = need(need(article, dict, "the article").get("title", ""), str, "the title")
            paragraphs = need(article.get("paragraphs"), list, "the list of paragraphs")
        except Flaw as flaw:
            yield Rejected(path.name, place, str(flaw))
            continue
        for index, paragraph in enumerate(paragraphs, 1):
            for record in _read_paragraph(paragraph, title, path.name, f"{place}, paragraph {index}", max_characters):
                yield _numbered(record, seen) if isinstance(record, PassageRecord) else record


def _read_paragraph(
    paragraph: Any, title: str, file: str, place: str, max_characters: int
) -> Iterator[PassageRecord | Rejected]:
    try:
        context = need(paragraph, dict, "the paragraph").get("context")
        need_words(need_text(context, "the context", max_characters=max_characters), "the context")
        asked = need(paragraph.get("qas"), list, "the list of questions")
    except Flaw as flaw:
        yield Rejected(file, place, str(flaw))
        return
    questions = []
    for index, fields in enumerate(asked, 1):
        name = f"{place}, question {index}"
        try:
            name = need_text(need(fields, dict, "the question").get("id"), "the id", max_characters=max_characters)
            questions.append(question(fields, context, max_characters))
        except Flaw as flaw:
            yield Rejected(file, name, str(flaw))
    yield PassageRecord(passage_id(title, context), context, None, file, tuple(questions))


def _numbered(record: PassageRecord, seen: Counter[str]) -> PassageRecord:
    """The record, with a number behind its id if the file had the paragraph before."""
    seen[record.passage_id] += 1
    count = seen[record.passage_id]
    return record if count == 1 else replace(record, passage_id=f"{record.passage_id}-{count}")


def passage_id(title: str, context: str) -> str:
    """The id of a paragraph: a hash of its article's title and its text."""
    return text_id(f"{title}\n{context}")


def question(fields: dict[str, Any], context: str, max_characters: int) -> QuestionRecord:
    """A question from the fields that SQuAD gives it.

    Raises:
        Flaw: If it cannot be used.
    """
    text = need_text(fields.get("question"), "the question", max_characters=max_characters)
    impossible = need(fields.get("is_impossible", False), bool, "is_impossible")
    answers = tuple(_answer(answer, context) for answer in need(fields.get("answers", []), list, "the list of answers"))
    if impossible and answers:
        raise Flaw("is marked as impossible and has answers")
    if not impossible and not answers:
        raise Flaw("has no answers and is not marked as impossible")
    return QuestionRecord(fields["id"], None, "span", text, answers=answers, answerable=not impossible)


def _answer(answer: Any, context: str) -> tuple[str, int]:
    text = need(need(answer, dict, "an answer").get("text"), str, "an answer's text")
    start = answer.get("answer_start")
    if not text.strip():
        raise Flaw("an answer is empty")
    if type(start) is int and start >= 0 and context.startswith(text, start):
        return text, start
    found = context.find(text)
    if found < 0:
        raise Flaw(f"the answer {text[:60]!r} is not in the passage")
    if context.find(text, found + 1) >= 0:
        raise Flaw(f"the answer {text[:60]!r} is not at its offset {start}, and several times in the passage")
    return text, found
