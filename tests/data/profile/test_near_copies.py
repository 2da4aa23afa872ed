"""Near copies against sets of tuples of words."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.data.profile import near_copies
from coattend.data.profile.near_copies import GRAM_WORDS, near_copy_statistics, shares_in
from coattend.data.profile.statistics import BenchmarkRows
from coattend.schemas import PASSAGES, QUESTIONS

PIECES = st.lists(st.sampled_from(["a", "b", "c c", "d a b", "a b a b a b"]), max_size=8).map(" ".join)


def grams(text: str, words: int) -> list[tuple[str, ...]]:
    tokens = tuple(text.split())
    if not tokens:
        return []
    return [tokens] if len(tokens) < words else [tokens[i : i + words] for i in range(len(tokens) - words + 1)]


def slow_shares(texts: list[str], sources: list[str], words: int) -> list[float]:
    known = {gram for source in sources for gram in grams(source, words)}
    shared = [[gram in known for gram in grams(text, words)] for text in texts]
    return [sum(marks) / len(marks) if marks else 0.0 for marks in shared]


@given(st.lists(PIECES, max_size=5), st.lists(PIECES, max_size=5), st.integers(1, 6), st.sampled_from([1, 5, 1 << 22]))
def test_shares_are_those_of_sets(texts, sources, words, at_once):
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(near_copies, "_GRAMS_AT_ONCE", at_once)
        assert shares_in(texts, sources, words=words).tolist() == slow_shares(texts, sources, words)


def text(first: int, last: int) -> str:
    return ", ".join(f"Word{number}" for number in range(first, last))


ROWS = [
    ("in train", "train", text(0, 100), "Which word comes first here?", ["Word0", "Word1"]),
    ("equal", "dev", text(0, 100).upper(), "Which word comes first here?", ["word0", "word1"]),
    ("another question", "dev", text(0, 100), "Which one is the last of them all?", ["Word0", "Word1"]),
    ("most of it", "dev", text(40, 130), "Which word comes first here?", ["Word0", "Word1"]),
    ("a part of it", "test", text(60, 200), "Which word comes first here?", ["Word0", "Word1"]),
    ("too short", "test", text(0, GRAM_WORDS - 1), "Which word comes first here?", ["Word0", "Word1"]),
]


def counted(rows):
    questions = [
        {"question_id": name, "passage_id": name, "split": split, "task": "options", "question": question}
        | {"options": options, "label": 0, "answerable": True}
        for name, split, _, question, options in rows
    ]
    passages = [{"passage_id": name, "text": passage, "source": ""} for name, _, passage, *_ in rows]
    tables = pa.Table.from_pylist(questions, schema=QUESTIONS), pa.Table.from_pylist(passages, schema=PASSAGES)
    statistics = list(near_copy_statistics(BenchmarkRows.from_tables(*tables)))
    assert {(row.section, row.subset) for row in statistics} <= {("copies", "all")}
    return {(row.split, row.name): row.value for row in statistics}


def test_near_copies_are_counted_in_what_is_scored():
    values = counted(ROWS)
    assert values["dev", "passages that are nearly in train too"] == 3
    assert values["dev", "questions on passages that are nearly in train"] == 3
    assert values["dev", "questions that are nearly in train too"] == 2
    # 28 of the 128 runs of the long one, and no text that is as short.
    assert {value for (split, _), value in values.items() if split == "test"} == {0}
    assert not any(split == "train" for split, _ in values)


def test_without_training_questions_there_is_nothing_to_copy():
    assert counted(ROWS[1:]) == {}
