"""The encoder: families, tags, limits, loading and parameter counts."""

import json
import shutil
from dataclasses import replace

import pytest
import safetensors.torch
import tiny
import torch
import transformers

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.encoders.pretrained import encoder_folder
from coattend.readers.encoders.word_embeddings import Words
from coattend.readers.reader import Reader

FAMILIES = ["bert", "albert", "roberta", "electra", "deberta", "modernbert"]

DECODERS = ["llama", "qwen2", "qwen3"]

CO_ATTENDING = [*FAMILIES, "deberta_v1"]
"""Families that take a mask of pairs of tokens."""

SHIFTS = ("key.bias", "k_proj.bias", "pos_key_proj.bias", "layer.1.output.LayerNorm.bias")
"""They add the same to every score of a softmax; the last one to the score of every option."""


def build(source, name="plain", **options):
    torch.manual_seed(0)
    return readers.build(name, encoder=source, dropout=0.0, **options)


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("family", [*FAMILIES, "t5", *DECODERS])
def test_every_family_reads_a_question_alike_alone_and_in_a_batch_and_learns(family):
    config = tiny.encoder(family)
    questions = [tiny.question(0, passage=9), tiny.question(1, passage=3), tiny.question(2, passage=12)]
    for options in ({}, {"pooling": "cls_pooler"}, {"tag_embedding": True}):
        reader = tiny.scatter(build(config, **options), deviation=0.1)
        output = reader(tiny.batch(questions, pad_id=config.pad_token_id))
        for row, question in enumerate(questions):
            alone = reader(tiny.batch([question], padding=3, pad_id=config.pad_token_id))
            torch.testing.assert_close(alone.scores[0], output.scores[row], rtol=0, atol=1e-9)
        output.loss.backward()
        assert all(parameter.grad is not None for parameter in reader.parameters()), options
        idle = [name for name, parameter in reader.named_parameters() if parameter.grad.abs().max() < 1e-12]
        assert all(name.endswith(SHIFTS) for name in idle), options


@pytest.mark.parametrize("family", [*FAMILIES, "t5", *DECODERS])
def test_hidden_states_are_those_of_the_model_itself(family):
    config = tiny.encoder(family)
    reader = build(config)
    batch = tiny.batch([tiny.question(0), tiny.question(1, passage=4)], pad_id=config.pad_token_id)
    types = {"token_type_ids": batch.token_type_ids} if family in ("bert", "albert", "electra") else {}
    hidden = reader.encoder.model(
        input_ids=batch.input_ids, attention_mask=batch.attention_mask, **types
    ).last_hidden_state
    encoded = reader.encoder(batch)
    assert torch.equal(encoded.passage[batch.passage_mask], hidden[:, : encoded.passage.shape[1]][batch.passage_mask])
    for row in range(len(hidden)):
        real = batch.question_index[row][batch.question_mask[row]]
        assert torch.equal(encoded.question[row][batch.question_mask[row]], hidden[row, real])


def test_tags_begin_without_effect_and_their_padding_stays_so():
    batch = tiny.batch([tiny.question(0), tiny.question(1)])
    with_tags, without = build(tiny.encoder(), tag_embedding=True), build(tiny.encoder())
    with_tags.load_state_dict(without.state_dict(), strict=False)
    torch.testing.assert_close(with_tags(batch).scores, without(batch).scores)
    with_tags(batch).loss.backward()
    gradient = with_tags.encoder.tags.weight.grad.abs().sum(1)
    assert gradient[0] == 0
    assert (gradient[batch.tag_ids.unique()[1:]] > 0).all()


def test_the_tag_embedding_is_as_wide_as_the_word_embedding():
    with torch.device("meta"):
        albert = build(transformers.AlbertConfig(), tag_embedding=True)
    assert count(albert.encoder.tags) == 39 * 128 == 4_992


def printed(reader):
    """Parameters with pooler and span head in units of 2^20, as POI-Net's table 7 prints them."""
    span = 2 * reader.encoder.shape.hidden_size
    return round((count(reader.encoder) + span) / 2**20, 2)


