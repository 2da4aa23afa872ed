"""Passages read once: against transformers' own layers under explicit masks, one sequence at a time."""

from dataclasses import replace
from itertools import product

import pytest
import tiny
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.encoders.passage_apart import PassageCache, PassageRows
from coattend.readers.reader import Reader

FAST = ["bert", "albert", "roberta", "electra", "modernbert"]

SLOW = ["distilbert", "eager"]
"""Encoders that read whole sequences under a mask: another family, and BERT without a kernel of PyTorch's."""

RELATIVE = ["deberta", "deberta_v1"]
"""Encoders that do so, whose layers know how far tokens are apart."""


def source(family, layers=2):
    if family == "distilbert":
        sizes = {"vocab_size": tiny.VOCABULARY, "max_position_embeddings": 64}
        return transformers.DistilBertConfig(dim=16, n_layers=layers, n_heads=4, hidden_dim=24, **sizes)
    config = tiny.encoder("bert" if family == "eager" else family, layers=layers)
    if family == "eager":
        config._attn_implementation = "eager"
    if family == "modernbert":  # A window that is shorter than a sequence, in every other layer.
        config.local_attention, config.global_attn_every_n_layers = 6, 2
        config.layer_types = ["full_attention" if layer % 2 == 0 else "sliding_attention" for layer in range(layers)]
        config.sliding_window = 3
    return config


def build(config, name="transformer+none", head="options", **options):
    torch.manual_seed(0)
    pooled = {"streams": "question"} if head == "options" else {}
    reader = readers.build(name, encoder=config, head=head, dropout=0.0, passage="apart", **pooled | options)
    return tiny.scatter(reader, deviation=0.1)


def two_about_one_passage(*more, count=2):
    """Questions about the same passage, and others."""
    first = tiny.question(0, passage=9)
    about = [replace(tiny.question(10 + n, options=(2 + n, 4, 3)), passage=first.passage) for n in range(count - 1)]
    return [first, *about, *more]


def visible(passage, length, segments):
    """The pairs of tokens of one sequence that see each other where its passage is read apart [N, N]."""
    allowed = torch.zeros(length, length, dtype=torch.bool)
    allowed[:passage, :passage] = True
    allowed[passage:, passage:] = True
    allowed[passage:, :passage] = segments == "reads"
    return allowed


def states_one_by_one(reader, config, batch, *, segments, apart_layers):
    """The last hidden states of each sequence by transformers' own layers, a mask for each layer."""
    # ModernBERT's eager attention rounds to float32.
    attention = "sdpa" if config.model_type == "modernbert" else "eager"
    eager = transformers.AutoModel.from_config(config, attn_implementation=attention).double().eval()
    eager.load_state_dict(reader.encoder.model.state_dict(), strict=False)
    every = config.num_hidden_layers
    for row in range(len(batch.input_ids)):
        length, passage = int(batch.attention_mask[row].sum()), int(batch.passage_mask[row].sum())
        masks = [visible(passage, length, segments)] * (every if apart_layers is None else apart_layers)
        masks += [torch.ones(length, length, dtype=torch.bool)] * (every - len(masks))
        bias = [
            torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -torch.inf)[None, None] for mask in masks
        ]
        ids, types = batch.input_ids[row : row + 1, :length], batch.token_type_ids[row : row + 1, :length]
        yield row, layer_by_layer(eager, config.model_type, ids, types, bias)


def layer_by_layer(model, family, ids, types, bias):
    options = {} if family in ("roberta", "modernbert", "distilbert") else {"token_type_ids": types}
    if family == "modernbert":
        hidden, place = model.embeddings(input_ids=ids), torch.arange(ids.shape[1])
        far = (place[:, None] - place).abs() > model.config.sliding_window
        for layer, mask in zip(model.layers, bias, strict=True):
            kind = layer.attention_type
            narrow = mask.masked_fill(far, -torch.inf) if kind == "sliding_attention" else mask
            rotation = model.rotary_emb(hidden, place[None], kind)
            hidden = layer(hidden, attention_mask=narrow, position_embeddings=rotation)
        return model.final_norm(hidden)[0]
    hidden = model.embeddings(input_ids=ids, **options)
    if family == "albert":
        hidden = model.encoder.embedding_hidden_mapping_in(hidden)
        for mask in bias:
            hidden = model.encoder.albert_layer_groups[0](hidden, mask)
        return hidden[0]
    if hasattr(model, "embeddings_project"):
        hidden = model.embeddings_project(hidden)
    layers = model.transformer.layer if family == "distilbert" else model.encoder.layer
    for layer, mask in zip(layers, bias, strict=True):
        hidden = layer(hidden, attention_mask=mask)
        hidden = hidden if isinstance(hidden, torch.Tensor) else hidden[0]
    return hidden[0]


