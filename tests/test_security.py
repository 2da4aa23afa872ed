"""Nothing that is read runs as code: ruff's S and TID251 see most of it (pyproject.toml); here is what they do not."""

import ast
import inspect
import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from coattend.config import EncoderParameters, ReaderParameters
from coattend.errors import CoattendError

ROOT = Path(__file__).parents[1]


def calls_in(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {argument.arg: ast.unparse(argument.value) for argument in node.keywords}


def forbidden_calls(source, *, product):
    """Calls that compile code, unpack an archive, open a pickle or let an encoder's code in."""
    for name, keywords in calls_in(source):
        loads_auto_class = ".from_pretrained" in name and name.split(".")[-2].startswith("Auto")
        if (
            name in ("compile", "__import__")
            or name.endswith((".extract", ".extractall"))
            or keywords.get("allow_pickle", "False") != "False"
            or keywords.get("trust_remote_code", "False") != "False"
            or (product and loads_auto_class and "trust_remote_code" not in keywords)
        ):
            yield name


def test_no_call_runs_what_it_reads():
    for folder in ("src", "perf"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not list(forbidden_calls(file.read_text(), product=folder == "src")), file


FORBIDDEN = [
    "compile(text, 'a', 'exec')",
    "__import__(name)",
    "archive.extract('a')",
    "archive.extractall('a')",
    "np.load(file, allow_pickle=True)",
    "load(file, trust_remote_code=True)",
    "AutoModel.from_pretrained(folder)",
    "transformers.AutoModel.from_pretrained(folder, trust_remote_code=trusted)",
]


def test_such_calls_are_noticed(subtests):
    for call in FORBIDDEN:
        with subtests.test(call=call):
            assert list(forbidden_calls(call, product=True))


def test_the_loader_of_yaml_is_a_safe_one():
    import yaml

    from coattend.config.yaml import LOADER

    assert LOADER in (yaml.SafeLoader, yaml.CSafeLoader)


def test_the_trainer_opens_its_own_state_by_weights_only():
    """Read off the installed transformers: optimizer, schedule, random state and weights."""
    from transformers import trainer

    loads = [keywords for name, keywords in calls_in(inspect.getsource(trainer)) if name == "torch.load"]
    assert loads
    assert all(keywords.get("weights_only") == "True" for keywords in loads)


@pytest.mark.parametrize("field", ["trust_remote_code", "use_safetensors", "revision_code"])
def test_no_parameter_lets_others_code_in(field):
    with pytest.raises(ValidationError, match="Extra inputs"):
        EncoderParameters.model_validate({"source": "embedded", field: True})
    with pytest.raises(ValidationError):
        ReaderParameters.model_validate({"name": "plain", "reader": "plain", "encoder": {"source": "x", field: True}})


def test_an_encoder_that_brings_code_of_its_own_does_not_run_it(tmp_path):
    from coattend.readers.encoders.pretrained import load_model

    config = {"model_type": "stranger", "auto_map": {"AutoConfig": "stranger.Config", "AutoModel": "stranger.Model"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "stranger.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(CoattendError):
        load_model(tmp_path, dropout=None, pooler=False)
    assert not (tmp_path / "ran").exists()


def test_an_encoder_with_pickled_weights_alone_is_refused(tmp_path):
    import torch
    from transformers import BertConfig, BertModel

    from coattend.readers.encoders.pretrained import load_model

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = BertModel(BertConfig(vocab_size=30, **sizes))
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(CoattendError):
        load_model(tmp_path, dropout=None, pooler=False)
    model.save_pretrained(tmp_path)
    assert load_model(tmp_path, dropout=None, pooler=False) is not None