def test_parameters_of_albert_are_those_of_the_papers():
    base = transformers.AlbertConfig(hidden_size=768, num_attention_heads=12, intermediate_size=3072)
    largest = transformers.AlbertConfig()
    with torch.device("meta"):
        plain = [build(config, pooling="cls_pooler") for config in (base, largest)]
        tagged = [build(config, pooling="cls_pooler", tag_embedding=True) for config in (base, largest)]
        without = build(base)
    assert count(plain[0].encoder) == 11_683_584
    assert count(plain[0].encoder) - count(without.encoder) == 768 * 768 + 768
    assert [printed(reader) for reader in plain] == [11.14, 212.29]
    assert [printed(reader) for reader in tagged] == [11.15, 212.30]


LINEAR = 768 * 768 + 768
"""A map of BERT-base's width, with its bias."""

WIDE = 2 * 768 * 3072 + 3072 + 768
"""A feed-forward layer of BERT-base."""


def of_bert_base(name, *, tables=0, **options):
    """Count the parameters of a reader on BERT-base beyond its encoder's and a scorer of one stream."""
    with torch.device("meta"):
        reader = build(transformers.BertConfig(), name, **options)
    embeddings = (30_522 + 512 + 2) * 768 + 2 * 768
    assert count(reader.encoder) == embeddings + 12 * (4 * LINEAR + WIDE + 4 * 768) + tables
    return count(reader) - count(reader.encoder) - 768


def test_parameters_of_bert_base_are_those_of_its_shapes():
    """Tags are as wide as the word embedding, which is as wide as BERT: six times ALBERT's 4,992."""
    assert of_bert_base("plain") == 0
    assert of_bert_base("duma") == 3 * LINEAR + 768 == 1_771_776 + 768  # The scorer reads two streams side by side.
    assert of_bert_base("duma", output_projection=True) == 4 * LINEAR + 768 == 2_362_368 + 768
    assert of_bert_base("duma", fuse="joint", layers=4) == 3 * LINEAR
    assert of_bert_base("duma_p_to_q") == of_bert_base("duma_q_to_p") == 3 * LINEAR
    assert of_bert_base("tb_duma", fuse="joint") == 4 * LINEAR + WIDE + 4 * 768
    assert of_bert_base("duma_inside_encoder") == 768
    assert of_bert_base("poi_net", tables=39 * 768) == 0
    assert of_bert_base("poi_net", tables=48 * 768, tag_count=48) == 0
    assert of_bert_base("poi_net_no_pos") == of_bert_base("poi_net_no_co_attention", tables=39 * 768) == 0
    assert 39 * 768 == 29_952


@pytest.mark.parametrize("family", [*FAMILIES, "gpt2"])
def test_dropout_is_set_everywhere(family):
    config = tiny.encoder(family)
    reader = readers.build("plain", encoder=config, dropout=0.25)
    dropouts = {module.p for module in reader.encoder.modules() if isinstance(module, torch.nn.Dropout)}
    assert dropouts == {0.25}
    assert config.to_dict() == tiny.encoder(family).to_dict()


@pytest.mark.parametrize(("family", "limit"), [("bert", 64), ("albert", 64), ("roberta", 62), ("electra", 64)])
def test_a_sequence_beyond_the_table_of_positions_is_refused(family, limit):
    config = tiny.encoder(family)
    reader = build(config)
    fits = tiny.batch([tiny.question(0, passage=limit - 6, options=(3,))], pad_id=config.pad_token_id)
    assert fits.input_ids.shape[1] == limit
    reader(fits)
    with pytest.raises(CoattendError, match=f"a sequence has {limit + 1} tokens and the encoder reads at most {limit}"):
        reader(tiny.batch([tiny.question(0, passage=limit - 5, options=(3,))], pad_id=config.pad_token_id))


@pytest.mark.parametrize("family", ["deberta", "modernbert", "t5", *DECODERS])
def test_families_without_such_a_table_have_no_limit(family):
    reader = build(tiny.encoder(family))
    assert reader(tiny.batch([tiny.question(0, passage=90)])).scores.isfinite().all()


