"""The span head, and the best spans."""

import math

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend.readers.heads.span import SpanHead, best_spans
from coattend.readers.interfaces import STREAMS, Attended, EncoderShape

SHAPE = EncoderShape(3, 1)


def span_output(**options):
    torch.manual_seed(0)
    head = SpanHead(SpanHead.Config(**options), SHAPE, STREAMS).double()
    batch = tiny.batch([tiny.question(0, passage=6, options=(3,)), tiny.question(3, passage=4, options=(2,))])
    passage = torch.randn(*batch.passage_mask.shape, 3, dtype=torch.float64)
    attended = Attended(
        passage=passage, question=None, passage_mask=batch.passage_mask, question_mask=batch.question_mask
    )
    return head(attended, batch), batch


def test_the_loss_of_a_span_is_the_sum_of_both_or_their_mean():
    output, batch = span_output()
    expected = 0.0
    for logits, positions in ((output.start, batch.start), (output.end, batch.end)):
        for row, position in enumerate(positions.tolist()):
            expected -= torch.log_softmax(logits[row][logits[row] > -math.inf], 0)[position].item() / 2
    assert batch.start[1] == batch.end[1] == 0  # no answer: CLS
    assert output.loss.item() == pytest.approx(expected, abs=1e-9)
    assert span_output(loss="mean")[0].loss.item() == pytest.approx(expected / 2, abs=1e-9)


def test_spans_are_scored_by_logits_or_by_their_softmax():
    logits, batch = span_output()
    softmaxed, _ = span_output(score="softmax")
    torch.testing.assert_close(softmaxed.start, logits.start.softmax(-1).masked_fill(logits.start.isinf(), -math.inf))
    torch.testing.assert_close(softmaxed.loss, logits.loss)
    assert softmaxed.start[batch.answer_mask].min() > 0


@settings(max_examples=80, deadline=None)
@given(
    length=st.integers(1, 7),
    first=st.integers(1, 3),
    max_length=st.integers(1, 9),
    n_best=st.integers(1, 6),
    seed=st.integers(0, 999),
    coarse=st.booleans(),
)
def test_best_spans_are_those_of_a_search_through_all(length, first, max_length, n_best, seed, coarse):
    torch.manual_seed(seed)
    size = first + length + 2
    start, end = torch.randn(2, size, dtype=torch.float64), torch.randn(2, size, dtype=torch.float64)
    if coarse:  # so that there are ties
        start, end = start.round(), end.round()
    mask = torch.zeros(2, size, dtype=torch.bool)
    mask[:, first : first + length] = True
    best = best_spans(start, end, mask, max_length=max_length, n_best=n_best)
    for row in range(2):
        spans = [
            (-(start[row, i] + end[row, j]).item(), i, j)
            for i in range(size)
            for j in range(i, min(size, i + max_length))
            if mask[row, i] and mask[row, j]
        ]
        expected = sorted(spans)[:n_best]
        for rank, (score, i, j) in enumerate(expected):
            assert (best.start[row, rank].item(), best.end[row, rank].item()) == (i, j)
            assert best.score[row, rank].item() == -score
        assert best.score[row, len(expected) :].tolist() == [-math.inf] * (n_best - len(expected))
        assert best.null_score[row] == start[row, 0] + end[row, 0]


def test_where_no_span_may_lie_there_is_none():
    best = best_spans(torch.zeros(1, 3), torch.zeros(1, 3), torch.zeros(1, 3, dtype=torch.bool), max_length=2)
    assert best.score.tolist() == [[-math.inf]]
    assert best.start.tolist() == best.end.tolist() == [[0]]
    assert best.null_score.tolist() == [0]
