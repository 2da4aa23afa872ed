"""Selection of the questions on a study's attention page."""

import logging

import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from coattend import studies
from coattend.config import AttentionParameters
from coattend.inference.study_attention import ids_of
from coattend.schemas import QUESTIONS

EXAMPLES = [{"benchmark": "race", "question": "high4964.txt-3"}, {"benchmark": "race", "question": "Who slept?"}]


@pytest.fixture(scope="module")
def questions():
    texts = {"high4964.txt-3": "What is it?", "a+b": "Who slept?", "c": "Who slept?"}
    rows = [{"question_id": name, "question": text, "split": "dev"} for name, text in texts.items()]
    rows.append({"question_id": "t", "question": "Who trained?", "split": "train"})
    return pads.dataset(pa.Table.from_pylist([dict.fromkeys(QUESTIONS.names) | row for row in rows], QUESTIONS))


CHOSEN = [
    (["race"], EXAMPLES[:1], None, "high4964.txt-3"),
    (["race"], EXAMPLES[1:], None, "a+b"),
    (["race", "squad_v2"], EXAMPLES[:1], "c", "c"),
    (["race", "squad_v2"], [], "c+of-squad", "c"),
    (["race", "squad_v2"], [], "a+b", "a+b"),
    (["race", "squad_v2"], EXAMPLES, "of-squad", None),
    # A study of one benchmark says of a misspelt id what is like it, when it is looked up.
    (["race"], EXAMPLES, "high4964.txt-4", "high4964.txt-4"),
    (["race"], [{"benchmark": "race", "question": "t"}], None, None),
    (["race", "squad_v2"], [{"benchmark": "squad_v2", "question": "c"}], None, None),
    (["race"], [], None, None),
]


def test_ids_come_before_examples_and_each_benchmark_has_its_own(subtests, questions):
    for benchmarks, examples, ids, expected in CHOSEN:
        with subtests.test(examples=examples, ids=ids):
            findings = {"benchmarks": benchmarks, "examples": examples}
            assert ids_of(findings, "race", AttentionParameters(ids=ids), questions) == expected


def test_an_example_that_is_not_among_the_questions_is_told(questions, caplog):
    findings = {"benchmarks": ["race"], "examples": [{"benchmark": "race", "question": "high1.txt-1"}]}
    with caplog.at_level(logging.WARNING, logger="coattend"):
        assert ids_of(findings, "race", AttentionParameters(), questions) is None
    assert "race has none of these questions to look at: high1.txt-1" in caplog.text


def test_figure_5_shows_the_passage_of_its_paper():
    (example,) = studies.load_study("poi_net_figure5").parameters.examples
    assert (example.benchmark, example.question) == ("race", "high4964.txt-3")
