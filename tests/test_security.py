"""What the code never does, read off its syntax; and that others' code and pickles are not opened."""

import ast
import inspect
import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from coattend.errors import CoattendError
from coattend.parameters import EncoderParameters, ReaderParameters

ROOT = Path(__file__).parents[1]
FILES = sorted(file for folder in ("src", "perf", "fuzz") for file in (ROOT / folder).rglob("*.py"))
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "jsonpickle"}
FORBIDDEN = {
    *("eval", "exec", "compile", "__import__"),
    *("os.system", "os.popen", "os.execv", "os.execve", "os.spawnv", "subprocess.getoutput"),
    *("subprocess.getstatusoutput", "pd.read_pickle", "pandas.read_pickle", "tempfile.mktemp"),
    *("yaml.unsafe_load", "yaml.full_load", "yaml.load_all", "yaml.unsafe_load_all", "tarfile.extractall"),
}
DASK = "src/coattend/engines/dask.py"
"""Sends a node's function to a cluster's workers as Dask sends everything: docs/security.md says who may reach them."""


def calls(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {one.arg: ast.unparse(one.value) for one in node.keywords}, node


def imported(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_nothing_that_runs_what_it_reads(file):
    parts = {part for name in imported(file) for part in name.split(".")}
    if str(file.relative_to(ROOT)) != DASK:
        assert not parts & PICKLES
    for name, given, node in calls(file):
        assert name not in FORBIDDEN, f"line {node.lineno}: {name}"
        assert not name.endswith((".extractall", ".extract")), f"line {node.lineno}: {name} writes what archives name"
        assert given.get("shell", "False") == "False", f"line {node.lineno}: a shell"
        assert given.get("allow_pickle", "False") == "False", f"line {node.lineno}: a pickle"
        if name == "torch.load":
            assert given.get("weights_only") == "True", f"line {node.lineno}: a pickle"
        if name == "yaml.load":
            assert given.get("Loader") in ("LOADER", "yaml.SafeLoader", "yaml.CSafeLoader"), f"line {node.lineno}"
        if name.endswith(".from_pretrained") and name.split(".")[-2].startswith("Auto") and "src" in file.parts:
            assert given.get("trust_remote_code") == "False", f"line {node.lineno}: others' code"
        assert given.get("trust_remote_code", "False") == "False", f"line {node.lineno}: others' code"


def test_the_loader_of_yaml_is_a_safe_one():
    import yaml

    from coattend.yaml_lines import LOADER

    assert LOADER in (yaml.SafeLoader, yaml.CSafeLoader)


def test_the_trainer_opens_its_own_state_by_weights_only():
    """Read off the installed transformers: optimizer, schedule, random state and weights."""
    from transformers import trainer

    found = [call for call in ast.walk(ast.parse(inspect.getsource(trainer))) if isinstance(call, ast.Call)]
    loads = [call for call in found if ast.unparse(call.func) == "torch.load"]
    assert loads
    for call in loads:
        assert {one.arg: ast.unparse(one.value) for one in call.keywords}.get("weights_only") == "True"


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
