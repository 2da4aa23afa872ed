"""Pooling, the options head and the span head."""

import math
from dataclasses import replace

import pytest
import slow
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.attended import Attended
from coattend.readers.heads.options import OptionsHead
from coattend.readers.heads.span import SpanHead, best_spans
from coattend.readers.parts import STREAMS, EncoderShape
from coattend.readers.pooling import masked_max, masked_mean

SHAPE = EncoderShape(3, 1)


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=3), seed=st.integers(0, 99)
)
def test_pooling_is_over_the_real_tokens_of_all_streams(lengths, seed):
    torch.manual_seed(seed)
    streams, masks = [], []
    for sizes in zip(*lengths, strict=True):
        masks.append(torch.arange(max(sizes) + 2) < torch.tensor(sizes)[:, None])
        streams.append(torch.randn(len(lengths), max(sizes) + 2, 3, dtype=torch.float64) - 2)
        streams[-1][~masks[-1]] = 50.0
    mean, highest = masked_mean(streams, masks), masked_max(streams, masks)
    for row in range(len(lengths)):
        tokens = [
            token for stream, mask in zip(streams, masks, strict=True) for token in stream[row][mask[row]].tolist()
        ]
        for h in range(3):
            values = [token[h] for token in tokens]
            assert mean[row, h].item() == pytest.approx(sum(values) / len(values), abs=1e-12)
            assert highest[row, h].item() == max(values)


def test_the_gradient_of_the_maximum_goes_to_the_token_that_holds_it():
    stream = torch.tensor([[[1.0], [3.0], [2.0], [9.0]]], requires_grad=True)
    masked_max([stream], [torch.tensor([[True, True, True, False]])]).sum().backward()
    assert stream.grad.flatten().tolist() == [0, 1, 0, 0]


def test_questions_with_different_numbers_of_options_share_a_batch():
    reader = readers.build("plain", encoder=tiny.encoder())
    output = reader(tiny.batch([tiny.question(0, options=(2,) * 5), tiny.question(1, options=(3, 1))]))
    assert output.scores.shape == (2, 5)
    assert output.scores[1, 2:].tolist() == [-math.inf] * 3
    expected = -torch.log_softmax(output.scores[0], 0)[tiny.question(0, options=(2,) * 5).label]
    expected = expected - torch.log_softmax(output.scores[1, :2], 0)[tiny.question(1, options=(3, 1)).label]
    torch.testing.assert_close(output.loss, expected / 2)


def test_the_scorer_has_no_bias_and_the_width_of_what_it_scores():
    widths = {"joint": 3, "concatenate": 6, "sum": 3, "multiply": 3}
    for fuse, width in widths.items():
        head = OptionsHead(OptionsHead.Config(fuse=fuse), SHAPE, STREAMS)
        assert [tuple(parameter.shape) for parameter in head.parameters()] == [(1, width)]
    alone = OptionsHead(OptionsHead.Config(fuse="concatenate"), SHAPE, frozenset({"question"}))
    assert alone.scorer.weight.shape == (1, 3)


def options_head(given=STREAMS, **options):
    """A head in float64, two questions with three and two options, and streams for them."""
    head = tiny.scatter(OptionsHead(OptionsHead.Config(**options), SHAPE, given).eval(), deviation=0.5)
    batch = tiny.batch([tiny.question(0, passage=6, options=(3, 1, 2)), tiny.question(1, passage=4, options=(2, 4))])
    torch.manual_seed(0)
    passage, question = (
        torch.randn(*mask.shape, 3, dtype=torch.float64) for mask in (batch.passage_mask, batch.question_mask)
    )
    masks = {"passage_mask": batch.passage_mask, "question_mask": batch.question_mask}
    return head, Attended(passage=passage, question=question, **masks), batch


