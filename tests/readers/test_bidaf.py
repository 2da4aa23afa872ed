"""Bidirectional attention flow against an oracle of its equations."""

import math

import oracle
import pytest
import tiny
import torch

from coattend import readers
from coattend.readers.interactions.bidaf import BidirectionalAttentionFlow
from coattend.readers.interfaces import EncoderShape


@pytest.mark.parametrize("narrow", [0, 3])
def test_it_is_what_the_paper_says(narrow):
    config = BidirectionalAttentionFlow.Config(narrow=narrow)
    module = tiny.scatter(BidirectionalAttentionFlow(config, EncoderShape(oracle.WIDTH, 2)), deviation=0.5)
    w = [*module.of_passage.weight[0].tolist(), *module.of_question.weight[0].tolist(), *module.of_both.tolist()]
    encoded = oracle.encoded()
    attended = module(encoded)
    assert attended.question is None
    for row in range(2):
        passage, question = oracle.streams(encoded, row)
        s = [[oracle.dot(w, [*p, *q, *(x * y for x, y in zip(p, q, strict=True))]) for q in question] for p in passage]
        h = oracle.weighted(oracle.softmax([max(scores) for scores in s]), passage)
        expected = []
        for p, scores in zip(passage, s, strict=True):
            u = oracle.weighted(oracle.softmax(scores), question)
            g = [*p, *u, *(x * y for x, y in zip(p, u, strict=True)), *(x * y for x, y in zip(p, h, strict=True))]
            expected.append([math.tanh(x) for x in oracle.affine(g, module.map[0])] if narrow else g)
        oracle.same(attended.passage[row], expected)


def test_its_parameters():
    """DUMA's table 8: 0.3 million at H = 768."""
    module = BidirectionalAttentionFlow(BidirectionalAttentionFlow.Config(), EncoderShape(768, 12))
    assert sum(parameter.numel() for parameter in module.parameters()) == 3 * 768 + 4 * 768 * 96 + 96


@pytest.mark.parametrize("head", ["options", "span"])
@pytest.mark.parametrize(("narrow", "width"), [(5, 5), (0, 64)])
def test_a_head_is_as_wide_as_what_it_is_given(head, narrow, width):
    reader = readers.build("bidaf", encoder=tiny.encoder(), head=head, narrow=narrow)
    assert reader.head.scorer.in_features == width
    with torch.inference_mode():
        assert reader(
            tiny.batch([tiny.question(1)] if head == "options" else [tiny.question(1, options=(3,))])
        ).loss.isfinite()
