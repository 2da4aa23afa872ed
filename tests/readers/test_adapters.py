"""Low-rank adapters, which are trained in place of an encoder's own weights, over each family of encoders."""

import shutil
import sys

import pytest
import tiny
import torch
import transformers

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.reader import Reader

peft = pytest.importorskip("peft", reason="peft is not installed: it is in the extra `lora`")

FAMILIES = ["bert", "albert", "roberta", "electra", "deberta", "deberta_v1", "modernbert"]
FAMILIES += ["t5", "gpt2", "llama", "qwen2", "qwen3"]


def source_of(family, folder):
    """Write a random encoder into a folder, as published ones are."""
    torch.manual_seed(0)
    transformers.AutoModel.from_config(tiny.encoder(family)).save_pretrained(folder)
    return str(folder)


def adapted(source, name="duma", **lora):
    torch.manual_seed(1)
    reader = readers.build(name, encoder=source, dropout=0.0, tag_embedding=True)
    reader.add_adapters(source, **{"rank": 2, "alpha": 4.0} | lora)
    return reader


def batch_of(reader, count=4):
    pad_id = reader.encoder.model.config.pad_token_id or 0
    return tiny.batch([tiny.question(n, passage=5 + n) for n in range(count)], pad_id=pad_id)


def train(reader, steps=3):
    optimizer = torch.optim.AdamW([weights for weights in reader.parameters() if weights.requires_grad], lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        reader.train()(batch_of(reader)).loss.backward()
        optimizer.step()
    return reader.eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_only_adapters_and_what_is_new_learn_and_they_alone_are_saved(family, tmp_path, capfd):
    source = source_of(family, tmp_path / "encoder")
    capfd.readouterr()
    reader = adapted(source)
    assert capfd.readouterr() == ("", "")
    fresh = readers.build("duma", encoder=source, dropout=0.0, tag_embedding=True)
    untouched = dict(fresh.encoder.model.named_parameters())
    before = {name: weights.clone() for name, weights in reader.named_parameters()}
    train(reader)
    changed = {name for name, weights in reader.named_parameters() if not torch.equal(weights, before[name])}
    own = {name for name in before if ".lora_" in name or not name.startswith("encoder.model.")}
    assert changed == own
    base = {
        name.replace(".base_layer", ""): w for name, w in reader.encoder.model.named_parameters() if "lora_" not in name
    }
    assert base.keys() == untouched.keys()
    assert all(torch.equal(weights, untouched[name]) for name, weights in base.items())
    # A saved reader holds what has learned, and answers the same on the encoder's own files.
    reader.save(tmp_path / "reader")
    assert tensor_names(tmp_path / "reader") == own
    assert Reader.parameter_count(tmp_path / "reader") == sum(weights.numel() for weights in reader.parameters())
    loaded, batch = Reader.load(tmp_path / "reader"), batch_of(reader)
    assert loaded.config == reader.config
    assert {name for name, weights in loaded.named_parameters() if weights.requires_grad} == own
    assert torch.equal(loaded(batch).scores, reader(batch).scores)
    assert not torch.allclose(fresh(batch).scores, reader(batch).scores, atol=1e-3)


def tensor_names(folder):
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "pt") as file:
        return set(file.keys())


@pytest.mark.parametrize("family", FAMILIES)
def test_merged_adapters_answer_alike_without_the_encoders_files(family, tmp_path):
    reader = train(adapted(source_of(family, tmp_path / "encoder"), dropout=0.1)).double()
    batch = batch_of(reader)
    before = reader(batch).scores
    reader.merge_adapters()
    assert reader.config.adapters is None
    torch.testing.assert_close(reader(batch).scores, before, rtol=0, atol=1e-9)
    reader.float().save(tmp_path / "merged")
    shutil.rmtree(tmp_path / "encoder")
    loaded = Reader.load(tmp_path / "merged")
    assert Reader.parameter_count(tmp_path / "merged") == sum(weights.numel() for weights in loaded.parameters())
    assert (
        loaded.state_dict().keys()
        == readers.build("duma", encoder=tiny.encoder(family), tag_embedding=True).state_dict().keys()
    )
    assert torch.equal(loaded(batch).scores, reader(batch).scores)
    assert all(weights.requires_grad for weights in loaded.parameters())


