"""Attention maps: none by default; with `keep_maps`, those that each interaction says it has."""

import pytest
import slow
import tiny
import torch

from coattend import readers
from coattend.readers.multi_head import MultiHeadAttention

TURNS, HEADS = 3, 4

BOTH = {"passage_attention": (HEADS, "P", "Q"), "question_attention": (HEADS, "Q", "P")}
STREAMS = ("passage", "question", "option")
SHAPES = {
    "plain": {},
    "poi_net": {
        "passage_scores": (TURNS, "P"),
        "question_scores": (TURNS, "Q"),
        "passage_attention": ("P",),
        "question_attention": ("Q",),
    },
    "duma": BOTH,
    "duma_p_to_q": {"passage_attention": BOTH["passage_attention"]},
    "duma_q_to_p": {"question_attention": BOTH["question_attention"]},
    "tb_duma": BOTH,
    "multi_head_block": BOTH,
    "recam_duma": {name: (24, *tokens) for name, (_, *tokens) in BOTH.items()},
    "soft_attention": {"question_attention": ("Q", "P")},
    "bidaf": {"passage_attention": ("P", "Q"), "question_attention": (1, "P")},
    "dcmn": {
        f"{one}_{other}_attention": tuple("P" if stream == "passage" else "Q" for stream in (one, other))
        for one in STREAMS
        for other in STREAMS
        if one != other
    },
}
"""Maps of each reader, without S."""


@pytest.fixture
def batch():
    made = tiny.batch([tiny.question(0), tiny.question(1, passage=4, options=(2, 3))])
    made.option_mask = made.question_mask.clone()
    made.option_mask[:, 0] = False
    return made


def maps_of(reader, batch):
    with torch.inference_mode():
        return reader(batch).attended.maps


@pytest.mark.parametrize("name", SHAPES)
def test_maps_are_kept_only_while_asked_for(name, batch):
    reader = readers.build(name, encoder=tiny.encoder())
    before = reader(batch)
    assert before.attended.maps == {}
    reader.keep_maps()
    kept = reader(batch)
    assert kept.attended.maps.keys() == SHAPES[name].keys()
    assert torch.equal(kept.scores, before.scores)
    reader.keep_maps(False)
    assert reader(batch).attended.maps == {}


@pytest.mark.parametrize("name", SHAPES)
def test_maps_have_the_shapes_that_they_are_said_to_have(name, batch):
    reader = tiny.scatter(readers.build(name, encoder=tiny.encoder()))
    reader.keep_maps()
    sizes = {"P": batch.passage_mask.shape[1], "Q": batch.question_mask.shape[1]}
    for key, found in maps_of(reader, batch).items():
        expected = tuple(sizes.get(size, size) for size in SHAPES[name][key])
        assert found.shape == (len(batch.input_ids), *expected), key


@pytest.mark.parametrize("name", [name for name in SHAPES if name not in ("plain", "poi_net")])
def test_what_a_token_looks_at_sums_to_one_over_real_tokens(name, batch):
    reader = tiny.scatter(readers.build(name, encoder=tiny.encoder()))
    reader.keep_maps()
    masks = {"P": batch.passage_mask, "Q": batch.question_mask}
    for key, found in maps_of(reader, batch).items():
        real = masks[SHAPES[name][key][-1]]
        seen = real.view(len(real), *[1] * (found.dim() - 2), -1)
        torch.testing.assert_close(found.sum(-1), torch.ones_like(found[..., 0]), rtol=0, atol=1e-12)
        assert (found.masked_select(~seen) == 0).all(), key


@pytest.mark.parametrize("layers", [2, 3])
def test_the_maps_of_stacked_layers_are_those_of_the_last(layers, batch):
    shallow, deep = (
        readers.build("duma", encoder=tiny.encoder(), layers=count, dropout=0.0) for count in (layers - 1, layers)
    )
    deep.double().load_state_dict(tiny.scatter(shallow).state_dict())
    deep.keep_maps()
    before = shallow(batch).attended
    expected = shallow.interaction.attend.weights(before.passage, before.question, before.question_mask)
    torch.testing.assert_close(deep(batch).attended.maps["passage_attention"], expected, rtol=0, atol=1e-9)


def test_weights_are_what_multi_head_attention_weighs_by():
    module = tiny.scatter(MultiHeadAttention(slow.WIDTH, 2, projected=True), deviation=0.5)
    given = slow.encoded()
    asked = given.question, given.question_mask
    values = module._split(module.value(given.question))
    weighted = (module.weights(given.passage, *asked) @ values).transpose(1, 2).flatten(2)
    torch.testing.assert_close(module.output(weighted), module(given.passage, *asked), rtol=0, atol=1e-9)