def test_ids_out_of_range_are_named():
    batch = tiny.batch([tiny.question(0)])
    batch.tag_ids[0, 1] = 47
    with pytest.raises(CoattendError, match=r"a tag has the id 47, and the reader knows 39\. Set tag_count"):
        build(tiny.encoder(), tag_embedding=True)(batch)
    build(tiny.encoder(), tag_embedding=True, tag_count=48)(batch)
    batch.input_ids[0, 1] = 99
    with pytest.raises(CoattendError, match=r"a token has the id 99, and the reader knows 61\. Use the encoder's own"):
        build(tiny.encoder())(batch)


def test_the_embedded_encoder_loads_in_silence_and_reads(capfd):
    reader = build("embedded")
    assert capfd.readouterr() == ("", "")
    assert reader.encoder.shape.hidden_size == 384
    assert next(reader.parameters()).dtype == torch.float32
    assert not any("pooler" in name for name, _ in reader.named_parameters())
    assert reader(tiny.batch([tiny.question(0)])).scores.shape == (1, 3)


NEVER_TRAINED = "the encoder's pooler was never trained, and is frozen"


def test_the_embedded_encoders_pooler_was_never_trained_which_freezing_tells(caplog):
    for pooling, told in (("mean", False), ("cls_pooler", True)):
        encoder = build("embedded", pooling=pooling).encoder
        assert encoder.summarises_at_random == told
        encoder.freeze()
        assert (NEVER_TRAINED in caplog.text) == told


@pytest.mark.parametrize("family", ["bert", "albert", "roberta"])
def test_a_pooler_that_has_learned_is_frozen_without_a_word(family, tmp_path, caplog):
    """A single step moves its biases from zero, and they are read from files so."""
    reader = build(tiny.encoder(family), pooling="cls_pooler")
    assert reader.encoder.summarises_at_random
    optimizer = torch.optim.SGD(reader.parameters(), lr=1e-3)
    reader(tiny.batch([tiny.question(0), tiny.question(1)])).loss.backward()
    optimizer.step()
    assert not reader.encoder.summarises_at_random
    reader.encoder.model.set_attn_implementation("sdpa")
    reader.encoder.model.save_pretrained(tmp_path)
    build(tmp_path, pooling="cls_pooler").encoder.freeze()
    assert not caplog.records
    # Files without the pooler's weights: it is drawn.
    weights = safetensors.torch.load_file(tmp_path / "model.safetensors")
    without = {name: tensor for name, tensor in weights.items() if not name.startswith("pooler.")}
    assert len(without) == len(weights) - 2
    safetensors.torch.save_file(without, tmp_path / "model.safetensors", metadata={"format": "pt"})
    build(tmp_path, pooling="cls_pooler").encoder.freeze()
    assert NEVER_TRAINED in caplog.text


def test_a_pooler_of_the_readers_own_is_trained_over_a_frozen_encoder(caplog):
    encoder = build(tiny.encoder("electra"), pooling="cls_pooler").encoder
    encoder.freeze()
    assert not encoder.summarises_at_random and not caplog.records
    assert all(parameter.requires_grad for parameter in encoder.pooler.parameters())


@pytest.fixture
def folder(tmp_path):
    model = transformers.AutoModel.from_config(tiny.encoder("electra"))
    model.save_pretrained(tmp_path / "electra")
    return tmp_path / "electra"


def test_an_encoder_comes_from_a_folder_in_float32_whatever_its_files_hold(folder, capfd):
    transformers.AutoModel.from_pretrained(folder).half().save_pretrained(folder)
    capfd.readouterr()
    reader = build(str(folder), pooling="cls_pooler")
    assert capfd.readouterr() == ("", "")
    saved = transformers.AutoModel.from_pretrained(folder).float().state_dict()
    assert all(torch.equal(saved[name], value) for name, value in reader.encoder.model.state_dict().items())
    assert {parameter.dtype for parameter in reader.parameters()} == {torch.float32}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_layers_of_an_encoder_are_as_they_are_in_the_whole(family, tmp_path, capfd):
    config = tiny.encoder(family, layers=3)
    whole = transformers.AutoModel.from_config(config).eval()
    whole.save_pretrained(tmp_path)
    capfd.readouterr()
    reader = build(tmp_path, encoder_layers=2)
    assert capfd.readouterr() == ("", "")
    batch = tiny.batch([tiny.question(0)], pad_id=config.pad_token_id)
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    expected = whole(**inputs, output_hidden_states=True).hidden_states[2]
    if family == "modernbert":
        expected = whole.final_norm(expected)  # which follows the last layer
    torch.testing.assert_close(reader.encoder.model(**inputs).last_hidden_state, expected, rtol=0, atol=1e-6)
    assert reader.encoder.describe()["num_hidden_layers"] == 2
    # A saved reader knows its number of layers, and that of its encoder's files no more.
    reader.save(tmp_path / "reader")
    again = Reader.load(tmp_path / "reader")
    assert torch.equal(again(batch).scores, reader(batch).scores)
    with pytest.raises(CoattendError, match="encoder_layers: is 4, and the encoder has 3"):
        build(tmp_path, encoder_layers=4)