def test_an_update_is_the_product_of_two_narrow_matrices(tmp_path):
    """Hu et al. (2021), section 4.1: W + alpha / rank * B A, with B zero at first."""
    source = source_of("bert", tmp_path / "encoder")
    reader = adapted(source, rank=3, alpha=12.0, targets=("query", "value"))
    batch = batch_of(reader)
    fresh = readers.build("duma", encoder=source, dropout=0.0, tag_embedding=True)
    fresh.load_state_dict(
        {name.replace(".base_layer", ""): w for name, w in reader.state_dict().items() if "lora_" not in name}
    )
    assert torch.equal(reader(batch).scores, fresh(batch).scores)
    train(reader)
    weights = {name.removeprefix("encoder.model."): w for name, w in reader.state_dict().items()}
    down = {name for name in weights if ".lora_A." in name}
    assert {name.split(".")[-4] for name in down} == {"query", "value"} and len(down) == 4
    reader.merge_adapters()
    for name in down:
        layer = name.partition(".lora_A")[0]
        update = 4.0 * weights[name.replace("lora_A", "lora_B")] @ weights[name]
        assert torch.linalg.matrix_rank(update) == 3
        expected = weights[f"{layer}.base_layer.weight"] + update
        torch.testing.assert_close(reader.encoder.model.get_parameter(f"{layer}.weight"), expected)


def test_a_pooler_that_feeds_the_head_is_trained_whole(tmp_path):
    source = source_of("bert", tmp_path / "encoder")
    reader = readers.build("plain", encoder=source, dropout=0.0, pooling="cls_pooler")
    reader.add_adapters(source, rank=2, alpha=4.0)
    before = reader.encoder.model.pooler.dense.weight.clone()
    train(reader).save(tmp_path / "reader")
    assert not torch.equal(reader.encoder.model.pooler.dense.weight, before)
    batch = batch_of(reader)
    assert torch.equal(Reader.load(tmp_path / "reader")(batch).scores, reader(batch).scores)


def test_adapters_go_with_the_encoder_that_they_were_trained_on(tmp_path):
    source = source_of("bert", tmp_path / "encoder")
    adapted(source).save(tmp_path / "reader")
    torch.manual_seed(5)
    transformers.AutoModel.from_config(tiny.encoder("bert")).save_pretrained(source)
    with pytest.raises(CoattendError, match=r"reader: holds adapters of other weights than .*encoder' has now"):
        Reader.load(tmp_path / "reader")
    shutil.rmtree(source)
    with pytest.raises(
        CoattendError, match=r"reader: holds adapters of an encoder that cannot be loaded \(is no folder\)"
    ):
        Reader.load(tmp_path / "reader")


def test_a_target_that_no_layer_has_is_named_with_those_that_there_are(tmp_path):
    with pytest.raises(CoattendError) as refused:
        adapted(source_of("bert", tmp_path), targets=("quary",))
    assert str(refused.value) == (
        "training.lora.targets: no linear layer of the encoder is called 'quary'. Did you mean 'query'? "
        "Its linear layers: dense, key, query, value"
    )


def test_without_peft_the_error_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(CoattendError, match=r'training.lora: needs the package peft. pip install "coattend\[lora\]"'):
        adapted(source_of("bert", tmp_path))


@pytest.mark.parametrize("family", FAMILIES)
def test_gradient_checkpointing_computes_layers_again_and_changes_no_gradient(family, tmp_path):
    source, gradients, calls = source_of(family, tmp_path), [], []
    for again in (False, True):
        reader = adapted(source, dropout=0.1)
        if again:
            reader.encoder.checkpoint_gradients()
        adapters = [module for name, module in reader.named_modules() if name.endswith("lora_A.default")]
        calls.append([])
        for adapter in adapters:
            adapter.register_forward_hook(lambda *_, calls=calls[-1]: calls.append(1))
        torch.manual_seed(2)  # Of dropout, which is the same when a layer is computed again.
        reader.train()(batch_of(reader)).loss.backward()
        gradients.append({name: w.grad for name, w in reader.named_parameters() if w.requires_grad})
    assert len(calls[0]) < len(calls[1]) <= 2 * len(calls[0])
    assert sum(bool(gradient.any()) for name, gradient in gradients[0].items() if ".lora_B." in name) > 2
    for name, gradient in gradients[0].items():
        assert torch.equal(gradients[1][name], gradient), name
