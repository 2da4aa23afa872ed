"""RACE: one JSON object a file, ``{answers, options, questions, article, id}``; answers are letters from A to D.

Hugging Face stores it as Parquet, a row for each question with its article.

Source: Lai et al. 2017, "RACE: Large-scale ReAding Comprehension Dataset From Examinations".
"""

from collections.abc import Iterator

from coattend.data.formats.base import InvalidRecord, PassageRecord, QuestionRecord, Rejection
from coattend.data.formats.checks import printable, require, require_options, require_passage, require_text
from coattend.data.formats.reading import LIST_COLUMN, REFETCH, TEXT_COLUMN, Readable, read_json, read_parquet_rows
from coattend.errors import CoattendError
from coattend.text.cloze import is_cloze

LETTERS = ("A", "B", "C", "D")
LEVELS = ("middle", "high")
_COLUMNS = ("example_id", "article", "question", "options", "answer")
PARQUET_COLUMNS = dict.fromkeys(_COLUMNS, TEXT_COLUMN) | {"options": LIST_COLUMN}


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    """Read the file of one article; see `coattend.data.formats.base.FormatReader`.

    A passage's id is the article's, ``high1.txt``; its questions count from 1: ``high1.txt-1``. The subset, middle or
    high, is the beginning of the id. Questions with a blank ``_`` have the type *cloze*.
    """
    article = read_json(path)
    if not isinstance(article, dict) or "article" not in article:
        problem = "holds no object with article, questions, options, answers and id"
        raise CoattendError(problem, where=str(path), cure=REFETCH)
    try:
        yield from _read_article(article, path.name, max_characters)
    except InvalidRecord as error:
        name = article.get("id")
        yield Rejection(path.name, printable(name) if name else "the article", str(error))


def read_parquet(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    """Read a Parquet file; see `coattend.data.formats.base.FormatReader`. Ids are those of the original files."""
    article_id, number = "", 0
    for row in read_parquet_rows(path, PARQUET_COLUMNS):
        # The questions of an article stand in consecutive rows, in the order of its own file.
        number = number + 1 if row["example_id"] == article_id else 1
        article_id = row["example_id"]
        question_id = f"{article_id}-{number}"
        try:
            require_text(article_id, "the id", max_characters=max_characters)
            text = require_passage(row["article"], "the article", max_characters=max_characters)
            question = _question(question_id, row["question"], row["options"], row["answer"], max_characters)
            yield PassageRecord(article_id, text, None, path.name, (question,))
        except InvalidRecord as error:
            yield Rejection(path.name, question_id, str(error))


def _read_article(article: dict[str, object], file: str, max_characters: int) -> Iterator[PassageRecord | Rejection]:
    article_id = require_text(article.get("id"), "the id", max_characters=max_characters)
    text = require_passage(article["article"], "the article", max_characters=max_characters)
    columns = [require(article.get(key), list, f"the list of {key}") for key in ("questions", "options", "answers")]
    if len({len(column) for column in columns}) > 1:
        questions, options, answers = map(len, columns)
        raise InvalidRecord(f"has {questions} questions, {options} options, {answers} answers")
    records = []
    for number, (question, choices, answer) in enumerate(zip(*columns, strict=True), 1):
        question_id = f"{article_id}-{number}"
        try:
            records.append(_question(question_id, question, choices, answer, max_characters))
        except InvalidRecord as error:
            yield Rejection(file, question_id, str(error))
    yield PassageRecord(article_id, text, None, file, tuple(records))


def _question(
    question_id: str, question: object, options: object, answer: object, max_characters: int
) -> QuestionRecord:
    text = require_text(question, "the question", max_characters=max_characters)
    choices = require_options(options, count=len(LETTERS), max_characters=max_characters)
    letter = require(answer, str, "the answer")
    if letter not in LETTERS:
        raise InvalidRecord(f"the answer {letter[:60]!r} is not a letter from A to D")
    level = next((level for level in LEVELS if question_id.startswith(level)), None)
    types = ("cloze",) if is_cloze(text) else ()
    label = LETTERS.index(letter)
    return QuestionRecord(question_id, level, "options", text, options=choices, label=label, question_types=types)