def test_a_folder_without_a_whole_encoder_is_refused(folder, tmp_path):
    cut = tmp_path / "cut"
    shutil.copytree(folder, cut)
    weights = cut / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(CoattendError, match="cut: holds no encoder that can be read"):
        build(cut)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(CoattendError, match="holds no weights that fit its configuration"):
        build(folder)


def test_what_is_no_encoder_is_refused(tmp_path):
    with pytest.raises(CoattendError, match="is no folder"):
        build(tmp_path / "nowhere")
    decoding = transformers.BartConfig(vocab_size=9, d_model=8, encoder_layers=1, decoder_layers=1)
    decoding.save_pretrained(tmp_path)
    for source in (decoding, tmp_path):
        with pytest.raises(CoattendError, match=r"^a bart model is no encoder: it has a decoder.*t5, mt5, umt5"):
            build(source)


@pytest.mark.parametrize(
    ("family", "whole"),
    [("t5", transformers.T5ForConditionalGeneration), ("llama", transformers.LlamaForCausalLM)],
)
def test_of_a_model_that_generates_only_what_reads_is_loaded(family, whole, tmp_path, capfd):
    model = whole(tiny.encoder(family, layers=3)).eval()
    model.save_pretrained(tmp_path)
    capfd.readouterr()
    reader = build(tmp_path, encoder_layers=2)
    assert capfd.readouterr() == ("", "")
    names = {name for name, _ in reader.encoder.model.named_parameters()}
    assert not [name for name in names if "decoder" in name or "head" in name]
    inner = model.encoder if family == "t5" else model.model
    norm = inner.final_layer_norm if family == "t5" else inner.norm
    batch = tiny.batch([tiny.question(0), tiny.question(1, passage=4)])
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    expected = norm(inner(**inputs, output_hidden_states=True).hidden_states[2])
    states = reader.encoder.read(batch)
    torch.testing.assert_close(states[batch.attention_mask], expected[batch.attention_mask], rtol=0, atol=1e-6)
    reader.save(tmp_path / "reader")
    assert torch.equal(Reader.load(tmp_path / "reader")(batch).scores, reader(batch).scores)


def moved_by(reader, batch, position):
    """The real tokens of each sequence [S, N] whose vectors another token at a position moves."""
    ids = batch.input_ids.clone()
    ids[:, position] = (ids[:, position] + 7) % tiny.VOCABULARY
    states, others = (reader.encoder.read(replace(batch, input_ids=tokens)) for tokens in (batch.input_ids, ids))
    return ((states - others).abs().amax(-1) > 1e-9) & batch.attention_mask


@pytest.mark.parametrize("family", DECODERS)
def test_a_token_of_a_decoder_sees_those_before_it_or_all(family):
    questions = [tiny.question(1), tiny.question(2, passage=4)]
    batch = tiny.batch(questions, padding=2)
    behind = torch.arange(batch.input_ids.shape[1]) >= 4
    for attention, moved in (
        (None, behind & batch.attention_mask),
        ("causal", behind & batch.attention_mask),
        ("bidirectional", batch.attention_mask),
    ):
        reader = tiny.scatter(build(tiny.encoder(family), attention=attention))
        assert torch.equal(moved_by(reader, batch, 4), moved), attention
        # Padding, and the other questions of a batch, change nothing.
        for row, question in enumerate(questions):
            alone = reader(tiny.batch([question])).scores[0]
            torch.testing.assert_close(alone, reader(batch).scores[row], rtol=0, atol=1e-9)


