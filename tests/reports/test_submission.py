"""Predictions in the form of a benchmark's own scorer."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from coattend.config import BenchmarkParameters
from coattend.errors import CoattendError
from coattend.pipelines.submission.nodes import submit
from coattend.reports.submission import files
from coattend.schemas import PASSAGES, PREDICTIONS, QUESTIONS, REJECTED


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


@pytest.mark.parametrize(
    ("moved", "benchmark", "is_refused"),
    [
        ("", {}, False),
        ("", {"scored": 0.5}, True),
        ("b", {"train_from_dev": 0.5}, True),
        ("", {"train_from_dev": 0.5}, False),  # It has a file of training questions, and nothing was moved.
    ],
)
def test_recam_refuses_questions_that_are_not_all_of_their_file(moved, benchmark, is_refused):
    questions, predictions, sources = tables("abcd")
    splits = ["train" if name in moved else "dev" for name in "abcd"]
    questions = questions.set_column(
        questions.schema.get_field_index("split"),
        QUESTIONS.field("split"),
        pa.array(splits, QUESTIONS.field("split").type),
    )
    passages = pa.Table.from_pylist(
        [{"passage_id": name, "text": "", "source": file} for name, file in sources.items()], PASSAGES
    )
    read = {"format": "recam", "folder": "x", "files": {}}
    about = {"name": "mine", "title": "Mine", "tasks": ("options",), "sources": (read,), "submission": "recam"}
    parts = [pads.dataset(table) for table in (predictions, questions, passages, REJECTED.empty_table())]
    parameters = BenchmarkParameters(**about | benchmark)
    if not is_refused:
        assert submit(*parts, parameters)
        return
    with pytest.raises(CoattendError, match="some are left out") as error:
        submit(*parts, parameters)
    assert error.value.cure == "Set 'scored' to 1 and 'train_from_dev' to null"
    assert submit(*parts[:1], pads.dataset(tables("abcd")[0]), *parts[2:], BenchmarkParameters(**about))


def test_recam_refuses_missing_answers():
    questions, predictions, sources = tables("abd")
    with pytest.raises(CoattendError, match="1 of 4 questions have no answer, the first is c"):
        list(files("recam", questions, predictions, {}, sources))


def test_squad_answers_nothing_where_there_is_no_answer():
    """An id that is missing would leave the total of the scorer of SQuAD 2.0."""
    questions, predictions, sources = tables("abd")
    ((_, text),) = files("squad", questions, predictions, {"dev.jsonl": 9}, sources)
    assert json.loads(text) == {"a": "A", "b": "B", "c": "", "d": "D"}
