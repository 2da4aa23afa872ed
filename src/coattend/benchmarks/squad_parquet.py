"""SQuAD 1.1 and 2.0 as Hugging Face stores them: Parquet, a row for each question with its paragraph."""

from collections.abc import Iterator
from typing import Any

from coattend.benchmarks import parquet, squad
from coattend.benchmarks.checks import Flaw, need, need_text, need_words
from coattend.benchmarks.files import Readable
from coattend.benchmarks.records import PassageRecord, Rejected

COLUMNS = {
    "id": parquet.TEXT,
    "title": parquet.TEXT,
    "context": parquet.TEXT,
    "question": parquet.TEXT,
    "answers": parquet.STRUCT,
}


def read(path: Readable, *, max_characters: int) -> Iterator[PassageRecord | Rejected]:
    """Read a file; see `coattend.benchmarks.formats.Read`. A question without answers has none."""
    for number, row in enumerate(parquet.rows(path, COLUMNS), 1):
        place = f"row {number}"
        try:
            place = need_text(row["id"], "the id", max_characters=max_characters)
            yield _passage(row, path.name, max_characters)
        except Flaw as flaw:
            yield Rejected(path.name, place, str(flaw))


def _passage(row: dict[str, Any], file: str, max_characters: int) -> PassageRecord:
    answers = need(row["answers"], dict, "the answers")
    texts = need(answers.get("text"), list, "the texts of the answers")
    starts = need(answers.get("answer_start"), list, "the starts of the answers")
    if len(texts) != len(starts):
        raise Flaw(f"has {len(texts)} answers and {len(starts)} starts")
    pairs = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    fields = {"id": row["id"], "question": row["question"], "answers": pairs, "is_impossible": not pairs}
    context = need_words(need_text(row["context"], "the context", max_characters=max_characters), "the context")
    asked = squad.question(fields, context, max_characters)
    return PassageRecord(squad.passage_id(row["title"] or "", context), context, None, file, (asked,))
