"""What occurs more than once: passages within a split and across splits, questions, and options of one question."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from coattend.profiling.groups import groups
from coattend.profiling.rows import EVERYTHING, Row
from coattend.text.identity import bare


def copies(questions: pa.Table, passages: dict[str, dict[str, Any]]) -> Iterator[Row]:
    """Copies word for word, whatever the case and the punctuation.

    Args:
        questions: The benchmark's questions.
        passages: Passage id to its row.
    """
    plain = {name: bare(row["text"]) for name, row in passages.items()}
    asked = questions.to_pylist()
    texts: dict[str, set[str]] = {}
    pairs: dict[str, set[tuple[str, str]]] = {}
    for split, subset, rows in groups(questions):
        own = [asked[row] for row in rows]
        ids = {row["passage_id"] for row in own}
        distinct = {plain[name] for name in ids}
        keys = [(plain[row["passage_id"]], bare(row["question"])) for row in own]
        equal = sum(len(set(row["options"])) < len(row["options"]) for row in own if row["options"])
        yield Row("copies", split, subset, "passages that repeat another", len(ids) - len(distinct))
        yield Row("copies", split, subset, "questions that repeat another", len(keys) - len(set(keys)))
        yield Row("copies", split, subset, "questions with equal options", equal)
        if subset == EVERYTHING:
            texts[split], pairs[split] = distinct, set(keys)
    for split in sorted(texts.keys() - {"train"}):
        if "train" in texts:
            shared = len(texts[split] & texts["train"])
            yield Row("copies", split, EVERYTHING, "passages that are in train too", shared)
            yield Row(
                "copies", split, EVERYTHING, "questions that are in train too", len(pairs[split] & pairs["train"])
            )