def masked():
    """Every mask for BERT; for other families two, and the rest slowly."""
    for family in (*FAST, *SLOW):
        for layers, segments in product((None, 1, 0) if family in FAST else (None,), ("reads", "blind")):
            default = family == "bert" or (layers, segments) in ((None, "reads"), (1, "blind"))
            yield pytest.param(family, layers, segments, marks=() if default else pytest.mark.slow)


@pytest.mark.parametrize(("family", "apart_layers", "segments"), masked())
def test_states_are_those_of_each_sequence_under_its_mask(family, apart_layers, segments):
    config = source(family)
    pooled = {} if apart_layers is None and segments == "reads" else {"streams": "both"}
    name = "transformer+dual_multi_head" if segments == "blind" else "transformer+none"
    reader = build(config, name, apart_layers=apart_layers, segments=segments, **pooled)
    batch = tiny.batch(two_about_one_passage(tiny.question(1, passage=14)), padding=2, pad_id=config.pad_token_id)
    encoded = reader.encoder(batch)
    cases = states_one_by_one(reader, config, batch, segments=segments, apart_layers=apart_layers)
    for row, expected in cases:
        passage = int(batch.passage_mask[row].sum())
        for states, mask, part in (
            (encoded.passage, batch.passage_mask, expected[:passage]),
            (encoded.question, batch.question_mask, expected[passage:]),
        ):
            torch.testing.assert_close(states[row][mask[row]], part, rtol=0, atol=1e-9)


@pytest.mark.parametrize("family", FAST)
def test_without_layers_apart_it_is_the_joint_reader(family):
    config = source(family)
    apart = build(config, apart_layers=0, streams="both", tag_embedding=True)
    joint = tiny.scatter(readers.build("plain", encoder=config, dropout=0.0, tag_embedding=True), deviation=0.1)
    joint.load_state_dict(apart.state_dict())
    batch = tiny.batch(two_about_one_passage(tiny.question(3, passage=4)), pad_id=config.pad_token_id)
    outputs = [reader(batch) for reader in (apart, joint)]
    torch.testing.assert_close(outputs[0].scores, outputs[1].scores, rtol=0, atol=1e-9)
    for output in outputs:
        output.loss.backward()
    for (name, first), second in zip(apart.named_parameters(), joint.parameters(), strict=True):
        torch.testing.assert_close(first.grad, second.grad, rtol=0, atol=1e-9, msg=name)


def test_the_passage_is_read_once_for_all_of_its_segments():
    reader = build(source("bert"))
    questions = two_about_one_passage(tiny.question(1, passage=14), count=3)
    read = []
    reader.encoder.model.encoder.layer[0].register_forward_hook(
        lambda module, inputs, output: read.append(output.shape)
    )
    reader(tiny.batch(questions))
    segments = [
        sum(1 + len(option) for question in part for option in question.options)
        for part in ((questions[:3]), questions[3:])
    ]
    assert read == [(2, 2 + 14 + max(segments), 16)]


def test_a_segment_knows_neither_neighbours_nor_company_and_a_passage_not_its_questions():
    reader = build(source("bert"))
    questions = two_about_one_passage(tiny.question(1, passage=14), count=3)
    together = tiny.batch(questions, padding=3)
    output, passages = reader(together).scores, reader.encoder(together).passage
    for row, question in enumerate(questions):
        alone = tiny.batch([question])
        torch.testing.assert_close(reader(alone).scores[0], output[row], rtol=0, atol=1e-12)
    turned = tiny.batch(questions[::-1])
    torch.testing.assert_close(reader(turned).scores.flip(0), output, rtol=0, atol=1e-12)
    other = reader.encoder(tiny.batch([replace(questions[0], options=questions[1].options)]))
    size = 2 + len(questions[0].passage)
    torch.testing.assert_close(other.passage[0, :size], passages[0, :size], rtol=0, atol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(1, 6)), min_size=1, max_size=7))
@settings(max_examples=30, deadline=None)
def test_rows_hold_every_token_of_every_sequence(shapes):
    questions = [
        replace(
            tiny.question(n, options=(size,) * options), passage=tiny.question(100 + number, passage=2 + number).passage
        )
        for n, (number, options, size) in enumerate(shapes)
    ]
    batch = tiny.batch(questions, padding=1)
    rows = PassageRows.of(batch, blind=False)
    assert len(rows.passage_mask) == len({number for number, _, _ in shapes})
    assert int((rows.segment >= 0).sum()) == int(batch.question_mask.sum())
    unpacked = rows.unpack(rows.pack(batch.input_ids).unsqueeze(-1), batch).squeeze(-1)
    assert torch.equal(unpacked[batch.attention_mask], batch.input_ids[batch.attention_mask])
    passage, question = rows.split(rows.pack(batch.input_ids).unsqueeze(-1))
    assert torch.equal(
        passage[batch.passage_mask].flatten(), batch.input_ids[:, : passage.shape[1]][batch.passage_mask]
    )
    expected = batch.input_ids.gather(1, batch.question_index)
    assert torch.equal(question.squeeze(-1)[batch.question_mask], expected[batch.question_mask])