def test_a_bidirectional_decoder_is_loaded_as_it_was_saved(tmp_path):
    reader = build(tiny.encoder("llama"), attention="bidirectional")
    reader.save(tmp_path)
    batch = tiny.batch([tiny.question(1)])
    assert torch.equal(Reader.load(tmp_path)(batch).scores, reader(batch).scores)
    causal = build(tiny.encoder("llama"), attention="causal")
    causal.load_state_dict(reader.state_dict())
    assert not torch.allclose(causal(batch).scores, reader(batch).scores)


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
def test_the_summary_of_a_decoder_and_its_last_token_have_seen_all(attention):
    for pooling in ("cls_pooler", "last"):
        reader = tiny.scatter(build(tiny.encoder("qwen2"), pooling=pooling, attention=attention))
        batch = tiny.batch([tiny.question(1, options=(3, 5))], padding=2)
        before = reader(batch).scores
        for position in range(3):  # Of the passage, and so of both options.
            ids = batch.input_ids.clone()
            ids[:, position] = tiny.VOCABULARY - 1
            assert (reader(replace(batch, input_ids=ids)).scores != before).all()
        last = batch.question_index[0, batch.question_mask[0].sum() - 1]
        ids = batch.input_ids.clone()
        ids[0, last] = tiny.VOCABULARY - 1
        assert ((reader(replace(batch, input_ids=ids)).scores != before) == torch.tensor([[True, False]])).all()


def test_a_causal_decoder_fits_where_the_question_is_read_alone_or_brought_together():
    llama = tiny.encoder("llama")
    with pytest.raises(CoattendError) as refused:
        build(llama, head="span")
    problem = "the head 'span' reads the passage, which nothing has brought together with the question"
    assert f"{problem}. What would fit: head=options, attention=bidirectional" in str(refused.value)
    assert build(llama, head="span", attention="bidirectional")
    assert build(llama, name="duma", head="span")
    # What is known without the model is refused before it is loaded.
    with pytest.raises(CoattendError, match="attention=bidirectional"):
        readers.resolve("plain", "span", attention="causal")


@pytest.mark.parametrize(
    ("family", "options", "problem"),
    [
        (
            "bert",
            {"attention": "causal"},
            "attention: causal: does not go with bert, which was trained to read in both",
        ),
        ("llama", {"passage": "apart", "streams": "question"}, "passage: apart: does not go with causal attention"),
        ("llama", {"co_attention": True}, "co_attention: does not go with causal attention"),
    ],
)
def test_what_does_not_go_with_an_attention_is_refused(family, options, problem):
    with pytest.raises(CoattendError, match=problem):
        build(tiny.encoder(family), **options)


@pytest.mark.parametrize("family", ["t5", *DECODERS])
def test_passages_are_read_apart_under_a_mask(family):
    """As exactly as in a sequence of their own: the vectors of a passage do not change with what is asked."""
    attention = {} if family == "t5" else {"attention": "bidirectional"}
    reader = tiny.scatter(build(tiny.encoder(family), passage="apart", streams="question", **attention))
    batch = tiny.batch([tiny.question(1, options=(3, 5))], padding=2)
    asked = int(batch.question_index[0, 0])
    moved = moved_by(reader, batch, asked)
    assert not moved[:, :asked].any() and moved[:, asked:][batch.attention_mask[:, asked:]].all()
    assert moved_by(reader, batch, 1)[batch.attention_mask].all()


def test_attention_that_a_model_cannot_have_is_refused(monkeypatch):
    """Here of one that takes its masks from elsewhere."""
    monkeypatch.setattr("transformers.models.llama.modeling_llama.create_causal_mask", causal_whatever_is_configured)
    with pytest.raises(CoattendError, match="attention: bidirectional: is not possible for llama"):
        build(tiny.encoder("llama"), attention="bidirectional")
    assert build(tiny.encoder("llama"))


def causal_whatever_is_configured(inputs_embeds, **_):
    length = inputs_embeds.shape[1]
    return torch.ones(length, length, dtype=torch.bool).tril().expand(len(inputs_embeds), 1, length, length)


EVERY = [
    (family, capability, attention)
    for family, attention in [("llama", "causal"), ("llama", "bidirectional"), ("t5", None), ("qwen3", "causal")]
    for capability in readers.capabilities(**{} if attention is None else {"attention": attention})
    if capability.encoder == "transformer" and capability.reason is None
]


