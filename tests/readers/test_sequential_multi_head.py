"""Sequential multi-head co-attention against a slow reading of the ReCAM DUMA's read-me."""

from dataclasses import replace

import pytest
import slow
import tiny
import torch

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


def dropping(**options):
    """An attention that drops nothing but of the encoder's vectors, and sequences with a thousand numbers."""
    config = SequentialMultiHead.Config(heads=3, head_width=5, attention_dropout=0.0, **options)
    torch.manual_seed(0)
    module = tiny.scatter(SequentialMultiHead(config, EncoderShape(slow.WIDTH, 4)).eval(), deviation=0.5)
    return module, slow.encoded(passages=(40, 25), questions=(30, 20))


def test_the_encoders_vectors_are_whole_in_evaluation():
    (module, given), (without, _) = dropping(sequence_dropout=0.4), dropping(sequence_dropout=0.0)
    expected = without.train()(given)
    assert torch.equal(module(given).passage, expected.passage)
    assert torch.equal(module(given).question, expected.question)


def test_a_share_of_the_encoders_vectors_is_dropped_in_training_and_the_rest_grows():
    """What is left out has no gradient; reading only the rest, over 1 - p, in evaluation gives the same."""
    module, given = dropping(sequence_dropout=0.4)
    passage, question = (stream.clone().requires_grad_() for stream in (given.passage, given.question))
    torch.manual_seed(0)
    trained = module.train()(replace(given, passage=passage, question=question))
    total = trained.passage.square().sum() + trained.question.square().sum()
    left = [gradient != 0 for gradient in torch.autograd.grad(total, (passage, question))]
    for kept in left:
        assert kept.double().mean().item() == pytest.approx(0.6, abs=0.06)
    rest = (stream * kept / 0.6 for stream, kept in zip((given.passage, given.question), left, strict=True))
    read = module.eval()(replace(given, **dict(zip(("passage", "question"), rest, strict=True))))
    torch.testing.assert_close(trained.passage, read.passage, rtol=0, atol=1e-9)
    torch.testing.assert_close(trained.question, read.question, rtol=0, atol=1e-9)
    torch.manual_seed(1)
    assert not torch.allclose(module.train()(given).passage, trained.passage)
