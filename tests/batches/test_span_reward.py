"""Rewards of spans, against the official scorer on the text that a span holds."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from coattend.batches.collator import Collator, SpanReward
from coattend.evaluation import span_scorer, squad


@pytest.fixture(params=["subwords", "words"])
def read(request, sample):
    return sample.read(request.param, "span")


def reward_of(examples, passages, read):
    start = len(read.layout.prefix)
    return SpanReward(examples, passages, read.tokens, passage_start=start, scorer=span_scorer("squad"))


def text_of(passage, example, window, read, start, end):
    """The text from one position of a window's passage domain to another."""
    where = read.tokens.slice(example.passage)
    starts, ends = read.tokens.starts[where].tolist(), read.tokens.ends[where].tolist()
    shift = window[0] - len(read.layout.prefix)
    return passage[starts[start + shift] : ends[end + shift]]


@pytest.mark.parametrize("max_length", [256, 32])
def test_a_span_is_worth_its_f1(sample, read, max_length):
    questions = sample.rows("span")
    examples, unreadable = sample.build(questions, read, max_length, stride=8)
    assert not unreadable
    passages = sample.passage_of(questions)
    golds = {row["question_id"]: [answer["text"] for answer in row["answers"]] for row in questions.to_pylist()}
    batch = Collator(read.tokens, read.layout, "span")(examples)
    rows = [(example, window) for example in examples for window in example.windows]
    assert (len(rows) > len(examples)) == (max_length == 32)
    reward = reward_of(examples, passages, read)
    chance, scores = np.random.default_rng(0), set()
    before = len(read.layout.prefix)
    for _ in range(6):
        starts = torch.tensor([int(chance.integers(before, before + count)) for _, (_, count) in rows])
        lengths = torch.tensor([int(chance.integers(0, 4)) for _ in rows])
        ends = torch.minimum(starts + lengths, torch.tensor([before + count - 1 for _, (_, count) in rows]))
        rewards = reward(starts, ends)
        assert rewards.dtype == torch.float32
        for row, (example, window) in enumerate(rows):
            passage = passages[example.question_id]
            text = text_of(passage, example, window, read, int(starts[row]), int(ends[row]))
            gold_answers = golds[example.question_id] if int(batch["start"][row]) else []
            assert float(rewards[row]) == pytest.approx(squad.best(text, gold_answers, version="v2.0")[1])
            scores.add(float(rewards[row]))
    assert 0.0 in scores
    assert any(0 < value < 1 for value in scores), "no span holds a part of its answer: the test shows little"


def test_the_gold_span_is_worth_everything_and_nothing_where_the_window_does_not_hold_it(sample, read):
    questions = sample.rows("span")
    examples, _ = sample.build(questions, read, 32, stride=8)
    passages = sample.passage_of(questions)
    batch = Collator(read.tokens, read.layout, "span")(examples)
    reward = reward_of(examples, passages, read)
    assert reward(batch["start"], batch["end"]).tolist() == [1.0] * len(batch["start"])
    nothing = torch.zeros_like(batch["start"])
    assert reward(nothing, nothing).tolist() == [float(start == 0) for start in batch["start"].tolist()]
    assert 0 < int((batch["start"] == 0).sum()) < len(batch["start"])
    # Where the window holds no answer, all that it holds is wrong.
    first = torch.full_like(nothing, len(read.layout.prefix))
    last = batch["answer_mask"].sum(1) + first - 1
    assert not reward(first, last)[batch["start"] == 0].any()


def test_an_end_before_its_start_is_no_answer_at_all(sample, read):
    questions = sample.rows("span")
    examples, _ = sample.build(questions, read)
    batch = Collator(read.tokens, read.layout, "span")(examples)
    reward = reward_of(examples, sample.passage_of(questions), read)
    late = torch.where(batch["start"] > 1, batch["start"], 2)
    assert not reward(late, late - 1).any()
    # Position 0 as either end says "nothing".
    nothing = (batch["start"] == 0).float()
    assert torch.equal(reward(late, torch.zeros_like(late)), nothing)
    assert torch.equal(reward(torch.zeros_like(late), late), nothing)


def test_the_gold_answer_that_suits_best_counts(sample, read):
    questions = sample.rows("span")
    examples, _ = sample.build(questions, read)
    passages = sample.passage_of(questions)
    example = next(example for example in examples if example.spans)
    passage, gold = passages[example.question_id], example.spans[0]
    # The longest word is another answer, and what is given.
    longest_word = max(
        ((match.start(), match.end()) for match in re.finditer(r"\w+", passage)), key=lambda span: span[1] - span[0]
    )
    two_golds = replace(example, spans=(gold, longest_word))
    where = read.tokens.slice(example.passage)
    inside = np.flatnonzero((read.tokens.ends[where] > longest_word[0]) & (read.tokens.starts[where] < longest_word[1]))
    start, end = (torch.full((2,), int(index) + len(read.layout.prefix)) for index in (inside[0], inside[-1]))
    of_gold = squad.f1(passage[slice(*longest_word)], passage[slice(*gold)])
    assert of_gold < 1
    assert reward_of([two_golds, example], passages, read)(start, end).tolist() == pytest.approx([1.0, of_gold])
