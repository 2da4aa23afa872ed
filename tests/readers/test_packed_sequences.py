"""Sequences without padding: the same hidden states and gradients as padded ones, by a slow second kernel."""

import pytest
import tiny
import torch
from torch.nn.functional import scaled_dot_product_attention

from coattend import readers
from coattend.readers.encoders import packed_sequences, transformer

FAMILIES = ["bert", "albert", "roberta", "electra", "modernbert"]


def one_by_one(query, key, value, starts, key_starts, longest, longest_key, *, window_size):
    """Attention within each sequence [T, heads, d], one after the other."""
    assert torch.equal(starts, key_starts) and longest == longest_key >= int(starts.diff().max())
    attended = []
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        place = torch.arange(stop - start)
        near = (place - place.unsqueeze(1)).abs() <= (window_size[0] if window_size[0] >= 0 else stop)
        streams = (stream[start:stop].transpose(0, 1) for stream in (query, key, value))
        attended.append(scaled_dot_product_attention(*streams, attn_mask=near).transpose(0, 1))
    return torch.cat(attended)


@pytest.fixture
def packing(monkeypatch):
    """Read packed sequences here, too."""
    calls = []
    monkeypatch.setattr(packed_sequences, "varlen_attn", lambda *a, **b: calls.append(1) or one_by_one(*a, **b))
    monkeypatch.setattr(transformer, "reads_packed", lambda *_, **__: True)
    return calls


def build(family, **options):
    config = tiny.encoder(family, layers=2)
    if family == "modernbert":  # A window that is shorter than a sequence, in every other layer.
        config.local_attention, config.global_attn_every_n_layers = 6, 2
        config.layer_types, config.sliding_window = ["full_attention", "sliding_attention"], 3
    torch.manual_seed(0)
    reader = readers.build(
        "transformer+none", encoder=config, head="options", streams="question", dropout=0.0, **options
    )
    return tiny.scatter(reader, deviation=0.1).double()


def questions():
    return tiny.batch([tiny.question(0, passage=9), tiny.question(1, passage=4, options=(2, 5)), tiny.question(2)])


def learned(reader, batch):
    """Hidden states at real tokens, and the gradients of a loss."""
    reader.zero_grad()
    output = reader(batch)
    output.loss.backward()
    gradients = {name: weights.grad.clone() for name, weights in reader.named_parameters() if weights.grad is not None}
    return reader.encoder.read(batch)[batch.attention_mask].detach(), gradients


@pytest.mark.parametrize("options", [{}, {"tag_embedding": True}], ids=["plain", "tags"])
@pytest.mark.parametrize("family", FAMILIES)
def test_packed_sequences_are_read_like_padded_ones(family, options, request):
    reader, batch = build(family, **options), questions()
    before, gradients_before = learned(reader, batch)
    calls = request.getfixturevalue("packing")
    after, gradients_after = learned(reader, batch)
    assert len(calls) == 4, "two layers, read twice"
    torch.testing.assert_close(after, before, rtol=1e-9, atol=1e-9)
    assert gradients_after.keys() == gradients_before.keys()
    for name, gradient in gradients_before.items():
        torch.testing.assert_close(gradients_after[name], gradient, rtol=1e-8, atol=1e-9, msg=name)


@pytest.mark.parametrize("options", [{"passage": "apart"}, {"co_attention": True}], ids=str)
def test_sequences_under_a_mask_of_pairs_stay_padded(options, packing):
    build("bert", **options)(questions())
    assert not packing


def test_padding_is_read_on_a_processor():
    batch = questions()
    with torch.autocast("cpu", torch.bfloat16):
        assert not packed_sequences.reads_packed(batch, head_width=32, dropout=0.0)
