"""Attention maps: none by default; with `keep_maps`, those that each interaction says it has."""

import oracle
import pytest
import tiny
import torch

from coattend import readers
from coattend.readers import registry
from coattend.readers.composition import compose
from coattend.readers.layers.attention import MultiHeadAttention

TURNS, HEADS, HOPS, LAYERS = 3, 4, 3, 2

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
        f"{source}_{target}_attention": tuple("P" if stream == "passage" else "Q" for stream in (source, target))
        for source in STREAMS
        for target in STREAMS
        if source != target
    },
    "as_reader": {"attention": ("P",)},
    "stanford_reader": {"attention": ("P",)},
    "attentive_reader": {"attention": ("P",)},
    "cas_reader": {"attention": ("P", "Q")},
    "aoa_reader": {"matching": ("P", "Q"), "question_worth": ("Q",)},
    "aoa_span": {"matching": ("P", "Q"), "question_worth": ("Q",)},
    "ga_reader": {"attention": (HOPS, "P", "Q")},
    "dcn": {"sees_question": ("P", "Q"), "sees_passage": ("P", "Q")},
    "dcn_plus": {"sees_question": (LAYERS, "P", "Q"), "sees_passage": (LAYERS, "P", "Q")},
}
"""Maps of each reader, without S."""

OF_QUESTION_TOKENS = [("cas_reader", "attention"), ("dcn", "sees_passage"), ("dcn_plus", "sees_passage")]
"""Maps [..., P, Q] that say what each question token looks at, so that they sum to one over the passage."""

NO_PROBABILITIES = [("poi_net", "passage_scores"), ("poi_net", "question_scores"), ("aoa_reader", "matching")]
NO_PROBABILITIES += [("poi_net", "passage_attention"), ("poi_net", "question_attention"), ("aoa_span", "matching")]

SMALL = {"hidden": 6, "modelling": 4, "pool": 5, "character_width": 4}
"""Widths of recurrent readers for these tests."""


def batch_for(name):
    task = readers.task_of(readers.heads_of(name)[0])
    options = [(3, 5, 4), (2, 3)] if task == "options" else [(5,), (2,)]
    questions = [tiny.question(n, passage=(9, 4)[n], options=lengths) for n, lengths in enumerate(options)]
    batch = tiny.batch(questions, padding=2, task=task)
    batch.option_mask = batch.question_mask.clone()
    batch.option_mask[:, 0] = False
    return batch


def build(name):
    torch.manual_seed(0)
    options = compose(name, None, {}).options
    small = {option: width for option, width in SMALL.items() if options.get(option)}
    family = "words" if readers.encoder_of(name) == "recurrent" else "bert"
    return readers.build(name, encoder=tiny.encoder(family), **small)


def test_every_interaction_is_looked_at_here():
    assert {registry.find(name).interaction for name in SHAPES} == set(registry.interactions())


@pytest.mark.parametrize("name", SHAPES)
def test_maps_are_kept_on_request_and_probabilities_sum_to_one_over_real_tokens(name):
    reader, batch = tiny.scatter(build(name)), batch_for(name)
    before = reader(batch)
    assert before.attended.maps == {}
    reader.keep_maps()
    with_maps = reader(batch)
    assert with_maps.attended.maps.keys() == SHAPES[name].keys()
    assert torch.equal(with_maps.loss, before.loss)
    reader.keep_maps(False)
    assert reader(batch).attended.maps == {}
    # Their shapes, and those that are probabilities.
    masks = {"P": batch.passage_mask, "Q": batch.question_mask}
    for key, attention in with_maps.attended.maps.items():
        expected = tuple(masks[size].shape[1] if size in masks else size for size in SHAPES[name][key])
        assert attention.shape == (len(batch.input_ids), *expected), key
        if (name, key) not in NO_PROBABILITIES:
            if (name, key) in OF_QUESTION_TOKENS:
                check_probabilities(name, attention.transpose(-1, -2), batch.passage_mask)
            else:
                check_probabilities(name, attention, masks[SHAPES[name][key][-1]])


def check_probabilities(name, attention, real):
    """Attention [S, ..., L] is zero at padding and sums to one over real tokens [S, L], but for what sentinels take."""
    visible = real.view(len(real), *[1] * (attention.dim() - 2), -1).expand_as(attention)
    assert (attention[~visible] == 0).all()
    assert (attention >= 0).all()
    total = attention.sum(-1)
    if name == "dcn":  # Sentinels take a share, which is not shown; in DCN+ that is so in the first layer.
        assert (total < 1).all()
        return
    if name == "dcn_plus":
        assert (total[:, 0] < 1).all()
        total = total[:, 1]
    torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-12)


@pytest.mark.parametrize("layers", [2, 3])
def test_the_maps_of_stacked_layers_are_those_of_the_last(layers):
    batch = batch_for("duma")
    shallow, deep = (
        readers.build("duma", encoder=tiny.encoder(), layers=count, dropout=0.0) for count in (layers - 1, layers)
    )
    deep.double().load_state_dict(tiny.scatter(shallow).state_dict())
    deep.keep_maps()
    before = shallow(batch).attended
    expected = shallow.interaction.attend.weights(before.passage, before.question, before.question_mask)
    torch.testing.assert_close(deep(batch).attended.maps["passage_attention"], expected, rtol=0, atol=1e-9)


def test_weights_are_what_multi_head_attention_weighs_by():
    module = tiny.scatter(MultiHeadAttention(oracle.WIDTH, 2, projected=True), deviation=0.5)
    encoded = oracle.encoded()
    keys = encoded.question, encoded.question_mask
    values = module._split(module.value(encoded.question))
    weighted = (module.weights(encoded.passage, *keys) @ values).transpose(1, 2).flatten(2)
    torch.testing.assert_close(module.output(weighted), module(encoded.passage, *keys), rtol=0, atol=1e-9)
