"""Ties: a word that is no better than another is not found; and the loss on questions held out."""

from dataclasses import replace

import pyarrow as pa
import pytest
import torch

from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.inference.decoding import OptionAnswer, SpanAnswer
from coattend.inference.scoring import held_out_loss, held_out_score, score_answers
from coattend.schemas import QUESTIONS


def questions(task, options, labels=(0,)):
    rows, examples = [], []
    for number, label in enumerate(labels):
        row = dict.fromkeys(QUESTIONS.names) | {"question_id": str(number), "passage_id": "p", "split": "dev"}
        row |= {"task": task, "question": "_ ?", "options": options, "label": label, "answerable": True}
        rows.append(row)
        examples.append(Example(str(number), 0, ((0,),), (1,), ((0, 1),), 0, ()))
    texts = {row["question_id"]: "a b c" for row in rows}
    return QuestionSet(pa.Table.from_pylist(rows, QUESTIONS), texts, None, examples, [])


@pytest.mark.parametrize(
    ("task", "options", "scores", "correct"),
    [
        ("word", ["a", "b", "c"], (2.0, 1.0, 0.0), True),
        ("word", ["a", "b", "c"], (1.0, 2.0, 0.0), False),
        ("word", ["a", "b", "c"], (2.0, 2.0, 0.0), False),
        ("word", ["a", "a", "c"], (2.0, 2.0, 0.0), True),
        ("options", ["a", "b", "c"], (2.0, 2.0, 0.0), True),
    ],
)
def test_a_tie_is_wrong_for_words_and_the_first_for_options(task, options, scores, correct):
    question_set = questions(task, options)
    answer = OptionAnswer(question_set.examples[0], 0, scores)
    table = score_answers([answer], question_set, trial_id="t", seed=0, threshold=None)
    assert table.column("correct").to_pylist() == [correct]
    assert table.column("f1").to_pylist() == [float(correct)]


def test_the_loss_on_questions_held_out_is_their_cross_entropy():
    # The answer of the last one is not known.
    question_set = questions("options", ["a", "b", "c"], labels=(2, 0, 1, None))
    scores = torch.tensor([[0.3, -1.0, 2.0], [5.0, 1.0, 0.0], [0.1, 0.2, 0.3], [1.0, 0.0, 0.0]], dtype=torch.float64)
    answers = [
        OptionAnswer(example, 0, tuple(row))
        for example, row in zip(question_set.examples, scores.tolist(), strict=True)
    ]
    expected = torch.nn.functional.cross_entropy(scores[:3], torch.tensor([2, 0, 1])).item()
    # Answers come in the order of batches, and a question that was not answered has no part.
    assert held_out_loss(answers[::-1], question_set, "options") == pytest.approx(expected)
    without = torch.nn.functional.cross_entropy(scores[:2], torch.tensor([2, 0])).item()
    assert held_out_loss(answers[:2], question_set, "options") == pytest.approx(without)


def test_masses_of_candidates_are_probabilities_among_these_and_spans_have_none():
    question_set = questions("word", ["a", "b", "c"], labels=(2, 0))
    masses = (0.1, 0.1, 0.2), (0.0, 0.3, 0.2)
    answers = [OptionAnswer(example, 0, row) for example, row in zip(question_set.examples, masses, strict=True)]
    # The passage of the second does not hold its right word.
    assert held_out_loss(answers, question_set, "word") == pytest.approx(torch.tensor(2.0).log().item())
    spans = [
        SpanAnswer(
            example,
            0,
            tokens=(1, 1),
            start=0,
            end=1,
            span_score=1.0,
            null_score=0.0,
            null_sequence=0,
            probabilities=(0.7, 0.3),
        )
        for example in question_set.examples
    ]
    assert held_out_loss(spans, question_set, "span") is None


def test_a_span_is_scored_by_the_rules_that_the_benchmark_names():
    passage = "他在北京大学读书。"
    row = dict.fromkeys(QUESTIONS.names) | {"question_id": "0", "passage_id": "p", "split": "dev", "task": "span"}
    row |= {"question": "?", "answers": [{"text": "北京大学", "start": 2}], "answerable": True}
    example = Example("0", 0, ((0,),), (1,), ((0, 1),), None, ())
    question_set = QuestionSet(pa.Table.from_pylist([row], QUESTIONS), {"0": passage}, None, [example], [])
    answer = SpanAnswer(
        example,
        0,
        tokens=(2, 3),
        start=2,
        end=4,
        span_score=1.0,
        null_score=0.0,
        null_sequence=0,
        probabilities=(1.0,),
    )
    for scorer, f1 in (("squad", 0.0), ("cmrc", 2 / 3)):
        scored = replace(question_set, scorer=scorer)
        table = score_answers([answer], scored, trial_id="t", seed=0, threshold=None)
        assert table.to_pylist()[0]["f1"] == pytest.approx(f1)
        assert held_out_score([answer], scored) == pytest.approx(f1)
