"""Predictions in the form that a benchmark's own scorer reads."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Literal

import pyarrow as pa

from coattend.errors import CoattendError

Form = Literal["squad", "recam"]
QUESTION_COLUMNS = ["question_id", "split", "subset", "task"]
PREDICTION_COLUMNS = ["question_id", "seed", "prediction", "label"]


def files(form: Form, questions: pa.Table, predictions: pa.Table) -> Iterator[tuple[str, str]]:
    """A file for each split, subset and seed.

    Args:
        form: ``squad``: JSON, question id to answer. ``recam``: CSV with the columns id and label, where an id is the
            question's number in its raw file, from 0.
        questions: The columns `QUESTION_COLUMNS` of the questions, in the order of their raw files.
        predictions: The columns `PREDICTION_COLUMNS` of a reader's predictions.

    Yields:
        A file's name, and what is in it.

    Raises:
        CoattendError: If a question of a file was not answered: its scorer would count the others wrongly.
    """
    answers = {(row["seed"], row["question_id"]): row for row in predictions.to_pylist()}
    seeds = sorted({seed for seed, _ in answers})
    for name, asked in _groups(questions):
        for seed in seeds:
            given = {question: answers.get((seed, question)) for question in asked}
            if not any(given.values()):
                continue
            lacking = [question for question, answer in given.items() if answer is None]
            if lacking and form == "recam":
                raise CoattendError(
                    f"{len(lacking)} of {len(asked)} questions have no answer, the first is {lacking[0]}",
                    where=f"{name}, seed {seed}",
                    cure="See the reader's rejected_questions",
                )
            text = _squad(given) if form == "squad" else _recam(given)
            yield f"{name}-seed{seed}.{'json' if form == 'squad' else 'csv'}", text


def _groups(questions: pa.Table) -> Iterator[tuple[str, list[str]]]:
    """Names of the files of scored splits, with their questions in order."""
    groups: dict[str, list[str]] = {}
    for row in questions.to_pylist():
        if row["split"] != "train":
            name = "-".join(part.replace(" ", "_") for part in (row["subset"], row["split"]) if part)
            groups.setdefault(name, []).append(row["question_id"])
    yield from groups.items()


def _squad(given: dict[str, dict | None]) -> str:
    texts = {question: answer["prediction"] for question, answer in given.items() if answer is not None}
    return json.dumps(texts, ensure_ascii=False, indent=1) + "\n"


def _recam(given: dict[str, dict | None]) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", "label"])
    writer.writerows((number, answer["label"]) for number, answer in enumerate(given.values()) if answer is not None)
    return file.getvalue()