@pytest.mark.parametrize(
    ("family", "capability", "attention"),
    [
        pytest.param(*case, marks=() if case[0] == "llama" and case[2] == "causal" else pytest.mark.slow)
        for case in EVERY
    ],
    ids=lambda part: f"{part.interaction}-{part.head}" if hasattr(part, "head") else str(part),
)
def test_every_interaction_and_head_that_fits_reads_over_it(family, capability, attention):
    reader = tiny.scatter(build(tiny.encoder(family), capability.reader, head=capability.head, **capability.options))
    options = (3, 5, 4) if capability.task == "options" else (5,)
    questions = [tiny.question(n, passage=5 + n, options=options) for n in range(2)]
    losses = [reader(tiny.batch(questions, padding=padding, task=capability.task)).loss for padding in (0, 3)]
    torch.testing.assert_close(*losses, rtol=0, atol=1e-9)
    losses[0].backward()
    assert all(parameter.grad is not None for parameter in reader.parameters())


@pytest.mark.parametrize(
    ("name", "source", "options", "reason"),
    [
        ("dcn_plus", Words(words=("a", "b")), {}, "needs a pretrained encoder and has none"),
        ("poi_net", Words(words=("a", "b")), {}, "needs a pretrained encoder and has Words"),
        (
            "as_reader",
            tiny.encoder("bert"),
            {"vectors": "file", "vectors_file": "any.txt"},
            "vectors: file: needs words",
        ),
        ("duma_inside_encoder", tiny.encoder("deberta_convolved"), {}, "co_attention: does not go with deberta-v2"),
    ],
)
def test_a_source_that_lacks_what_the_reader_wants_is_refused(name, source, options, reason):
    with pytest.raises(CoattendError, match=f"{reason}.*Give|{reason}.*Take"):
        readers.build(name, encoder=source, **options)


def test_a_name_that_cannot_be_fetched_says_what_to_do(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(CoattendError, match="is no folder, has no local copy and cannot be downloaded") as raised:
        build("no-such-encoder-anywhere")
    assert "'embedded'" in str(raised.value)


def test_the_folder_of_a_source(folder):
    assert encoder_folder(str(folder)) == folder
    assert (encoder_folder("embedded") / "config.json").is_file()
    assert encoder_folder("bert-base-uncased") is None


@pytest.mark.parametrize("family", CO_ATTENDING)
def test_with_co_attention_a_token_sees_the_other_side_alone(family):
    """One layer: an answer's vector changes with the other side, and not with its own side's other tokens."""
    one_layer = tiny.encoder(family, layers=1)
    reader = tiny.scatter(build(one_layer, co_attention=True))
    questions = [tiny.question(1), tiny.question(2, passage=4)]
    batch = tiny.batch(questions, padding=2, pad_id=one_layer.pad_token_id)
    before = reader.encoder(batch)

    def changed(position):
        ids = batch.input_ids.clone()
        ids[:, position] = (ids[:, position] + 7) % tiny.VOCABULARY
        after = reader.encoder(replace(batch, input_ids=ids))
        pairs = ((after.passage, before.passage), (after.question, before.question))
        passage, question = ((changed_stream - stream).abs().amax(-1) > 1e-9 for changed_stream, stream in pairs)
        return passage & batch.passage_mask, question & batch.question_mask

    passage, question = changed(2)
    assert passage[:, 2].all() and passage.sum() == len(passage)
    assert torch.equal(question, batch.question_mask)
    first = int(batch.question_index[0, 0])
    passage, question = changed(first)
    assert passage[0][batch.passage_mask[0]].all()
    assert question[0].sum() == 1


@pytest.mark.parametrize("family", CO_ATTENDING)
def test_co_attention_needs_no_weights_of_its_own(family):
    plain, inside = (build(tiny.encoder(family), co_attention=choice) for choice in (False, True))
    assert count(plain) == count(inside)
    inside.load_state_dict(plain.state_dict())
    batch = tiny.batch([tiny.question(1)])
    assert not torch.allclose(plain(batch).scores, inside(batch).scores)
    assert inside(batch).scores.isfinite().all()
