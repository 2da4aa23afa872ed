"""One's own questions in CSV, JSON Lines and Parquet."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.data.formats import custom
from coattend.data.formats.base import Rejection
from coattend.errors import CoattendError

PASSAGE = "The lamp 😀 is in the hall, and the old lamp is in the attic."
CHOICE = {"passage": PASSAGE, "question": "Where?", "options": ["in the hall", "at sea"], "label": 0, "id": "q1"}
NAMED = {"passage": PASSAGE, "question": "Which?", "options": ["a", "b", "c"], "answer": "c", "subset": "hard"}
SPAN = {"passage": PASSAGE, "question": "Where is it?", "answers": [{"text": "the hall", "start": 17}]}
NONE = {"passage": PASSAGE, "question": "Who?", "answers": []}


def write_jsonl(folder, *rows):
    path = folder / "train.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def write_csv(folder, header, *rows):
    path = folder / "train.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def questions(path):
    return [question for record in custom.read(path, max_characters=1000) for question in record.questions]


def test_json_lines(tmp_path):
    first, second, third, fourth = questions(write_jsonl(tmp_path, CHOICE, NAMED, SPAN, NONE))
    assert (first.question_id, first.task, first.label) == ("q1", "options", 0)
    assert (second.label, second.subset, second.options) == (2, "hard", ("a", "b", "c"))
    assert (third.task, third.answers, third.answerable) == ("span", (("the hall", 17),), True)
    assert (fourth.answers, fourth.answerable) == ((), False)


def test_csv(tmp_path):
    header = ["id", "passage", "question", "option_1", "option_2", "option_3", "answer", "label", "start"]
    rows = [
        ["q1", PASSAGE, "Where?", "in the hall", "at sea", "", "", "0", ""],
        ["", PASSAGE, "Which?", "a", "b", "c", "c", "", ""],
        ["", PASSAGE, "Where is it?", "", "", "", "the hall", "", "17"],
        ["", PASSAGE, "Who?", "", "", "", "", "", ""],
    ]
    first, second, third, fourth = questions(write_csv(tmp_path, header, *rows))
    assert (first.question_id, first.options, first.label) == ("q1", ("in the hall", "at sea"), 0)
    assert (second.options, second.label) == (("a", "b", "c"), 2)
    assert third.answers == (("the hall", 17),)
    assert fourth.answerable is False


@pytest.mark.parametrize("rows", [[CHOICE | {"subset": None}, CHOICE | {"id": "q2", "subset": "easy"}], [SPAN, NONE]])
def test_parquet_holds_what_json_lines_hold(tmp_path, rows):
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    assert questions(tmp_path / "train.parquet") == questions(write_jsonl(tmp_path, *rows))


UNUSABLE = [
    ({"label": 2}, "the label 2 is none of its 2 options, counted from 0"),
    ({"label": None}, "the answer is missing"),
    ({"label": None, "answer": "in the attic"}, "'in the attic' is not among the options"),
    ({"options": ["one"]}, "has one option only"),
    ({"options": []}, "has no options"),
    ({"passage": "..."}, "the passage has no words"),
    ({"cells": 0}, "unknown field 'cells'"),
    ({"lable": 0}, "unknown field 'lable'. Did you mean 'label'?"),
    ({"options": None, "answers": [{"text": "the sea", "start": 0}]}, "'the sea' is not in the passage"),
    ({"options": None, "answers": [{"text": "lamp", "start": 1}]}, "several times in the passage"),
    ({"options": None, "answers": ["the hall"]}, "an answer is a text instead of an object"),
    ({"options": None, "answers": [{"text": "the hall", "strat": 17}]}, "field 'strat'. Did you mean 'start'?"),
    ({"options": ["at sea", "at home", "at sea"]}, "has the option 'at sea' twice"),
    ({"label": 0, "answer": "at sea"}, "the label 0 says 'in the hall', and the answer 'at sea'"),
    ({"question": None}, "the question is missing"),
]


def test_what_cannot_be_used_is_left_out_and_said(subtests, tmp_path):
    for change, reason in UNUSABLE:
        with subtests.test(reason=reason):
            (_, rejected) = custom.read(write_jsonl(tmp_path, SPAN, CHOICE | change), max_characters=1000)
            assert isinstance(rejected, Rejection)
            assert rejected.record == "line 2"
            assert reason in rejected.reason


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (["passage", "question", "option_1", "awnser"], "unknown column 'awnser'.*Did you mean 'answer'"),
        (["pasage", "question", "answer"], "no column 'passage'.*Did you mean 'pasage'"),
        (["passage", "question", "option_0"], "unknown column 'option_0'"),
        (["passage", "question", "answers"], "unknown column 'answers'.*A CSV file has answer and start"),
        (["passage", "question", "options"], "unknown column 'options'.*A CSV file has option_1, option_2 and so on"),
    ],
)
def test_a_csv_with_another_header(tmp_path, header, problem):
    with pytest.raises(CoattendError, match=problem):
        list(custom.read(write_csv(tmp_path, header, ["x"] * len(header)), max_characters=1000))


def test_a_csv_line_with_too_few_or_too_many_cells_is_left_out(tmp_path):
    path = write_csv(tmp_path, ["passage", "question", "answer"], [PASSAGE, "Where?"], [PASSAGE, "Who?", "", "x"])
    rejected = list(custom.read(path, max_characters=1000))
    assert [rejection.reason for rejection in rejected] == ["has more or fewer cells than its header"] * 2


def test_all_that_is_wrong_with_a_row_and_with_a_header_is_told_at_once(tmp_path):
    row = {"passage": "...", "question": "", "options": ["one"], "label": 7, "cells": 0, "id": 4}
    (rejected,) = custom.read(write_jsonl(tmp_path, row), max_characters=1000)
    for reason in (
        "unknown field 'cells'",
        "passage has no words",
        "question is empty",
        "one option only",
        "the id is a number",
    ):
        assert reason in rejected.reason
    with pytest.raises(CoattendError) as raised:
        list(custom.read(write_csv(tmp_path, ["pasage", "qestion", "optoin_1"], ["x"] * 3), max_characters=1000))
    assert raised.value.problem.startswith(
        "has no column 'passage', has no column 'question', has an unknown column 'pasage', has an unknown column"
    )
    assert "Did you mean 'pasage'? Did you mean 'qestion'?" in raised.value.cure


def test_a_label_without_options_and_a_start_without_an_answer_are_no_question_without_an_answer(tmp_path):
    header = ["passage", "question", "option_1", "option_2", "label", "answer", "start"]
    rows = [[PASSAGE, "Who?", "", "", "0", "", ""], [PASSAGE, "Where?", "", "", "", "", "4"]]
    rejected = list(custom.read(write_csv(tmp_path, header, *rows), max_characters=1000))
    assert rejected[0].reason == "has a label and no options"
    assert "is missing" in rejected[1].reason


def test_a_csv_cell_that_is_too_long_costs_its_row_alone(tmp_path):
    rows = [["A lamp.", "Where?"], ["word " * 40_000, "Which?"], ["A hall.", "Who?"]]
    first, rejected, last = custom.read(write_csv(tmp_path, ["passage", "question"], *rows), max_characters=1000)
    assert (first.text, last.text) == ("A lamp.", "A hall.")
    assert rejected.record == "line 3"
    assert "the passage has 200,000 characters" in rejected.reason


def test_a_csv_row_of_several_lines_is_told_by_its_first(tmp_path):
    rows = [["Two\nlines.", "Where?"], ["...\n...", "Which?"], ["", ""]]
    records = list(custom.read(write_csv(tmp_path, ["passage", "question"], *rows), max_characters=1000))
    assert records[0].location == "line 2"
    assert [record.record for record in records[1:]] == ["line 4", "line 6"]


def test_csv_quotes_that_never_end(tmp_path):
    (tmp_path / "train.csv").write_text('passage,question\n"never ends,Where?\n')
    with pytest.raises(CoattendError, match="is not CSV"):
        list(custom.read(tmp_path / "train.csv", max_characters=1000))


def test_a_column_that_only_some_rows_fill(tmp_path):
    rows = [
        {"passage": PASSAGE, "question": q, "answer": a, "start": s}
        for q, a, s in (("A?", "hall", 21), ("B?", None, None))
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    first, second = questions(tmp_path / "train.parquet")
    assert (first.answers, second.answers, second.answerable) == ((("hall", 21),), (), False)


def test_parquet_with_an_unknown_column_or_a_wrong_type(tmp_path):
    pq.write_table(pa.Table.from_pylist([CHOICE | {"lable": 1}]), tmp_path / "train.parquet")
    with pytest.raises(CoattendError, match="unknown column 'lable'"):
        list(custom.read(tmp_path / "train.parquet", max_characters=1000))
    pq.write_table(pa.Table.from_pylist([CHOICE | {"passage": 1}]), tmp_path / "dev.parquet")
    with pytest.raises(CoattendError, match="'passage' is int64 instead of text"):
        list(custom.read(tmp_path / "dev.parquet", max_characters=1000))


def test_a_file_of_another_kind(tmp_path):
    (tmp_path / "train.xlsx").write_bytes(b"PK")
    with pytest.raises(CoattendError, match=r"neither .csv, .jsonl nor .parquet"):
        list(custom.read(tmp_path / "train.xlsx", max_characters=1000))


@given(before=st.text(max_size=30), answer=st.text(min_size=1, max_size=10), after=st.text(max_size=30))
def test_offsets_are_code_points_of_any_text(tmp_path_factory, before, answer, after):
    passage = before + answer + after
    row = {"passage": passage, "question": "What?", "answers": [{"text": answer, "start": len(before)}]}
    path = write_jsonl(tmp_path_factory.mktemp("custom"), row)
    for record in custom.read(path, max_characters=1000):
        if not isinstance(record, Rejection):
            ((text, start),) = record.questions[0].answers
            assert record.text[start : start + len(text)] == answer


def test_a_byte_that_is_no_text_is_told_with_its_line_wherever_it_stands(tmp_path):
    file = tmp_path / "train.csv"
    rows = [f"A passage {number}.,Which?,,".encode() for number in range(3000)]
    file.write_bytes(b"\n".join([b"passage,question,answer,start", *rows, b"A p\xe4ssage.,Which?,,", b""]))
    with pytest.raises(CoattendError, match=r"line 3002: is not UTF-8 \(byte 0xe4"):
        list(custom.read(file, max_characters=1000))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_cells_end_in_any_way(tmp_path, end):
    file = tmp_path / "train.csv"
    file.write_bytes("\ufeff".encode() + end.join(["passage,question", '"Two', 'lines.",Which?', ""]).encode())
    (passage,) = custom.read(file, max_characters=1000)
    assert passage.text == f"Two{end}lines."


def test_a_column_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "own.csv").write_text("passage,question,question\nA lamp.,Where?,When?\n")
    with pytest.raises(CoattendError, match="has the column 'question' twice"):
        list(custom.read(tmp_path / "own.csv", max_characters=100))
