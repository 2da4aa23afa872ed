"""Groups of scored questions: subsets, types and splits."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.config import BenchmarkParameters
from coattend.evaluation import groups

QUESTIONS = pa.table(
    {
        "question_id": list("abcdef"),
        "passage_id": ["p", "q", "p", "r", "q", "s"],
        "group": ["f0", "a1", "f0", "f0", "a1", "b2"],
        "split": ["test", "dev", "train", "test", "dev", "dev"],
        "subset": ["middle", None, "high", "middle", "high", "high"],
        "task": ["options", "options", "options", "options", "span", "options"],
        "label": [0, None, 1, 1, None, 2],
        "answers": [None, None, None, None, [{"text": "x"}], None],
        "question_types": [["s", "l"], [], ["s"], None, ["l"], ["m"]],
    }
)


def of(masks):
    """The questions of each group."""
    names = QUESTIONS["question_id"].to_pylist()
    return {
        group: "".join(name for name, is_member in zip(names, mask, strict=True) if is_member)
        for group, mask in masks.items()
    }


def ids(table):
    return "".join(table["question_id"].to_pylist())


def test_questions_of_a_task_are_scored_that_are_not_trained_on_and_whose_answer_is_known():
    assert [ids(table) for table in groups.scored_questions(QUESTIONS, "options")] == ["adf", "b"]
    assert [ids(table) for table in groups.scored_questions(QUESTIONS, "span")] == ["e", ""]
    assert [ids(table) for table in groups.scored_questions(QUESTIONS, "word")] == ["", ""]


def test_members_stand_in_alphabetical_order_and_what_has_no_name_is_in_none():
    masks = groups.members(QUESTIONS["split"])
    assert list(masks) == ["dev", "test", "train"]
    assert of(masks) == {"dev": "bef", "test": "ad", "train": "c"}
    assert of(groups.members(QUESTIONS["subset"])) == {"high": "cef", "middle": "ad"}


def test_subsets_stand_behind_all_questions():
    masks = groups.subsets(QUESTIONS)
    assert list(masks) == ["all", "high", "middle"]
    assert of(masks) == {"all": "abcdef", "high": "cef", "middle": "ad"}
    assert {mask.dtype for mask in masks.values()} == {np.dtype(bool)}
    assert list(groups.subsets(QUESTIONS, "NE")) == ["NE", "high", "middle"]


def test_a_question_is_in_each_of_its_types():
    assert of(groups.types(QUESTIONS)) == {"l": "ae", "m": "f", "s": "ac"}


def test_within_a_split_there_are_its_own_groups_alone():
    splits, subsets = groups.members(QUESTIONS["split"]), groups.subsets(QUESTIONS)
    assert of(dict(groups.within(splits["dev"], subsets))) == {"all": "bef", "high": "ef"}
    assert of(dict(groups.within(splits["test"], subsets))) == {"all": "ad", "middle": "ad"}


def test_questions_whose_passages_overlap_have_one_number():
    assert groups.group_numbers(QUESTIONS).tolist() == [0, 1, 0, 0, 1, 2]


def test_train_is_drawn_from_dev_where_their_questions_come_from_one_file():
    passages = [{"passage_id": name, "source": f"{name}.csv"} for name in "pqrs"]
    drawn = [row | {"source": "valid.csv"} for row in passages]
    about = {"name": "mine", "title": "Mine", "tasks": ("options",)}
    about |= {"sources": ({"format": "dream", "folder": "x", "files": {}},)}
    for rows, share, expected in ((passages, 0.5, None), (drawn, 0.5, 0.5), (drawn, None, None)):
        table = pads.dataset(pa.Table.from_pylist(rows))
        benchmark = BenchmarkParameters(**about, train_from_dev=share)
        assert groups.share_moved_from_dev(benchmark, pads.dataset(QUESTIONS), table) == expected
