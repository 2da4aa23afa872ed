"""Predictions in the form of a benchmark's own scorer."""

import csv
import io
import json

import pyarrow as pa
import pytest

from coattend.errors import CoattendError
from coattend.reports.submission import files
from coattend.schemas import PREDICTIONS, QUESTIONS


def tables(answered: str):
    questions = [
        dict.fromkeys(QUESTIONS.names)
        | {"question_id": name, "passage_id": f"p{name}", "split": "dev", "subset": "task 1", "task": "options"}
        | {"question": "?", "answerable": True}
        for name in "abcd"
    ]
    predictions = [
        dict.fromkeys(PREDICTIONS.names)
        | {"question_id": name, "trial_id": "t", "seed": 0, "prediction": name.upper(), "label": 1}
        | {"correct": True, "f1": 1.0}
        for name in answered
    ]
    sources = {f"p{name}": "dev.jsonl" for name in "abcd"}
    return pa.Table.from_pylist(questions, QUESTIONS), pa.Table.from_pylist(predictions, PREDICTIONS), sources


def test_recam_numbers_questions_from_0():
    questions, predictions, sources = tables("abcd")
    ((name, text),) = files("recam", questions, predictions, {"train.jsonl": 3}, sources)
    assert name == "task_1-dev-seed0.csv"
    assert [row["id"] for row in csv.DictReader(io.StringIO(text))] == ["0", "1", "2", "3"]


def test_recam_refuses_a_file_of_which_a_record_was_left_out():
    """Every question behind it would be taken for another."""
    questions, predictions, sources = tables("abcd")
    with pytest.raises(CoattendError, match=r"1 records of dev\.jsonl were left out"):
        list(files("recam", questions, predictions, {"dev.jsonl": 1}, sources))


def test_recam_refuses_missing_answers():
    questions, predictions, sources = tables("abd")
    with pytest.raises(CoattendError, match="1 of 4 questions have no answer, the first is c"):
        list(files("recam", questions, predictions, {}, sources))


def test_squad_answers_nothing_where_there_is_no_answer():
    """An id that is missing would leave the total of the scorer of SQuAD 2.0."""
    questions, predictions, sources = tables("abd")
    ((_, text),) = files("squad", questions, predictions, {"dev.jsonl": 9}, sources)
    assert json.loads(text) == {"a": "A", "b": "B", "c": "", "d": "D"}
