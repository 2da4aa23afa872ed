"""A benchmark as tasks of lm-evaluation-harness: what a language model is asked, and from which questions examples
are drawn. `tests/pipelines/test_export.py` runs the tasks in the harness."""

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
import yaml

from coattend.config import BenchmarkParameters, ExportParameters
from coattend.data.harness_task import UNANSWERABLE, harness_task
from coattend.errors import CoattendError
from coattend.readers.prompts import Inquiry, write_prompt
from coattend.schemas import PASSAGES, QUESTIONS

SOURCE = {"format": "custom", "folder": "mine", "files": {"train": ["train.jsonl"]}}


def question(name, **fields):
    row = dict.fromkeys(QUESTIONS.names) | {"question_id": name, "passage_id": f"p{name}", "group": f"g{name}"}
    row |= {"split": "dev", "task": "options", "question": "Who slept?", "answerable": True}
    return row | ({} if fields.get("task") == "span" else {"options": ["Ann", "Bob"], "label": 1}) | fields


def export(rows, *, tasks=("options",), fill_blanks=False, **parameters):
    passages = [
        dict.fromkeys(PASSAGES.names)
        | {"passage_id": row["passage_id"], "text": f" About {row['question_id']}.\n"}
        | {"source": "dev.jsonl"}
        for row in rows
    ]
    benchmark = BenchmarkParameters(
        name="mine", title="Mine", tasks=tasks, sources=[SOURCE], fill_blanks=fill_blanks, version=3
    )
    return harness_task(
        pads.dataset(pa.Table.from_pylist(rows, QUESTIONS)),
        pads.dataset(pa.Table.from_pylist(passages, PASSAGES)),
        benchmark,
        ExportParameters(**parameters),
    )


class Loader(yaml.SafeLoader):
    """Reads the harness's functions as their names."""


Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def config(task, name):
    return yaml.load(task.files[f"{name}.yaml"], Loader)


@pytest.mark.parametrize(
    ("text", "stem", "choices"),
    [
        ("Who slept?", "Question: Who slept?\nAnswer:", ["Ann", "Bob"]),
        ("Then @placeholder slept.", "Statement: Then", ["Ann slept.", "Bob slept."]),
        ("_ slept.", "Statement:", ["Ann slept.", "Bob slept."]),
        ("So said he (_).", "Statement: So said he", ["(Ann).", "(Bob)."]),
    ],
)
def test_the_harness_is_shown_the_prompt_with_a_space_before_each_choice(text, stem, choices):
    task = export([question("a", question=text)], fill_blanks=True)
    (row,) = task.tables["mine_dev"].to_pylist()
    assert (row["stem"], row["choices"], row["label"]) == (stem, choices, 1)
    assert (row["question"], row["options"], row["passage"]) == (text, ["Ann", "Bob"], "About a.")
    written = config(task, "coattend_mine")
    shown = written["doc_to_text"].replace("{{passage}}", row["passage"]).replace("{{stem}}", row["stem"])
    start = text.find("@placeholder") if "@" in text else text.find("_")
    blank = None if start < 0 else (start, start + (12 if "@" in text else 1))
    prompt = write_prompt(Inquiry("About a.", text, ("Ann", "Bob"), blank))
    assert [f"{shown} {choice}" for choice in choices] == [prompt.context + text for text in prompt.continuations]
    assert written["validation_split"] == "mine_dev"
    assert written["metadata"] == {"version": 3}
    assert [metric["metric"] for metric in written["metric_list"]] == ["acc", "acc_norm"]


def test_letters_stand_for_options():
    task = export([question("a")], answer_by="letter")
    (row,) = task.tables["mine_dev"].to_pylist()
    assert row["stem"] == "Question: Who slept?\nA. Ann\nB. Bob\nAnswer:"
    assert row["choices"] == ["A", "B"]
    assert [metric["metric"] for metric in config(task, "coattend_mine")["metric_list"]] == ["acc"]
    many = question("b", options=[f"option {n}" for n in range(27)])
    with pytest.raises(CoattendError, match=r"question b: has 27 options, .* 26 letters.*export\.answer_by: text"):
        export([many], answer_by="letter")


