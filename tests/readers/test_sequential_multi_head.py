"""Sequential multi-head co-attention against a slow reading of the ReCAM DUMA's read-me."""

import pytest
import slow
import tiny

from coattend.readers.interactions.sequential_multi_head import SequentialMultiHead
from coattend.readers.parts import EncoderShape


def attend(query, key, module):
    """LN(x + MHA(x, y, y)); three heads of five are not the width of eight."""
    attended = slow.multi_head(query, key, module.attention, heads=3, projected=True)
    return [slow.layer_norm(slow.added(x, y), module.norm) for x, y in zip(query, attended, strict=True)]


@pytest.mark.parametrize("order", ["question_first", "passage_first"])
@pytest.mark.parametrize("share_layers", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
def test_it_is_what_the_read_me_says(order, share_layers, layers):
    config = SequentialMultiHead.Config(order=order, heads=3, head_width=5, layers=layers, share_layers=share_layers)
    module = tiny.scatter(SequentialMultiHead(config, EncoderShape(slow.WIDTH, 4)).eval(), deviation=0.5)
    given = slow.encoded()
    attended = module(given)
    for row in range(2):
        passage, question = slow.streams(given, row)
        p, q = ([slow.layer_norm(x, module.norm) for x in stream] for stream in (passage, question))
        for layer in range(layers):
            one = module.attend[0 if share_layers else layer]
            if order == "question_first":
                q = attend(q, p, one)
                p = attend(p, q, one)
            else:
                p = attend(p, q, one)
                q = attend(q, p, one)
        slow.same(attended.passage[row], p)
        slow.same(attended.question[row], q)


def test_its_parameters_are_four_maps_without_biases():
    count = sum(
        one.numel() for one in SequentialMultiHead(SequentialMultiHead.Config(), EncoderShape(768, 12)).parameters()
    )
    assert count == 4 * 768 * 24 * 64 + 2 * 2 * 768
