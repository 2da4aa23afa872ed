"""Sequential multi-head co-attention against an oracle of the ReCAM DUMA's read-me."""

from dataclasses import replace

import oracle
import pytest
import tiny
import torch

from coattend.readers.interactions.sequential_multi_head import SequentialMultiHead
from coattend.readers.interfaces import EncoderShape


def attend(query, key, module):
    """LN(x + MHA(x, y, y)); three heads of five are not the width of eight."""
    attended = oracle.multi_head(query, key, module.attention, heads=3, projected=True)
    return [oracle.layer_norm(oracle.added(x, y), module.norm) for x, y in zip(query, attended, strict=True)]


@pytest.mark.parametrize("order", ["question_first", "passage_first", "both"])
@pytest.mark.parametrize("share_layers", [True, False])
def test_it_is_what_the_read_me_says(order, share_layers):
    encoded = oracle.encoded()
    for layers in (1, 2):
        options = {"order": order, "layers": layers, "share_layers": share_layers}
        config = SequentialMultiHead.Config(heads=3, head_width=5, **options)
        module = tiny.scatter(SequentialMultiHead(config, EncoderShape(oracle.WIDTH, 4)).eval(), deviation=0.5)
        attended = module(encoded)
        for row in range(2):
            p, q = ([oracle.layer_norm(x, module.norm) for x in stream] for stream in oracle.streams(encoded, row))
            for layer in range(layers):
                step = module.attend[0 if share_layers else layer]
                if order == "question_first":
                    q = attend(q, p, step)
                    p = attend(p, q, step)
                elif order == "both":
                    p, q = attend(p, q, step), attend(q, p, step)
                else:
                    p = attend(p, q, step)
                    q = attend(q, p, step)
            oracle.same(attended.passage[row], p)
            oracle.same(attended.question[row], q)


@pytest.mark.parametrize("order", ["question_first", "both"])
def test_its_parameters_are_four_maps_without_biases_in_any_order(order):
    module = SequentialMultiHead(SequentialMultiHead.Config(order=order), EncoderShape(768, 12))
    assert sum(parameter.numel() for parameter in module.parameters()) == 4 * 768 * 24 * 64 + 2 * 2 * 768


@pytest.mark.parametrize("order", ["question_first", "passage_first", "both"])
def test_its_gradient_is_that_of_what_it_computes(order):
    encoded = oracle.encoded(passages=(3, 2), questions=(2, 3))
    config = SequentialMultiHead.Config(heads=2, head_width=3, layers=2, order=order)
    module = tiny.scatter(SequentialMultiHead(config, EncoderShape(oracle.WIDTH, 4)).eval(), deviation=0.5)

    def attended(passage, question):
        output = module(replace(encoded, passage=passage, question=question))
        return output.passage[encoded.passage_mask], output.question[encoded.question_mask]

    streams = encoded.passage.requires_grad_(), encoded.question.requires_grad_()
    assert torch.autograd.gradcheck(attended, streams, fast_mode=True)


def test_an_order_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="'question_first', 'passage_first' or 'both'"):
        SequentialMultiHead.Config(order="parallel")


def dropping(**options):
    """An attention that drops nothing but of the encoder's vectors, and sequences with a thousand numbers."""
    config = SequentialMultiHead.Config(heads=3, head_width=5, attention_dropout=0.0, **options)
    torch.manual_seed(0)
    module = tiny.scatter(SequentialMultiHead(config, EncoderShape(oracle.WIDTH, 4)).eval(), deviation=0.5)
    return module, oracle.encoded(passages=(40, 25), questions=(30, 20))


def test_the_encoders_vectors_are_whole_in_evaluation():
    (module, encoded), (without, _) = dropping(sequence_dropout=0.4), dropping(sequence_dropout=0.0)
    expected = without.train()(encoded)
    assert torch.equal(module(encoded).passage, expected.passage)
    assert torch.equal(module(encoded).question, expected.question)


def test_a_share_of_the_encoders_vectors_is_dropped_in_training_and_the_rest_grows():
    """Dropped values have no gradient; reading only the rest, over 1 - p, in evaluation gives the same."""
    module, encoded = dropping(sequence_dropout=0.4)
    passage, question = (stream.clone().requires_grad_() for stream in (encoded.passage, encoded.question))
    torch.manual_seed(0)
    trained = module.train()(replace(encoded, passage=passage, question=question))
    total = trained.passage.square().sum() + trained.question.square().sum()
    left = [gradient != 0 for gradient in torch.autograd.grad(total, (passage, question))]
    for left_in in left:
        assert left_in.double().mean().item() == pytest.approx(0.6, abs=0.06)
    rest = (stream * left_in / 0.6 for stream, left_in in zip((encoded.passage, encoded.question), left, strict=True))
    read = module.eval()(replace(encoded, **dict(zip(("passage", "question"), rest, strict=True))))
    torch.testing.assert_close(trained.passage, read.passage, rtol=0, atol=1e-9)
    torch.testing.assert_close(trained.question, read.question, rtol=0, atol=1e-9)
    torch.manual_seed(1)
    assert not torch.allclose(module.train()(encoded).passage, trained.passage)
