"""Bidirectional attention flow against a slow reading of its equations."""

import math

import pytest
import slow
import tiny
import torch

from coattend import readers
from coattend.readers.interactions.bidaf import BidirectionalAttentionFlow
from coattend.readers.parts import EncoderShape


@pytest.mark.parametrize("narrow", [0, 3])
def test_it_is_what_the_paper_says(narrow):
    config = BidirectionalAttentionFlow.Config(narrow=narrow)
    module = tiny.scatter(BidirectionalAttentionFlow(config, EncoderShape(slow.WIDTH, 2)), deviation=0.5)
    w = [*module.of_passage.weight[0].tolist(), *module.of_question.weight[0].tolist(), *module.of_both.tolist()]
    given = slow.encoded()
    attended = module(given)
    assert attended.question is None
    for row in range(2):
        passage, question = slow.streams(given, row)
        s = [[slow.dot(w, [*p, *q, *(x * y for x, y in zip(p, q, strict=True))]) for q in question] for p in passage]
        h = slow.weighted(slow.softmax([max(scores) for scores in s]), passage)
        expected = []
        for p, scores in zip(passage, s, strict=True):
            u = slow.weighted(slow.softmax(scores), question)
            g = [*p, *u, *(x * y for x, y in zip(p, u, strict=True)), *(x * y for x, y in zip(p, h, strict=True))]
            expected.append([math.tanh(x) for x in slow.affine(g, module.map[0])] if narrow else g)
        slow.same(attended.passage[row], expected)


def test_its_parameters():
    """DUMA's table 8: 0.3 million at H = 768."""
    module = BidirectionalAttentionFlow(BidirectionalAttentionFlow.Config(), EncoderShape(768, 12))
    assert sum(one.numel() for one in module.parameters()) == 3 * 768 + 4 * 768 * 96 + 96


@pytest.mark.parametrize("head", ["options", "span"])
@pytest.mark.parametrize(("narrow", "width"), [(5, 5), (0, 64)])
def test_a_head_is_as_wide_as_what_it_is_given(head, narrow, width):
    reader = readers.build("bidaf", encoder=tiny.encoder(), head=head, narrow=narrow)
    assert reader.head.scorer.in_features == width
    with torch.inference_mode():
        assert reader(
            tiny.batch([tiny.question(1)] if head == "options" else [tiny.question(1, options=(3,))])
        ).loss.isfinite()
