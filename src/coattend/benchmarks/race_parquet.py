"""RACE as Hugging Face stores it: Parquet, a row for each question with its article."""

from collections.abc import Iterator
from typing import Any

from coattend.benchmarks import parquet, race
from coattend.benchmarks.checks import Flaw, need_text, need_words
from coattend.benchmarks.files import Readable
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected

COLUMNS = {
    "example_id": parquet.TEXT,
    "article": parquet.TEXT,
    "question": parquet.TEXT,
    "options": parquet.LIST,
    "answer": parquet.TEXT,
}


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejected]:
    """Read a file; see `coattend.benchmarks.formats.Read`. Ids are those of the original files.

    The questions of an article stand in rows one after the other, in the order of its own file.
    """
    name, number = "", 0
    for row in parquet.rows(path, COLUMNS):
        number = number + 1 if row["example_id"] == name else 1
        name = row["example_id"]
        try:
            yield _passage(row, number, path.name, max_characters)
        except Flaw as flaw:
            yield Rejected(path.name, f"{name}-{number}", str(flaw))


def _passage(row: dict[str, Any], number: int, file: str, max_characters: int) -> PassageRecord:
    name = need_text(row["example_id"], "the id", max_characters=max_characters)
    text = need_words(need_text(row["article"], "the article", max_characters=max_characters), "the article")
    asked: QuestionRecord = race.question(
        f"{name}-{number}", race.level_of(name), row["question"], row["options"], row["answer"], max_characters
    )
    return PassageRecord(name, text, None, file, (asked,))
