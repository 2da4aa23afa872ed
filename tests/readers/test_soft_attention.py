"""Soft attention and the multi-head block against oracles."""

import math

import oracle
import pytest
import tiny

from coattend.readers.interactions.multi_head_block import MultiHeadBlock
from coattend.readers.interactions.soft_attention import SoftAttention
from coattend.readers.interfaces import EncoderShape

SHAPE = EncoderShape(oracle.WIDTH, 2)


@pytest.mark.parametrize("score", ["product", "additive"])
def test_soft_attention(score):
    module = tiny.scatter(SoftAttention(SoftAttention.Config(comparison=score), SHAPE), deviation=0.5)
    encoded = oracle.encoded()
    attended = module(encoded)
    assert attended.passage is None
    for row in range(2):
        passage, question = oracle.streams(encoded, row)
        expected = []
        for q in question:
            asking = oracle.affine(q, module.query)
            keys = [oracle.affine(p, module.key) for p in passage]
            if score == "product":
                scores = [oracle.dot(asking, key) / math.sqrt(oracle.WIDTH) for key in keys]
            else:
                v = module.score.weight[0].tolist()
                scores = [oracle.dot(v, [math.tanh(x) for x in oracle.added(asking, key)]) for key in keys]
            expected.append(oracle.weighted(oracle.softmax(scores), [oracle.affine(p, module.value) for p in passage]))
        oracle.same(attended.question[row], expected)


def test_soft_attention_has_three_maps_of_the_width():
    module = SoftAttention(SoftAttention.Config(), EncoderShape(768, 12))
    assert sum(parameter.numel() for parameter in module.parameters()) == 1_771_776


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_the_multi_head_block(turns):
    module = tiny.scatter(MultiHeadBlock(MultiHeadBlock.Config(turns=turns), SHAPE), deviation=0.5)
    encoded = oracle.encoded()
    attended = module(encoded)
    for row in range(2):
        p, q = oracle.streams(encoded, row)
        for _ in range(turns):
            again = oracle.transformer_block(q, p, module.block.attend, heads=2)
            p, q = oracle.transformer_block(p, q, module.block.attend, heads=2), again
        oracle.same(attended.passage[row], p)
        oracle.same(attended.question[row], q)


def test_the_multi_head_block_has_the_parameters_of_a_transformer_layer():
    layer = 4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768
    for turns in (1, 4):
        module = MultiHeadBlock(MultiHeadBlock.Config(turns=turns), EncoderShape(768, 12))
        assert sum(parameter.numel() for parameter in module.parameters()) == layer
    assert not list(MultiHeadBlock(MultiHeadBlock.Config(turns=0), EncoderShape(768, 12)).parameters())
