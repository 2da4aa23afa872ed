"""ReCAM's JSON Lines."""

import json

import pytest

from coattend.data.formats import recam
from coattend.data.formats.base import Rejection

ROW = {"article": "The lamp is in the hall.", "question": "A lamp lends the hall its @placeholder .", "label": 2}
ROW |= {f"option_{number}": word for number, word in enumerate(("charm", "price", "light", "name", "age"))}


@pytest.fixture
def read(tmp_path):
    def write_and_read(*rows, ends="\n"):
        content = "".join(json.dumps(row) + ends for row in rows)
        (tmp_path / "Task_1_dev.jsonl").write_bytes(content.encode())
        return list(recam.read(tmp_path / "Task_1_dev.jsonl", max_characters=1000))

    return write_and_read


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_question(read, ends):
    (passage,) = read(ROW, ends=ends)
    (question,) = passage.questions
    assert passage.text == ROW["article"]
    assert (question.question, question.options[question.label]) == (ROW["question"], "light")
    assert (question.task, len(question.options), question.subset) == ("options", 5, None)


def test_a_test_file_has_no_labels(read):
    (passage,) = read({key: value for key, value in ROW.items() if key != "label"})
    assert passage.questions[0].label is None


def test_ids_cover_the_options(read):
    first, again, changed = read(ROW, ROW, ROW | {"option_0": "glow"})
    assert first == again
    assert first.passage_id == changed.passage_id
    assert first.questions[0].question_id != changed.questions[0].question_id


UNUSABLE = [
    ({"question": "A lamp."}, "0 gaps @placeholder instead of one"),
    ({"question": "@placeholder or @placeholder"}, "2 gaps @placeholder instead of one"),
    ({"label": 5}, "the label 5 is not a number from 0 to 4"),
    ({"label": -1}, "the label -1"),
    ({"label": "2"}, "the label is a text instead of a number"),
    ({"label": True}, "the label is true or false"),
    ({"option_4": None}, "option_4 is missing"),
    ({"article": "  "}, "the article is empty"),
    ({"article": "half a pair: \ud800"}, "half a surrogate pair"),
]


def test_what_cannot_be_used_is_left_out_and_said(subtests, read):
    for change, reason in UNUSABLE:
        with subtests.test(reason=reason):
            (first, rejected) = read(ROW, ROW | change)
            assert not isinstance(first, Rejection)
            assert rejected.record == "line 2"
            assert reason in rejected.reason


@pytest.mark.parametrize(("name", "count"), [("Task_1_dev", 837), ("Task_2_dev", 851), ("Task_3_Intersection", 1000)])
def test_published_files_are_read_whole(raw, name, count):
    path = raw / "recam" / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"there is no {name}.jsonl")
    records = list(recam.read(path, max_characters=100_000))
    assert len(records) == count
    assert not any(isinstance(record, Rejection) for record in records)
