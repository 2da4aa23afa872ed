"""The sample's questions as a user would ask them, and what evaluation found that readers answer."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from coattend.serving.predictor import Query


def trial_of(project: Path, reader: str) -> Path:
    """The folder of a reader's trial."""
    (trial,) = json.loads((project / f"data/test/06_models/sample/{reader}.json").read_text())["trials"]
    return project / "data/test/06_models/trials" / trial["trial_id"]


def answered(project: Path, reader: str) -> list[tuple[Query, dict[str, Any]]]:
    """Questions with what evaluation wrote about the reader's answer to each."""
    tables = project / "data/test/02_intermediate/sample"
    texts = {row["passage_id"]: row["text"] for row in pq.read_table(tables / "passages.parquet").to_pylist()}
    questions = {row["question_id"]: row for row in pq.read_table(tables / "questions.parquet").to_pylist()}
    pairs = []
    for row in pq.read_table(project / f"data/test/07_model_output/sample/{reader}/predictions.parquet").to_pylist():
        question = questions[row["question_id"]]
        options = tuple(question["options"]) if question["options"] else None
        pairs.append((Query(texts[question["passage_id"]], question["question"], options), row))
    return pairs
