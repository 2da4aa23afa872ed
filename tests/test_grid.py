"""The grid: every interaction stands in the study of every task that it can answer."""

import json
import re

import pytest

from coattend import configuration, readers, studies
from coattend.parameters import ReaderParameters
from coattend.readers import registry

LEFT_OUT = {
    "options": {},
    "span": {
        "attentive": "fills a summary alone",
        "bilinear": "fills a summary and the token mass",
        "dcmn": "fills a summary alone",
        "soft_attention": "fills the question alone",
    },
    "word": {"soft_attention": "fills the question alone"},
}
"""Interactions that cannot answer a task, and why: none of its heads reads what they fill."""


def rows(task):
    """The readers of a study of the grid by what they are called there."""
    one = studies.study(f"grid_{task}")
    return {name: ReaderParameters.model_validate(one.entry(name)) for name in one.parameters.variants}


@pytest.mark.parametrize("task", LEFT_OUT)
def test_no_interaction_is_forgotten(task):
    found = [registry.find(row.reader).interaction for row in rows(task).values()]
    assert sorted([*found, *LEFT_OUT[task]]) == registry.interactions()


@pytest.mark.parametrize("task", LEFT_OUT)
def test_what_is_left_out_cannot_answer(task):
    able = {one.interaction for one in readers.capabilities() if one.task == task and one.reason is None}
    assert able == set(registry.interactions()) - set(LEFT_OUT[task])


@pytest.mark.parametrize("task", LEFT_OUT)
def test_every_row_answers_its_task_with_parts_that_fit(task):
    for name, row in rows(task).items():
        head = row.head or registry.own_head(row.reader)
        assert readers.task_of(head) == task, name
        assert readers.resolve(row.reader, head=head, **row.options), name


@pytest.mark.parametrize("task", LEFT_OUT)
def test_rows_have_one_encoder_whatever_an_environment_gives_to_some_readers(task):
    known = {name: configuration.reader_entry(name) | {"encoder": "albert_base"} for name in readers.names()}
    one = studies.study(f"grid_{task}")
    assert {one.entry(name, known)["encoder"] for name in one.parameters.variants} == {"minilm"}


@pytest.mark.parametrize("task", LEFT_OUT)
def test_the_baseline_is_the_plain_reader(task):
    assert rows(task)[studies.study(f"grid_{task}").parameters.baseline].reader == "plain"


def test_words_are_read_by_recurrent_readers_where_papers_do():
    named = {name: registry.find(name) for name in readers.names()}
    papers = {
        one.interaction
        for one in named.values()
        if {"word", "vocabulary"} & set(one.heads) and one.encoder == "recurrent"
    }
    for row in rows("word").values():
        encoder = "recurrent" if registry.find(row.reader).interaction in papers else "transformer"
        assert readers.encoder_of(row.reader) == encoder, row.name
    assert {readers.encoder_of(row.reader) for task in ("options", "span") for row in rows(task).values()} == {
        "transformer"
    }


@pytest.fixture
def sample_alone(project):
    """The grid without its real benchmarks."""
    file = project / "conf" / "base" / "studies" / "grid.yml"
    file.write_text(re.sub(r"benchmarks: \[sample, \w+\]", "benchmarks: [sample]", file.read_text()))
    studies.forget()
    yield project / "data" / "test" / "08_reporting" / "studies"
    studies.forget()


@pytest.mark.long
@pytest.mark.parametrize("task", LEFT_OUT)
def test_every_row_is_trained_on_the_tiny_sample(task, sample_alone, kedro_run):
    few = {"sample": {"training": {"max_questions": 8, "evaluations": 1}}}
    kedro_run(f"study_grid_{task}", study={"seeds": [0]}, benchmarks=few)
    findings = json.loads((sample_alone / f"grid_{task}" / "findings.json").read_text())
    assert not findings["failures"]
    assert {row["variant"] for row in findings["rows"]} == set(rows(task))