@pytest.mark.parametrize("fuse", ["joint", "concatenate"])
def test_a_second_layer_of_the_scorer_is_a_map_of_the_fused_width_and_a_relu(fuse):
    head, attended, batch = options_head(fuse=fuse, scorer_layers=2)
    width = {"joint": 3, "concatenate": 6}[fuse]
    shapes = [tuple(parameter.shape) for parameter in head.parameters()]
    assert shapes == [(width, width), (width,), (1, width)]
    of_sequences, cut = [], 0
    for row in range(len(attended.passage)):
        streams = (
            attended.passage[row][attended.passage_mask[row]].tolist(),
            attended.question[row][attended.question_mask[row]].tolist(),
        )
        pools = [[*streams[0], *streams[1]]] if fuse == "joint" else streams
        fused = [sum(column) / len(tokens) for tokens in pools for column in zip(*tokens, strict=True)]
        before = slow.affine(fused, head.before[0])
        cut += sum(x < 0 for x in before)
        of_sequences.append(slow.dot([max(x, 0.0) for x in before], head.scorer.weight[0].tolist()))
    assert cut > 0
    output = head(attended, batch)
    expected = [of_sequences[:3], of_sequences[3:]]
    loss = 0.0
    for row, scores in enumerate(expected):
        slow.same(output.scores[row], scores)
        loss -= math.log(slow.softmax(scores)[batch.label[row]]) / 2
    assert output.scores[1, 2] == -math.inf
    assert output.loss.item() == pytest.approx(loss, abs=1e-9)


def test_what_the_head_reads_and_nobody_filled_is_named():
    head, attended, batch = options_head()
    with pytest.raises(CoattendError, match=r"batch\.option_index: is not filled"):
        head(attended, replace(batch, option_index=None))
    head, attended, batch = options_head(given=frozenset({"summary"}), pooling="summary")
    with pytest.raises(CoattendError, match=r"attended\.summary: is not filled"):
        head(attended, batch)


def test_the_fused_vector_is_whole_in_evaluation():
    (head, attended, batch), (without, *_) = options_head(head_dropout=0.4), options_head()
    assert torch.equal(head(attended, batch).scores, without.train()(attended, batch).scores)


@pytest.mark.parametrize("scorer_layers", [1, 2])
def test_a_share_of_the_fused_vector_is_dropped_in_training_and_the_rest_grows(scorer_layers):
    """What is left out has no gradient; scoring only the rest, over 1 - p, in evaluation gives the same."""
    width, batch = 500, tiny.batch([tiny.question(0, options=(3, 1, 2))])
    config = OptionsHead.Config(pooling="summary", head_dropout=0.4, scorer_layers=scorer_layers)
    head = tiny.scatter(OptionsHead(config, EncoderShape(width, 1), frozenset({"summary"})))
    masks = {"passage_mask": batch.passage_mask, "question_mask": batch.question_mask}
    torch.manual_seed(0)
    summary = torch.randn(3, width, dtype=torch.float64, requires_grad=True)

    def scores(vectors):
        return head(Attended(passage=None, question=None, summary=vectors, **masks), batch).scores

    head.train()
    trained = scores(summary)
    (gradient,) = torch.autograd.grad(trained.sum(), summary)
    kept = gradient != 0
    assert kept.double().mean().item() == pytest.approx(0.6, abs=0.04)
    assert not torch.allclose(scores(summary), trained)
    head.eval()
    torch.testing.assert_close(trained, scores(summary * kept / 0.6), rtol=0, atol=1e-9)


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
    for logits, places in ((output.start, batch.start), (output.end, batch.end)):
        for row, place in enumerate(places.tolist()):
            expected -= torch.log_softmax(logits[row][logits[row] > -math.inf], 0)[place].item() / 2
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
    found = best_spans(start, end, mask, max_length=max_length, n_best=n_best)
    for row in range(2):
        spans = [
            (-(start[row, i] + end[row, j]).item(), i, j)
            for i in range(size)
            for j in range(i, min(size, i + max_length))
            if mask[row, i] and mask[row, j]
        ]
        expected = sorted(spans)[:n_best]
        for place, (score, i, j) in enumerate(expected):
            assert (found.start[row, place].item(), found.end[row, place].item()) == (i, j)
            assert found.score[row, place].item() == -score
        assert found.score[row, len(expected) :].tolist() == [-math.inf] * (n_best - len(expected))
        assert found.null_score[row] == start[row, 0] + end[row, 0]


def test_where_no_span_may_lie_there_is_none():
    found = best_spans(torch.zeros(1, 3), torch.zeros(1, 3), torch.zeros(1, 3, dtype=torch.bool), max_length=2)
    assert found.score.tolist() == [[-math.inf]]
    assert found.start.tolist() == found.end.tolist() == [[0]]
    assert found.null_score.tolist() == [0]


def test_a_batch_moves_whole():
    batch = replace(tiny.batch([tiny.question(0)]), label=None)
    moved = batch.to("meta")
    assert moved.input_ids.device.type == moved.option_index.device.type == "meta"
    assert moved.label is None