def test_test_is_scored_where_its_answers_are_known():
    rows = [question("a"), question("b", split="test"), question("c", split="test", label=None)]
    task = export(rows)
    assert config(task, "coattend_mine")["test_split"] == "mine_test"
    assert task.tables["mine_test"]["question_id"].to_pylist() == ["b"]
    assert list(export(rows, split="dev").tables) == ["mine_dev"]
    assert list(export([rows[0], rows[2]]).tables) == ["mine_dev"]
    with pytest.raises(CoattendError, match=r"Mine: none of its questions has a known answer in trial.*dev, test"):
        export(rows, split="trial")
    with pytest.raises(CoattendError, match=r"Name another split: dev, test"):
        export([*rows, question("d", split="train")], split="train")


def test_examples_are_training_questions_of_passages_that_are_not_scored():
    train = [question(f"t{n}", split="train", group="gb" if n == 3 else f"gt{n}") for n in range(8)]
    rows = [question("a", split="test"), question("b"), *train]
    task = export(rows)
    assert set(task.tables["mine_train"]["question_id"].to_pylist()) == {f"t{n}" for n in range(8) if n != 3}
    assert config(task, "coattend_mine")["fewshot_split"] == "mine_train"
    # Fewer examples are some of them, whatever the order of the table.
    few = export(rows, examples=3).tables["mine_train"]["question_id"].to_pylist()
    assert len(few) == 3
    assert set(few) == set(export(rows[::-1], examples=3).tables["mine_train"]["question_id"].to_pylist())
    # A passage that is asked about in another subset is none, either.
    two = [question("a", subset="x", group="gt"), question("t", subset="y", split="train"), question("b", subset="y")]
    assert "mine_y_train" in export([*two, question("u", subset="y", split="train")]).tables
    assert "mine_y_train" not in export([two[0], two[1] | {"group": "gt"}, two[2]]).tables
    assert "fewshot_split" not in config(export(rows, examples=0), "coattend_mine")


def test_subsets_are_tasks_of_a_group_that_counts_each_question_alike():
    rows = [question("a", subset="Task 1"), question("b", subset="Task 2"), question("c", subset="Task 2")]
    task = export(rows)
    assert task.names == ["coattend_mine"]
    group = config(task, "coattend_mine")
    assert group["task"] == ["coattend_mine_task_1", "coattend_mine_task_2"]
    assert all(metric["weight_by_size"] for metric in group["aggregate_metric_list"])
    assert {name: len(table) for name, table in task.tables.items()} == {"mine_task_1_dev": 1, "mine_task_2_dev": 2}
    assert [config(task, name)["validation_split"] for name in group["task"]] == list(task.tables)


def test_spans_are_answered_in_words():
    spans = [
        question("a", task="span", answers=[{"text": text, "start": 0} for text in ("Ann", "Ann", "Ann Lee")]),
        question("b", task="span", answers=[], answerable=False),
        question("c", task="span", answers=None),
    ]
    task = export([*spans, question("d")], tasks=("options", "span"))
    assert task.names == ["coattend_mine_options", "coattend_mine_span"]
    rows = {row["question_id"]: row for row in task.tables["mine_span_dev"].to_pylist()}
    assert {name: row["answers"] for name, row in rows.items()} == {"a": ["Ann", "Ann Lee"], "b": [UNANSWERABLE]}
    assert rows["a"]["stem"] == "Question: Who slept?\nAnswer:"
    written = config(task, "coattend_mine_span")
    assert (written["output_type"], written["doc_to_target"]) == ("generate_until", "answers")
    assert UNANSWERABLE in written["description"]
    answerable = export(spans[:1], tasks=("span",))
    assert UNANSWERABLE not in config(answerable, "coattend_mine")["description"]
