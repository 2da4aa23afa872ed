"""The grid: every interaction stands in the study of every task that it can answer."""

import pytest

from coattend import readers, studies
from coattend.config import ReaderParameters, entries
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
    study = studies.load_study(f"grid_{task}")
    return {name: ReaderParameters.model_validate(study.entry(name)) for name in study.parameters.variants}


@pytest.mark.parametrize("task", LEFT_OUT)
def test_no_interaction_is_forgotten(task):
    interactions = [registry.find(row.reader).interaction for row in rows(task).values()]
    assert sorted([*interactions, *LEFT_OUT[task]]) == registry.interactions()


@pytest.mark.parametrize("task", LEFT_OUT)
def test_what_is_left_out_cannot_answer(task):
    able = {
        capability.interaction
        for capability in readers.capabilities()
        if capability.task == task and capability.reason is None
    }
    assert able == set(registry.interactions()) - set(LEFT_OUT[task])


@pytest.mark.parametrize("task", LEFT_OUT)
def test_every_row_answers_its_task_with_parts_that_fit(task):
    for name, row in rows(task).items():
        head = row.head or registry.select_head(row.reader)
        assert readers.task_of(head) == task, name
        assert readers.resolve(row.reader, head=head, **row.options), name


@pytest.mark.parametrize("task", LEFT_OUT)
def test_rows_have_one_encoder_whatever_an_environment_gives_to_some_readers(task):
    overrides = {name: entries.reader_entry(name) | {"encoder": "albert_base"} for name in readers.names()}
    study = studies.load_study(f"grid_{task}")
    assert {study.entry(name, overrides)["encoder"] for name in study.parameters.variants} == {"minilm"}


@pytest.mark.parametrize("task", LEFT_OUT)
def test_the_baseline_is_the_plain_reader(task):
    assert rows(task)[studies.load_study(f"grid_{task}").parameters.baseline].reader == "plain"


def test_words_are_read_by_recurrent_readers_where_papers_do():
    registered = {name: registry.find(name) for name in readers.names()}
    papers = {
        reader.interaction
        for reader in registered.values()
        if {"word", "vocabulary"} & set(reader.heads) and reader.encoder == "recurrent"
    }
    for row in rows("word").values():
        encoder = "recurrent" if registry.find(row.reader).interaction in papers else "transformer"
        assert readers.encoder_of(row.reader) == encoder, row.name
    assert {readers.encoder_of(row.reader) for task in ("options", "span") for row in rows(task).values()} == {
        "transformer"
    }
