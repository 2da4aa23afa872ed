"""Soft attention and the multi-head block against slow readings of what they are."""

import math

import pytest
import slow
import tiny

from coattend.readers.interactions.multi_head_block import MultiHeadBlock
from coattend.readers.interactions.soft_attention import SoftAttention
from coattend.readers.parts import EncoderShape

SHAPE = EncoderShape(slow.WIDTH, 2)


@pytest.mark.parametrize("score", ["product", "additive"])
def test_soft_attention(score):
    module = tiny.scatter(SoftAttention(SoftAttention.Config(comparison=score), SHAPE), deviation=0.5)
    given = slow.encoded()
    attended = module(given)
    assert attended.passage is None
    for row in range(2):
        passage, question = slow.streams(given, row)
        expected = []
        for q in question:
            asking = slow.affine(q, module.query)
            keys = [slow.affine(p, module.key) for p in passage]
            if score == "product":
                scores = [slow.dot(asking, key) / math.sqrt(slow.WIDTH) for key in keys]
            else:
                v = module.score.weight[0].tolist()
                scores = [slow.dot(v, [math.tanh(x) for x in slow.added(asking, key)]) for key in keys]
            expected.append(slow.weighted(slow.softmax(scores), [slow.affine(p, module.value) for p in passage]))
        slow.same(attended.question[row], expected)


def test_soft_attention_has_three_maps_of_the_width():
    module = SoftAttention(SoftAttention.Config(), EncoderShape(768, 12))
    assert sum(one.numel() for one in module.parameters()) == 1_771_776


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_the_multi_head_block(turns):
    module = tiny.scatter(MultiHeadBlock(MultiHeadBlock.Config(turns=turns), SHAPE), deviation=0.5)
    given = slow.encoded()
    attended = module(given)
    for row in range(2):
        p, q = slow.streams(given, row)
        for _ in range(turns):
            again = slow.transformer_block(q, p, module.block.attend, heads=2)
            p, q = slow.transformer_block(p, q, module.block.attend, heads=2), again
        slow.same(attended.passage[row], p)
        slow.same(attended.question[row], q)


def test_the_multi_head_block_has_the_parameters_of_a_transformer_layer():
    layer = 4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768
    for turns in (1, 4):
        module = MultiHeadBlock(MultiHeadBlock.Config(turns=turns), EncoderShape(768, 12))
        assert sum(one.numel() for one in module.parameters()) == layer
    assert not list(MultiHeadBlock(MultiHeadBlock.Config(turns=0), EncoderShape(768, 12)).parameters())
