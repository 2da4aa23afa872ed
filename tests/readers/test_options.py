"""The options head."""

import math
from dataclasses import replace

import oracle
import pytest
import tiny
import torch

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.heads.options import OptionsHead
from coattend.readers.interfaces import STREAMS, Attended, EncoderShape

SHAPE = EncoderShape(3, 1)


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


def options_head(provided=STREAMS, **options):
    """A head in float64, two questions with three and two options, and streams for them."""
    head = tiny.scatter(OptionsHead(OptionsHead.Config(**options), SHAPE, provided).eval(), deviation=0.5)
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
        before = oracle.affine(fused, head.before[0])
        cut += sum(x < 0 for x in before)
        of_sequences.append(oracle.dot([max(x, 0.0) for x in before], head.scorer.weight[0].tolist()))
    assert cut > 0
    output = head(attended, batch)
    expected = [of_sequences[:3], of_sequences[3:]]
    loss = 0.0
    for row, scores in enumerate(expected):
        oracle.same(output.scores[row], scores)
        loss -= math.log(oracle.softmax(scores)[batch.label[row]]) / 2
    assert output.scores[1, 2] == -math.inf
    assert output.loss.item() == pytest.approx(loss, abs=1e-9)


def test_what_the_head_reads_and_nobody_filled_is_named():
    head, attended, batch = options_head()
    with pytest.raises(CoattendError, match=r"batch\.option_index: is not filled"):
        head(attended, replace(batch, option_index=None))
    head, attended, batch = options_head(provided=frozenset({"summary"}), pooling="summary")
    with pytest.raises(CoattendError, match=r"attended\.summary: is not filled"):
        head(attended, batch)


def test_the_fused_vector_is_whole_in_evaluation():
    (head, attended, batch), (without, *_) = options_head(head_dropout=0.4), options_head()
    assert torch.equal(head(attended, batch).scores, without.train()(attended, batch).scores)


@pytest.mark.parametrize("scorer_layers", [1, 2])
def test_a_share_of_the_fused_vector_is_dropped_in_training_and_the_rest_grows(scorer_layers):
    """Dropped values have no gradient; scoring only the rest, over 1 - p, in evaluation gives the same."""
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
    left_in = gradient != 0
    assert left_in.double().mean().item() == pytest.approx(0.6, abs=0.04)
    assert not torch.allclose(scores(summary), trained)
    head.eval()
    torch.testing.assert_close(trained, scores(summary * left_in / 0.6), rtol=0, atol=1e-9)