def test_two_questions_about_one_passage_get_different_answers():
    batch = tiny.batch(two_about_one_passage(count=3), task="span")
    for name, head in (("transformer+none", "pointer"), ("transformer+dual_multi_head", "span")):
        for segments in ("reads", "blind"):
            output = build(source("bert"), name, head=head, segments=segments)(batch)
            real = batch.answer_mask[0]
            for scores in (output.start[:, : len(real)][:, real], output.end[:, : len(real)][:, real]):
                assert (scores[0] - scores[-1]).abs().max() > 1e-3, (name, segments)
    assert len({tuple(row) for row in reader_scores(batch)}) == 3


def reader_scores(batch):
    scores = build(source("bert"))(tiny.batch(two_about_one_passage(count=3))).scores
    return scores.detach().round(decimals=6).tolist()


REFUSED = [
    ("plain", {"pooling": "cls_pooler"}, "does not know its question"),
    ("plain", {}, "reads the passage, which nothing has brought together with the question"),
    ("plain", {"head": "span"}, "reads the passage, which nothing has brought together with the question"),
    ("plain", {"streams": "question", "segments": "blind"}, "reads the question, which nothing has brought"),
    ("poi_net", {"turns": 0}, "reads the passage, which nothing has brought"),
    ("duma_inside_encoder", {"apart_layers": 1}, "co-attention inside the encoder"),
    ("duma", {"apart_layers": 3}, "is 3, and the encoder has 2"),
    ("plain", {"apart_layers": 2}, "reads the passage, which nothing has brought together with the question"),
]


def test_what_cannot_answer_is_refused_with_the_reason(subtests):
    for name, options, problem in REFUSED:
        with subtests.test(name=name, options=options), pytest.raises(CoattendError, match=problem):
            readers.build(name, encoder=source("bert"), passage="apart", **options)


def other_family(name, **sizes):
    config = {"vocab_size": tiny.VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
    return transformers.AutoConfig.for_model(name, intermediate_size=24, **config | sizes)


def test_families_that_cannot_are_refused():
    with pytest.raises(CoattendError, match="in all layers only"):
        build(source("distilbert"), streams="both", apart_layers=1)
    with pytest.raises(CoattendError, match="convbert, which mixes tokens outside of its attention"):
        build(other_family("convbert"))
    for config in (other_family("longformer", attention_window=4), tiny.encoder("deberta_convolved")):
        with pytest.raises(CoattendError, match=f"{config.model_type}, which takes no mask of pairs"):
            build(config)


@pytest.mark.parametrize("family", RELATIVE)
def test_families_that_know_distances_read_a_passage_apart_as_alone(family):
    config = tiny.encoder(family)
    reader = build(config)
    batch = tiny.batch(two_about_one_passage(tiny.question(1, passage=14)), padding=2)
    encoded = reader.encoder(batch)
    passages = [int(mask.sum()) for mask in batch.passage_mask]
    for row, length in enumerate(passages):
        ids = batch.input_ids[row : row + 1, :length]
        alone = reader.encoder.model(input_ids=ids).last_hidden_state[0]
        torch.testing.assert_close(encoded.passage[row, :length], alone, rtol=0, atol=1e-9)
    # A segment sees its passage, and nothing of the batch beside it.
    for row, question in enumerate(two_about_one_passage()):
        scores = reader(tiny.batch([question])).scores[0]
        torch.testing.assert_close(scores, reader(batch).scores[row], rtol=0, atol=1e-9)
    other = batch.input_ids.clone()
    other[:, 1] = (other[:, 1] + 7) % tiny.VOCABULARY
    moved = (reader.encoder(replace(batch, input_ids=other)).question - encoded.question).abs().amax(-1)
    assert (moved[batch.question_mask] > 1e-9).all()


def test_all_layers_may_be_counted():
    counted, named = (build(source("bert"), apart_layers=layers) for layers in (2, None))
    batch = tiny.batch(two_about_one_passage())
    assert torch.equal(counted(batch).scores, named(batch).scores)
    assert counted.encoder.reads_passages_once


def attended_one_by_one(reader, batch, *, segments="reads", joint=False):
    """What the question domain of each sequence sees of its passage in the last layer, by transformers' own code."""
    model = reader.encoder.model
    eager = type(model)._from_config(model.config, attn_implementation="eager").double().eval()
    eager.load_state_dict(model.state_dict(), strict=False)
    for row in range(len(batch.input_ids)):
        length, passage = int(batch.attention_mask[row].sum()), int(batch.passage_mask[row].sum())
        pairs = torch.ones(length, length, dtype=torch.bool) if joint else visible(passage, length, segments)
        bias = torch.zeros(pairs.shape, dtype=torch.float64).masked_fill(~pairs, torch.finfo(torch.float64).min)
        inputs = {"input_ids": batch.input_ids[row : row + 1, :length], "attention_mask": bias[None, None]}
        if model.config.type_vocab_size > 1:
            inputs["token_type_ids"] = batch.token_type_ids[row : row + 1, :length]
        weights = eager(**inputs, output_attentions=True).attentions[-1]
        yield passage, weights[0].mean(0)[passage:, :passage].mean(0)


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("segments", ["reads", "blind"])
@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "electra"])
def test_what_segments_see_of_their_passage_is_told(family, segments, cached):
    config = source(family)
    name, pooled = (
        ("transformer+dual_multi_head", {"streams": "both"}) if segments == "blind" else ("transformer+none", {})
    )
    reader = build(config, name, segments=segments, **pooled)
    joint = tiny.scatter(readers.build("plain", encoder=config, dropout=0.0), deviation=0.1)
    batch = tiny.batch(two_about_one_passage(tiny.question(1, passage=14)), padding=2, pad_id=config.pad_token_id)
    if cached:
        reader.encoder.passage_cache = PassageCache(1 << 20)
        with torch.inference_mode():
            reader(batch)
    for each, how in ((reader, {"segments": segments}), (joint, {"joint": True})):
        each.encoder.keep_attention = True
        with torch.inference_mode():
            each(batch)
            seen = each.encoder.passage_attention(batch)
        for row, (length, expected) in enumerate(attended_one_by_one(each, batch, **how)):
            torch.testing.assert_close(seen[row, :length], expected, rtol=0, atol=1e-9)
            assert not seen[row, length:].any()
        each.encoder.keep_attention = False
        each(batch)
        assert each.encoder.passage_attention(batch) is None, "it is kept on request"


