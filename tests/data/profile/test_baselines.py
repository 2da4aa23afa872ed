"""Trivial baselines, against counts by hand and a slow second implementation."""

import math
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.config import BenchmarkParameters, SourceParameters
from coattend.data.profile import baselines
from coattend.data.profile.baselines import baseline_scores, trivial_scores
from coattend.data.profile.statistics import BenchmarkRows
from coattend.schemas import QUESTIONS

BENCHMARK = BenchmarkParameters(
    title="Tiny", tasks=("options",), sources=(SourceParameters(format="dream", folder=".", files={}),)
)
WORDS = st.lists(st.sampled_from("abcdef"), max_size=12)


@given(passage=WORDS, query=st.lists(st.sampled_from("abcxyz"), min_size=1, max_size=5))
def test_the_heaviest_window(passage, query):
    """Richardson et al.: the best over all places of the sum of inverse counts of wanted words in the window."""
    counts, size = Counter(passage), len(set(query))
    slow = max(
        (
            sum(math.log(1 + 1 / counts[word]) for word in passage[position : position + size] if word in query)
            for position in range(len(passage))
        ),
        default=0.0,
    )
    (score,) = baselines.option_scores(passage, [query])
    assert score == pytest.approx(slow)


def test_a_span_stands_beside_the_words_of_the_question():
    passage = "The red lamp of Anna is old. The green lamp of Bert Miller is new, and nobody knows why."
    frequent = {"the", "of", "is", "and"}
    assert baselines.sliding_window_span(passage, "Who has the green lamp?", frequent) == "Bert Miller"
    assert baselines.sliding_window_span("the of is", "Who?", frequent) == ""


@given(st.text(alphabet="ab .,é'", max_size=40), st.text(alphabet="ab ?", max_size=10))
def test_a_span_is_part_of_its_passage(passage, question):
    assert baselines.sliding_window_span(passage, question, set()) in passage


def rows(*questions):
    names = ["question_id", "passage_id", "split", "subset", "task", "question", "options", "label", "answers"]
    table = [dict(zip(names, row, strict=True)) | {"answerable": True, "question_types": None} for row in questions]
    return pa.Table.from_pylist(table, QUESTIONS)


def scores(questions, **passages):
    texts = [{"passage_id": name, "text": text, "turns": None} for name, text in passages.items()]
    material = BenchmarkRows.from_tables(questions, pa.Table.from_pylist(texts))
    return {(row.split, row.name): row.value for row in baseline_scores(BENCHMARK, material)}


def test_options():
    questions = rows(
        ("1", "p", "train", None, "options", "What?", ["x", "y", "z"], 2, None),
        ("2", "p", "dev", None, "options", "What is green?", ["the lamp", "the sofa", "the bed"], 1, None),
        ("3", "p", "dev", None, "options", "The _ is new.", ["bed", "sofa", "cup"], 0, None),
        ("4", "p", "dev", None, "options", "Nothing?", ["x", "y", "z", "w"], 2, None),
    )
    accuracies = scores(questions, p="The lamp is red. The sofa is green. The bed is new.")
    # "the sofa is green the" weighs as much as "is green the bed is": windows know no sentences.
    assert accuracies == {
        ("dev", "chance, %"): pytest.approx(100 * (1 / 3 + 1 / 3 + 1 / 4) / 3),
        ("dev", "always the same option, %"): pytest.approx(100 / 3),
        ("dev", "sliding window, %"): pytest.approx(100 * (1 / 2 + 1 + 1 / 4) / 3),
    }


def test_words_ties_count_as_wrong_or_by_lot():
    questions = rows(
        ("1", "p", "dev", None, "word", "_ sang", ["Anna", "Bert", "Cara"], 0, None),
        ("2", "p", "dev", None, "word", "_ fell", ["Bert", "Cara"], 0, None),
        ("3", "p", "dev", None, "word", "_ ran", ["Anna", "Cara"], 1, None),
    )
    accuracies = scores(questions, p="Anna and Anna saw Bert and Cara , not Annas")
    assert accuracies["dev", "most frequent candidate, %"] == pytest.approx(100 / 3)
    assert accuracies["dev", "most frequent candidate, ties by lot, %"] == pytest.approx(100 * 1.5 / 3)


def test_spans():
    gold = [{"text": "Bert Miller", "start": 0}]
    questions = rows(
        ("1", "p", "dev", None, "span", "Who has a green lamp?", None, None, gold),
        ("2", "p", "dev", None, "span", "Who has a blue lamp?", None, None, []),
    )
    accuracies = scores(questions, p="Bert Miller has a green lamp.")
    assert accuracies["dev", "answering nothing, %"] == 50
    assert set(accuracies) == {
        ("dev", "answering nothing, %"),
        ("dev", "sliding window where there is an answer, exact match, %"),
        ("dev", "sliding window where there is an answer, F1, %"),
    }


def test_scores_beside_those_of_readers_are_of_their_task_and_metrics():
    questions = rows(
        ("q1", "p1", "dev", "a", "options", "Who slept?", ["Ann", "Bob"], 0, None),
        ("q2", "p1", "dev", "b", "span", "Who slept?", None, None, [{"text": "Ann", "start": 0}]),
    )
    passages = pa.Table.from_pylist([{"passage_id": "p1", "text": "Ann slept."}])
    found = {
        task: {
            (score["name"], score["group"], score["metric"]): score["score"]
            for score in trivial_scores(BENCHMARK, questions, passages, task=task)
        }
        for task in ("options", "span")
    }
    assert found["options"]["chance", "all", "accuracy"] == found["options"]["chance", "a", "accuracy"] == 50
    assert found["options"]["sliding window", "all", "accuracy"] == 100
    assert {name for name, *_ in found["span"]} == {"sliding window where there is an answer"}
    assert {metric for *_, metric in found["span"]} == {"exact", "f1"}
