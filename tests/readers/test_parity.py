"""Readers give what the models and layers of Hugging Face and PyTorch give, once their weights are copied."""

from dataclasses import replace

import pytest
import slow
import tiny
import torch
import transformers
from torch.nn.functional import cross_entropy

from coattend import readers
from coattend.readers.interactions.dual_multi_head import DualMultiHead
from coattend.readers.interactions.sequential_multi_head import SequentialMultiHead
from coattend.readers.parts import EncoderShape

HEADS = 2
FAMILIES = {
    "bert": (transformers.BertForMultipleChoice, transformers.BertForQuestionAnswering),
    "albert": (transformers.AlbertForMultipleChoice, transformers.AlbertForQuestionAnswering),
}


def same(found, expected):
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


def beside(family, head, **options):
    """Hugging Face's model with random weights, and the plain reader with copies of them."""
    config = tiny.encoder(family)
    theirs = tiny.scatter(FAMILIES[family][head == "span"](config).eval())
    ours = readers.build("plain", encoder=config, head=head, **options).double()
    ours.encoder.model.load_state_dict(getattr(theirs, family).state_dict())
    last = theirs.qa_outputs if head == "span" else theirs.classifier
    with torch.no_grad():
        ours.head.scorer.weight.copy_(last.weight)
    return theirs, ours, last.bias


def inputs(batch):
    return {name: getattr(batch, name) for name in ("input_ids", "attention_mask", "token_type_ids")}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_plain_reader_is_the_multiple_choice_model(family):
    theirs, ours, bias = beside(family, "options", pooling="cls_pooler")
    batch = tiny.batch([tiny.question(n, passage=length) for n, length in enumerate((9, 4, 14))], padding=1)
    of_options = {name: tensor[batch.option_index] for name, tensor in inputs(batch).items()}  # [B, C, N]
    expected, found = theirs(**of_options, labels=batch.label), ours(batch)
    same(found.scores + bias, expected.logits)
    same(found.loss, expected.loss)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_plain_reader_is_the_question_answering_model_where_answers_may_lie(family):
    theirs, ours, bias = beside(family, "span", loss="mean")
    batch = tiny.batch([tiny.question(n, passage=length, options=(4,)) for n, length in enumerate((9, 4, 14, 6))])
    expected, found = theirs(**inputs(batch)), ours(batch)
    allowed = batch.answer_mask.clone()
    allowed[:, 0] = True  # "no answer"
    logits = torch.stack([expected.start_logits, expected.end_logits], -1)[:, : allowed.shape[1]]  # [S, P, 2]
    same(torch.stack([found.start, found.end], -1)[allowed] + bias, logits[allowed])
    starts, ends = logits.masked_fill(~allowed.unsqueeze(-1), -torch.inf).unbind(-1)
    assert (batch.start == 0).any() and (batch.start > 0).any()
    same(found.loss, (cross_entropy(starts, batch.start) + cross_entropy(ends, batch.end)) / 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_where_every_token_may_answer_the_loss_is_the_question_answering_models_own(family):
    theirs, ours, _ = beside(family, "span", loss="mean")
    batch = tiny.batch([tiny.question(n, options=(4,)) for n in range(4)])  # All as long: no padding.
    expected = theirs(**inputs(batch), start_positions=batch.start, end_positions=batch.end).loss
    everywhere = replace(batch, passage_mask=batch.attention_mask, answer_mask=batch.attention_mask)
    same(ours(everywhere).loss, expected)


def torch_attention(attention, *, bias):
    """PyTorch's own multi-head attention with copies of the weights."""
    theirs = torch.nn.MultiheadAttention(slow.WIDTH, HEADS, bias=bias, batch_first=True, dtype=torch.float64)
    maps = (attention.query, attention.key, attention.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([one.weight for one in maps]))
        theirs.out_proj.weight.copy_(attention.output.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([one.bias for one in maps]))
            theirs.out_proj.bias.copy_(attention.output.bias)
    return lambda asking, asked, mask: theirs(asking, asked, asked, key_padding_mask=~mask, average_attn_weights=False)


def test_duma_with_its_output_projection_is_multi_head_attention_both_ways():
    config = DualMultiHead.Config(heads=HEADS, output_projection=True)
    module = tiny.scatter(DualMultiHead(config, EncoderShape(slow.WIDTH, 4)).eval(), deviation=0.5)
    module.keep_maps = True
    theirs, given = torch_attention(module.attend, bias=True), slow.encoded()
    found = module(given)
    expected, weights = theirs(given.passage, given.question, given.question_mask)
    same(found.passage, expected)
    same(found.maps["passage_attention"], weights)
    expected, weights = theirs(given.question, given.passage, given.passage_mask)
    same(found.question, expected)
    same(found.maps["question_attention"], weights)


@pytest.mark.parametrize("order", ["question_first", "passage_first"])
def test_the_attention_of_recam_duma_is_multi_head_attention_where_its_heads_fill_the_width(order):
    config = SequentialMultiHead.Config(order=order, heads=HEADS, head_width=slow.WIDTH // HEADS)
    module = tiny.scatter(SequentialMultiHead(config, EncoderShape(slow.WIDTH, 4)).eval(), deviation=0.5)
    attend, given = module.attend[0], slow.encoded()
    theirs = torch_attention(attend.attention, bias=False)
    streams = {"question": given.question, "passage": given.passage}
    masks = {"question": given.question_mask, "passage": given.passage_mask}
    streams = {name: module.norm(stream) for name, stream in streams.items()}
    first, second = ("question", "passage") if order == "question_first" else ("passage", "question")
    for asking, asked in ((first, second), (second, first)):
        attended, _ = theirs(streams[asking], streams[asked], masks[asked])
        streams[asking] = attend.norm(streams[asking] + attended)
    found = module(given)
    same(found.question, streams["question"])
    same(found.passage, streams["passage"])
