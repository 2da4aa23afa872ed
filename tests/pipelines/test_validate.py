"""All that is wrong with one's own files, at once."""

import csv
import json

import pytest

from coattend.errors import CoattendError

PASSAGE = "The lamp is in the hall."
GOOD = {"passage": PASSAGE, "question": "Where?", "options": ["in the hall", "at sea"], "label": 0, "id": "q1"}
ELSEWHERE = GOOD | {"passage": "Ann rows her boat to the old mill and sings.", "id": "elsewhere"}


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
        ("raw/custom/train.jsonl", "line 2"),
        ("raw/custom/train.jsonl", "line 3"),
        ("raw/custom/train.jsonl", "line 4"),
        ("raw/custom/dev.csv", "the file"),
    ]
    assert "label 5" in problems[0][2] and "is not JSON" in problems[1][2]
    assert "optoin_1" in problems[3][2] and problems[3][2].endswith("Did you mean 'option_1'?")
    assert raised.value.problem == (
        "4 problems in its raw files: ingestion stops at 2 of them, and ingestion leaves 2 out"
    )
    assert (project / raised.value.cure.removeprefix("All are in ")).is_file()
    assert all(f"{file}, {record}: {reason}" in caplog.text for file, record, reason in problems)


def test_what_files_have_in_common_is_told_too(kedro_run, project, write_benchmark):
    write_benchmark("train.jsonl", GOOD, GOOD | {"question": "And where is it now?"})
    write_benchmark("dev.jsonl", GOOD)
    with pytest.raises(CoattendError, match="problems"):
        kedro_run("validate", "custom")
    reasons = [(file, record, reason.split(";")[0]) for file, record, reason in listed(project)]
    assert reasons[:2] == [
        ("raw/custom/train.jsonl", "line 2, q1", "a question with this id, or these texts, came before"),
        ("raw/custom/dev.jsonl", "line 1, q1", "a question with this id, or these texts, came before"),
    ]


def test_files_without_problems(kedro_run, project, write_benchmark, caplog):
    caplog.set_level("INFO")
    write_benchmark("train.jsonl", GOOD, ELSEWHERE)
    write_benchmark("dev.jsonl", GOOD | {"id": "q2"})
    kedro_run("validate", "custom")
    assert listed(project) == []
    assert "nothing is wrong with its raw files" in caplog.text


def test_a_split_without_a_question_is_a_problem(kedro_run, project, write_benchmark):
    write_benchmark("train.jsonl", GOOD, ELSEWHERE)
    write_benchmark("dev.jsonl", GOOD | {"label": 7})
    with pytest.raises(CoattendError, match="2 problems"):
        kedro_run("validate", "custom")
    assert listed(project)[-1] == ("raw/custom/dev.jsonl", "the file", "no question of the split 'dev' can be used")


def test_questions_of_another_task_than_the_benchmark_declares_are_a_problem(kedro_run, project, write_benchmark):
    write_benchmark("train.jsonl", GOOD, ELSEWHERE)
    write_benchmark("dev.jsonl", GOOD | {"id": "q2"})
    declaration = project / "conf/base/parameters/benchmarks/custom.yml"
    declaration.write_text(declaration.read_text().replace("tasks: [options, span]", "tasks: [span]"))
    with pytest.raises(CoattendError, match="1 problem in its raw files: training stops at 1 of them"):
        kedro_run("validate", "custom")
    reason = "no question is of the task span, which the benchmark declares. Set its tasks to [options]"
    assert listed(project) == [("dev.jsonl, train.jsonl", "the file", reason)]


HEADER = "passage,question,option_1,option_2,answer"
ROWS = [
    "Ann has a lamp,Who?,Ann,Tom,Ann",
    "Tom rows to the mill,Who?,Ann,Tom,Tom",
    "Eve bakes bread at home,Who?,Eve,Tom,Eve",
]
CASES = {
    "latin": (".csv", [HEADER, *ROWS, "Zo\xeb sings,Who?,Ann,Tom,Ann"], "line 5: is not UTF-8", "Convert the file"),
    "quote": (".csv", [HEADER, *ROWS, '"Eve sleeps,Who?,Ann,Tom,Ann'], "line 5: is not CSV", "Close every quotation"),
    "json": (".jsonl", [json.dumps(GOOD), '{"passage": "x', json.dumps(ELSEWHERE)], "line 2: is not JSON", "a line"),
    "semicolons": (".csv", [HEADER.replace(",", ";")], "has semicolons between its cells", "Save it with commas"),
    "empty": (".csv", [""], "is empty", "Close every"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_stops_ingestion_is_said_alike_with_a_cure_for_own_files(
    kedro_run, project, write_benchmark, caplog, case
):
    suffix, lines, problem, cure = CASES[case]
    write_benchmark("dev.jsonl", GOOD | {"id": "q2"})
    write_benchmark(f"train{suffix}", "")
    (project / f"raw/custom/train{suffix}").write_text("\n".join(lines), encoding="latin-1")
    with pytest.raises(CoattendError, match="1 problem in its raw files: ingestion stops at 1 of them"):
        kedro_run("validate", "custom")
    (line,) = [record.message for record in caplog.records if "(stops ingestion)" in record.message]
    with pytest.raises(CoattendError, match=problem) as stopped:
        kedro_run("ingestion", "custom")
    assert line.startswith(f"raw/custom/train{suffix}, ")
    assert f"{stopped.value.problem}. {stopped.value.cure}" in line
    assert cure in stopped.value.cure


def test_questions_about_one_passage_cannot_be_trained_on_and_both_say_so(kedro_run, write_benchmark, caplog):
    write_benchmark("train.jsonl", GOOD, GOOD | {"id": "q3", "question": "Is it there?"})
    write_benchmark("dev.jsonl", ELSEWHERE)
    with pytest.raises(CoattendError, match="1 problem in its raw files: training stops at 1 of them"):
        kedro_run("validate", "custom")
    said = "all questions of the split 'train' are about one passage"
    assert said in caplog.text
    caplog.clear()
    kedro_run("ingestion", "custom")
    assert said in caplog.text


def test_each_kind_of_problem_is_one_line_with_its_count(kedro_run, write_benchmark, caplog):
    wrong = [GOOD | {"id": f"q{number}", "label": None, "answer": f"at {number}"} for number in range(40)]
    write_benchmark("train.jsonl", GOOD, ELSEWHERE, *wrong, "[1]")
    write_benchmark("dev.jsonl", GOOD | {"id": "other"})
    expected = (
        "raw/custom/train.jsonl, line 3: the answer 'at 0' is not among the options (40 times; this is the first)",
        "raw/custom/train.jsonl, line 43: the line is a list instead of an object",
    )
    with pytest.raises(CoattendError, match="41 problems in its raw files: ingestion leaves 41 out"):
        kedro_run("validate", "custom")
    lines = [record.message for record in caplog.records if "(left out)" in record.message]
    assert lines == [f"{line} (left out)" for line in expected]
    caplog.clear()
    kedro_run("ingestion", "custom")
    assert f"41 records are left out and listed in custom.rejected: {'; '.join(expected)}" in caplog.text
