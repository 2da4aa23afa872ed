"""Dual multi-head co-attention against an oracle of DUMA's equation 1."""

import itertools
import math

import oracle
import pytest
import tiny
import torch

from coattend.errors import CoattendError
from coattend.readers.heads.options import OptionsHead
from coattend.readers.interactions.dual_multi_head import DualMultiHead
from coattend.readers.interfaces import EncoderShape

WIDTH, HEADS = oracle.WIDTH, 2
DIRECTIONS = ["both", "passage_to_question", "question_to_passage"]


def interaction(**options):
    config = DualMultiHead.Config(heads=HEADS, **options)
    return tiny.scatter(DualMultiHead(config, EncoderShape(WIDTH, 4)).eval(), deviation=0.5)


# The oracle: one sequence and one head at a time.


def streams_of(e_p, e_q, module, *, layers, direction, output_projection, block):
    def attend(query, key):
        return (
            oracle.transformer_block(query, key, module.attend, heads=HEADS)
            if block == "transformer"
            else oracle.multi_head(query, key, module.attend, heads=HEADS, projected=output_projection)
        )

    for _ in range(layers):
        mha_1 = attend(e_p, e_q) if direction != "question_to_passage" else e_p
        mha_2 = attend(e_q, e_p) if direction != "passage_to_question" else e_q
        e_p, e_q = mha_1, mha_2
    return (
        e_p if direction != "question_to_passage" else None,
        e_q if direction != "passage_to_question" else None,
    )


def fuse_oracle(streams, operation):
    def mean(rows):
        return [sum(row[n] for row in rows) / len(rows) for n in range(WIDTH)]

    present = [rows for rows in streams if rows is not None]
    if operation == "joint":
        return mean([row for rows in present for row in rows])
    pooled = [mean(rows) for rows in present]
    if operation == "concatenate":
        return [x for vector in pooled for x in vector]
    return [sum(xs) if operation == "sum" else math.prod(xs) for xs in zip(*pooled, strict=True)]


@pytest.mark.parametrize("block", ["attention", "transformer"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_it_is_what_the_paper_says(direction, block):
    encoded = oracle.encoded()
    for layers, output_projection in itertools.product([1, 2], [False, True]):
        options = {"layers": layers, "direction": direction, "output_projection": output_projection, "block": block}
        module = interaction(**options)
        attended = module(encoded)
        output_fields = frozenset(name for name in ("passage", "question") if getattr(attended, name) is not None)
        heads = {
            operation: OptionsHead(OptionsHead.Config(fuse=operation), EncoderShape(WIDTH, 4), output_fields).double()
            for operation in ("joint", "concatenate", "sum", "multiply")
        }
        fused = {operation: head._fused(attended) for operation, head in heads.items()}
        for row in range(2):
            streams = streams_of(*oracle.streams(encoded, row), module, **options)
            for name, expected in zip(("passage", "question"), streams, strict=True):
                assert (name in output_fields) == (expected is not None)
                if expected is not None:
                    oracle.same(getattr(attended, name)[row], expected)
            for operation, vectors in fused.items():
                oracle.same(vectors[row], fuse_oracle(streams, operation))


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_its_parameters_are_three_maps_of_the_width_however_many_layers_and_directions():
    for options in ({}, {"layers": 4}, {"direction": "question_to_passage"}, {"heads": 8}):
        module = DualMultiHead(DualMultiHead.Config(**options), EncoderShape(768, 12))
        assert count(module) == 1_771_776
    assert count(DualMultiHead(DualMultiHead.Config(output_projection=True), EncoderShape(768, 12))) == 2_362_368


def test_it_takes_as_many_heads_as_the_encoder_has():
    assert DualMultiHead(DualMultiHead.Config(), EncoderShape(768, 12)).attend.heads == 12


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(CoattendError, match="7 heads do not divide the encoder's width 768"):
        DualMultiHead(DualMultiHead.Config(heads=7), EncoderShape(768, 12))


def test_dropout_acts_in_training_only():
    module, encoded = interaction(attention_dropout=0.5), oracle.encoded()
    assert torch.equal(module(encoded).passage, module(encoded).passage)
    module.train()
    assert not torch.equal(module(encoded).passage, module(encoded).passage)
