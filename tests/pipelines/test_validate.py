"""All that is wrong with one's own files, at once."""

import csv
import json

import pytest

from coattend.errors import CoattendError

PASSAGE = "The lamp is in the hall."
GOOD = {"passage": PASSAGE, "question": "Where?", "options": ["in the hall", "at sea"], "label": 0, "id": "q1"}


@pytest.fixture
def write_benchmark(project, monkeypatch):
    """Writes one's own files."""
    monkeypatch.setenv("COATTEND_RAW", str(project / "raw"))
    folder = project / "raw" / "custom"
    folder.mkdir(parents=True)

    def write(name, *rows):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / name).write_text("\n".join(lines) + "\n")

    return write


def listed(project):
    with next((project / "data").rglob("custom/problems.csv")).open(newline="") as file:
        return [(row["file"], row["record"], row["reason"]) for row in csv.DictReader(file)]


def test_every_problem_of_every_file_is_told_with_its_line(kedro_run, project, write_benchmark, caplog):
    write_benchmark(
        "train.jsonl", GOOD, GOOD | {"id": "q2", "label": 5}, "{", GOOD | {"id": "q3", "options": ["one"]}, GOOD
    )
    write_benchmark("dev.csv", "passage,question,optoin_1", "a,b,c")
    with pytest.raises(CoattendError, match="problems in its raw files") as raised:
        kedro_run("validate", "custom")
    problems = listed(project)
    assert [(file, record) for file, record, _ in problems] == [
        ("train.jsonl", "line 2"),
        ("train.jsonl", "line 3"),
        ("train.jsonl", "line 4"),
        ("dev.csv", "the file"),
    ]
    assert "label 5" in problems[0][2] and "is not JSON" in problems[1][2]
    assert "optoin_1" in problems[3][2] and problems[3][2].endswith("Did you mean 'option_1'?")
    assert "ingestion stops at what is wrong with the file as a whole (1 of them)" in raised.value.message
    assert raised.value.problem.startswith("4 problems")
    assert all(f"{file}, {record}: {reason}" in caplog.text for file, record, reason in problems)


def test_what_files_have_in_common_is_told_too(kedro_run, project, write_benchmark):
    write_benchmark("train.jsonl", GOOD, GOOD | {"question": "And where is it now?"})
    write_benchmark("dev.jsonl", GOOD)
    with pytest.raises(CoattendError, match="problems"):
        kedro_run("validate", "custom")
    reasons = [(file, record, reason.split(";")[0]) for file, record, reason in listed(project)]
    assert reasons[:2] == [
        ("train.jsonl", "line 2, q1", "a question with this id, or these texts, came before"),
        ("dev.jsonl", "line 1, q1", "a question with this id, or these texts, came before"),
    ]


def test_files_without_problems(kedro_run, project, write_benchmark, caplog):
    caplog.set_level("INFO")
    write_benchmark("train.jsonl", GOOD)
    write_benchmark("dev.jsonl", GOOD | {"id": "q2"})
    kedro_run("validate", "custom")
    assert listed(project) == []
    assert "nothing is wrong with its raw files" in caplog.text


def test_a_split_without_a_question_is_a_problem(kedro_run, project, write_benchmark):
    write_benchmark("train.jsonl", GOOD)
    write_benchmark("dev.jsonl", GOOD | {"label": 7})
    with pytest.raises(CoattendError, match="2 problems"):
        kedro_run("validate", "custom")
    assert listed(project)[-1] == ("dev.jsonl", "the file", "no question of the split 'dev' can be used")
