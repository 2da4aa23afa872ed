"""What holds of every table that is made of raw files, whatever was in them."""

from typing import Any

import pyarrow as pa

from coattend.benchmarks.reading import Tables
from coattend.datasets.schema import SchemaValidator
from coattend.tables import SCHEMAS
from coattend.text.occurrences import occurrences


def check(tables: Tables, *, most: int) -> None:
    """Refuse tables that cannot be right.

    Args:
        tables: What raw files came to.
        most: Characters of the longest text.

    Raises:
        AssertionError: With what is wrong.
    """
    passages, questions, rejected = (
        _rows(name, table)
        for name, table in (
            ("passages", tables.passages),
            ("questions", tables.questions),
            ("rejected", tables.rejected),
        )
    )
    texts = {row["passage_id"]: row["text"] for row in passages}
    assert len(texts) == len(passages), "two passages with one id"
    assert len({row["question_id"] for row in questions}) == len(questions), "two questions with one id"
    assert sum(tables.usable.values()) == len(questions), "another count of questions"
    for row in passages:
        assert row["passage_id"].strip() and _is_text(row["text"], most), "a passage without text"
        assert row["turns"] is None or "\n".join(row["turns"]) == row["text"], "turns that are not the passage"
    for row in questions:
        _check_question(row, texts[row["passage_id"]], most)
    assert all(row["file"] and row["record"] and row["reason"] for row in rejected), "rejected without a reason"


def _rows(name: str, table: Any) -> list[dict[str, Any]]:
    batches = [SchemaValidator(name).validate(batch) for batch in table]
    return pa.concat_tables(batches).to_pylist() if batches else SCHEMAS[name].empty_table().to_pylist()


def _is_text(text: str, most: int) -> bool:
    return 0 < len(text) <= most and any(map(str.isalnum, text))


def _check_question(row: dict[str, Any], passage: str, most: int) -> None:
    assert row["question_id"].strip(), "a question without an id"
    assert row["question"].strip() and len(row["question"]) <= most, "a question without text"
    options, label, answers = row["options"], row["label"], row["answers"]
    if row["task"] == "span":
        assert options is None and label is None, "options of a span"
        assert row["answerable"] == bool(answers), "answers to what has none"
        for one in answers:
            start, end = one["start"], one["start"] + len(one["text"])
            assert start >= 0 and passage[start:end] == one["text"] and one["text"].strip(), "no such span"
        return
    assert answers is None and len(options) >= 2, "too few options"
    assert all(one.strip() and len(one) <= most for one in options), "an option without text"
    assert label is None or 0 <= label < len(options), "a label of no option"
    if row["task"] == "word":
        assert occurrences(passage, options)[label], "a word that is not in the passage"