def test_it_learns_in_every_weight_and_loads_as_it_was_saved(tmp_path):
    reader = build(source("bert"), tag_embedding=True, hidden_tag_embedding=True)
    batch = tiny.batch(two_about_one_passage(tiny.question(3, passage=4)))
    reader(batch).loss.backward()
    idle = [
        name for name, weights in reader.named_parameters() if weights.grad is None or weights.grad.abs().max() < 1e-12
    ]
    # A bias of keys, and the last one, add the same to every score.
    assert all(name.endswith(("key.bias", "layer.1.output.LayerNorm.bias")) for name in idle), idle
    reader.float().save(tmp_path)
    assert torch.equal(Reader.load(tmp_path)(batch).scores, reader(batch).scores)


@pytest.mark.parametrize("apart_layers", [None, 1])
@pytest.mark.parametrize("family", ["bert", "albert", "modernbert"])
def test_a_passage_that_was_read_before_is_not_read_again(family, apart_layers):
    config = source(family)
    reader = build(config, apart_layers=apart_layers, tag_embedding=True)
    questions = two_about_one_passage(tiny.question(1, passage=14), tiny.question(2, passage=3), count=3)
    batches = [tiny.batch(part, pad_id=config.pad_token_id) for part in (questions[:1], questions[1:4], questions[2:])]
    expected = [reader(batch).scores for batch in batches]
    reader.encoder.passage_cache = PassageCache(1 << 20)
    read = []
    reader.encoder.model.embeddings.register_forward_hook(lambda module, inputs, output: read.append(output.shape[:2]))
    with torch.inference_mode():
        for batch, scores in zip(batches, expected, strict=True):
            torch.testing.assert_close(reader(batch).scores, scores, rtol=0, atol=1e-9)
    # Of the passages each is read once: 9, 14 and 3 tokens between [CLS] and [SEP]; the others are segments.
    passages = [shape for shape in read if shape in {(1, 11), (1, 16)}]
    assert passages == [(1, 11), (1, 16), (1, 16)]
    assert len(reader.encoder.passage_cache) == 3


def test_the_cache_of_passages_stays_under_its_limit():
    reader = build(source("bert"))
    cache = reader.encoder.passage_cache = PassageCache(3 * 11 * 16 * 8 * (1 + 2 * 2))
    questions = [tiny.question(seed, passage=9) for seed in range(6)]
    with torch.inference_mode():
        for question in questions:
            reader(tiny.batch([question]))
            assert cache.size <= cache.max_bytes
    assert len(cache) == 3
    # Of a batch that is larger than the cache every passage is read, and answers are the same.
    scores = reader(tiny.batch(questions)).scores
    reader.encoder.passage_cache = None
    torch.testing.assert_close(reader(tiny.batch(questions)).scores, scores, rtol=0, atol=1e-9)
