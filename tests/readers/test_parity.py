"""Readers give what the models and layers of Hugging Face and PyTorch give, once their weights are copied."""

from dataclasses import replace

import oracle
import pytest
import tiny
import torch
import transformers
from torch.nn.functional import cross_entropy

from coattend import readers
from coattend.readers.interactions.dual_multi_head import DualMultiHead
from coattend.readers.interactions.sequential_multi_head import SequentialMultiHead
from coattend.readers.interfaces import EncoderShape

HEADS = 2
FAMILIES = {
    "bert": (transformers.BertForMultipleChoice, transformers.BertForQuestionAnswering),
    "albert": (transformers.AlbertForMultipleChoice, transformers.AlbertForQuestionAnswering),
}


def same(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-9)


def with_reference(family, head, **options):
    """Hugging Face's model with random weights, and the plain reader with copies of them."""
    config = tiny.encoder(family)
    reference = tiny.scatter(FAMILIES[family][head == "span"](config).eval())
    reader = readers.build("plain", encoder=config, head=head, **options).double()
    reader.encoder.model.load_state_dict(getattr(reference, family).state_dict())
    last = reference.qa_outputs if head == "span" else reference.classifier
    with torch.no_grad():
        reader.head.scorer.weight.copy_(last.weight)
    return reference, reader, last.bias


def inputs(batch):
    return {name: getattr(batch, name) for name in ("input_ids", "attention_mask", "token_type_ids")}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_plain_reader_is_the_multiple_choice_model(family):
    reference, reader, bias = with_reference(family, "options", pooling="cls_pooler")
    batch = tiny.batch([tiny.question(n, passage=length) for n, length in enumerate((9, 4, 14))], padding=1)
    of_options = {name: tensor[batch.option_index] for name, tensor in inputs(batch).items()}  # [B, C, N]
    expected, actual = reference(**of_options, labels=batch.label), reader(batch)
    same(actual.scores + bias, expected.logits)
    same(actual.loss, expected.loss)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_plain_reader_is_the_question_answering_model_where_answers_may_lie(family):
    reference, reader, bias = with_reference(family, "span", loss="mean")
    batch = tiny.batch([tiny.question(n, passage=length, options=(4,)) for n, length in enumerate((9, 4, 14, 6))])
    expected, actual = reference(**inputs(batch)), reader(batch)
    allowed = batch.answer_mask.clone()
    allowed[:, 0] = True  # "no answer"
    logits = torch.stack([expected.start_logits, expected.end_logits], -1)[:, : allowed.shape[1]]  # [S, P, 2]
    same(torch.stack([actual.start, actual.end], -1)[allowed] + bias, logits[allowed])
    starts, ends = logits.masked_fill(~allowed.unsqueeze(-1), -torch.inf).unbind(-1)
    assert (batch.start == 0).any() and (batch.start > 0).any()
    same(actual.loss, (cross_entropy(starts, batch.start) + cross_entropy(ends, batch.end)) / 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_where_every_token_may_answer_the_loss_is_the_question_answering_models_own(family):
    reference, reader, _ = with_reference(family, "span", loss="mean")
    batch = tiny.batch([tiny.question(n, options=(4,)) for n in range(4)])  # All as long: no padding.
    expected = reference(**inputs(batch), start_positions=batch.start, end_positions=batch.end).loss
    everywhere = replace(batch, passage_mask=batch.attention_mask, answer_mask=batch.attention_mask)
    same(reader(everywhere).loss, expected)


def torch_attention(attention, *, bias):
    """PyTorch's own multi-head attention with copies of the weights."""
    reference = torch.nn.MultiheadAttention(oracle.WIDTH, HEADS, bias=bias, batch_first=True, dtype=torch.float64)
    maps = (attention.query, attention.key, attention.value)
    with torch.no_grad():
        reference.in_proj_weight.copy_(torch.cat([layer.weight for layer in maps]))
        reference.out_proj.weight.copy_(attention.output.weight)
        if bias:
            reference.in_proj_bias.copy_(torch.cat([layer.bias for layer in maps]))
            reference.out_proj.bias.copy_(attention.output.bias)
    return lambda query, key, mask: reference(query, key, key, key_padding_mask=~mask, average_attn_weights=False)


def test_duma_with_its_output_projection_is_multi_head_attention_both_ways():
    config = DualMultiHead.Config(heads=HEADS, output_projection=True)
    module = tiny.scatter(DualMultiHead(config, EncoderShape(oracle.WIDTH, 4)).eval(), deviation=0.5)
    module.keep_maps = True
    reference, encoded = torch_attention(module.attend, bias=True), oracle.encoded()
    actual = module(encoded)
    expected, weights = reference(encoded.passage, encoded.question, encoded.question_mask)
    same(actual.passage, expected)
    same(actual.maps["passage_attention"], weights)
    expected, weights = reference(encoded.question, encoded.passage, encoded.passage_mask)
    same(actual.question, expected)
    same(actual.maps["question_attention"], weights)


@pytest.mark.parametrize("order", ["question_first", "passage_first"])
def test_the_attention_of_recam_duma_is_multi_head_attention_where_its_heads_fill_the_width(order):
    config = SequentialMultiHead.Config(order=order, heads=HEADS, head_width=oracle.WIDTH // HEADS)
    module = tiny.scatter(SequentialMultiHead(config, EncoderShape(oracle.WIDTH, 4)).eval(), deviation=0.5)
    attend, encoded = module.attend[0], oracle.encoded()
    reference = torch_attention(attend.attention, bias=False)
    streams = {"question": encoded.question, "passage": encoded.passage}
    masks = {"question": encoded.question_mask, "passage": encoded.passage_mask}
    streams = {name: module.norm(stream) for name, stream in streams.items()}
    first, second = ("question", "passage") if order == "question_first" else ("passage", "question")
    for query, key in ((first, second), (second, first)):
        attended, _ = reference(streams[query], streams[key], masks[key])
        streams[query] = attend.norm(streams[query] + attended)
    actual = module(encoded)
    same(actual.question, streams["question"])
    same(actual.passage, streams["passage"])
