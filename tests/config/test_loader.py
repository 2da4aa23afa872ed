"""What is wrong with a file of configuration is said in one line, with the file and line that have it."""

import pytest

from coattend.config.loader import ConfigLoader
from coattend.errors import CoattendError

BASE = "encoders: { minilm: {} }\ntaggings: { penn: {} }\nreaders: { plain: { tagging: penn } }\n"


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Loads the parameters of a small project with another file in it."""
    monkeypatch.chdir(tmp_path)

    def load(file="base/parameters.yml", text=BASE, env=None, key="parameters", **params):
        for name, content in {"base/parameters.yml": BASE, "local/credentials.yml": "", file: text}.items():
            (tmp_path / "conf" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "conf" / name).write_text(content)
        loader = ConfigLoader("conf", env=env, runtime_params=params, base_env="base", default_run_env="local")
        return loader[key]

    return load


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("base/parameters/readers/mine.yml", "readers:\n  mine: ]", r"/mine.yml, line 2: is not YAML"),
        ("local/parameters_mine.yml", "readers:\n  a: {}\n b: {}", r"/parameters_mine.yml, line 3: is not YAML"),
        ("local/parameters.yml", "readers:\n\ta: {}", r"line 2: is not YAML .* Indent with spaces, not with tabs"),
        ("local/parameters.yml", "- plain", r"local/parameters.yml.* must be a mapping"),
        ("local/parameters.yml", "plain text", r"local/parameters.yml, line 1, 'plain text': there is no such"),
        ("local/parameters.yml", "readers: [plain]", r"parameters.yml, line 1, readers: must be a mapping of names"),
        ("local/parameters.yml", "readers:\n  plain: max", r"line 2, readers.plain: must be a mapping of fields"),
        ("base/parameters_a.yml", "\nbenchmark: {}", r"_a.yml, line 2, benchmark: .* Did you mean 'benchmarks'\?"),
        ("local/parameters_a.yml", "trackng: {}", r"_a.yml, line 1, trackng: .* Did you mean 'tracking'\?"),
        ("local/parameters_a.yml", "training: {}", r"training: .* Say whose: benchmarks.<name>.training"),
        ("local/parameters_a.yml", "engine:\n  kind: ${globals:a}", r"Globals key 'a' not found"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(load, file, text, message):
    with pytest.raises(CoattendError, match=message) as error:
        load(file, text)
    assert "\n" not in error.value.message


@pytest.mark.parametrize("file", ["globals.yml", "credentials.yml", "catalog.yml"])
def test_a_broken_file_of_any_kind_is_named(load, file):
    with pytest.raises(CoattendError, match=rf"quick/{file}, line 1: is not YAML"):
        load(f"quick/{file}", "a: ]", env="quick", key=file.removesuffix(".yml"))


def test_a_files_own_anchors_are_no_parameters(load):
    assert "plain" in load("local/parameters_a.yml", "_rate: &rate 1.0\nengine: { kind: local }")["readers"]


def test_a_block_of_params_is_named_by_its_option(load):
    with pytest.raises(CoattendError, match=r"^--params readers: must be a block of entries"):
        load(readers={"plain": "max"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("readers:\n  mine:\n    reader: poinet", r"line 3, readers.mine.reader: .* Did you mean 'poi_net'\?"),
        ("readers:\n  mine: { reader: plain, encoder: mini }", r"readers.mine.encoder: there is no encoder 'mini'"),
        ("readers:\n  mine: { reader: plain, tagging: pen }", r"readers.mine.tagging: .* Did you mean 'penn'\?"),
        ("readers:\n  mine: { reader: plain }\n  training: { epochs: 1 }", r"readers.training.reader: .* Indent it"),
    ],
)
def test_what_an_entry_names_wrongly_is_found_in_its_file(load, text, message):
    with pytest.raises(CoattendError, match=rf"base/parameters_mine.yml, .*{message}"):
        load("base/parameters_mine.yml", text)
