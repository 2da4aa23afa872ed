"""What is wrong with a file of configuration is said in one line, with the file and line that have it."""

from pathlib import Path

import pytest
import yaml

from coattend.config.loader import ConfigLoader
from coattend.errors import CoattendError

ROOT = Path(__file__).parents[2]
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
        (
            "local/parameters.yml",
            "engine:\n  kind: dusk",
            r"local/parameters.yml, line 2, engine.kind: Input should be",
        ),
        (
            "local/parameters.yml",
            "encoders:\n  minilm:\n    sorce: x",
            r"line 3, encoders.minilm.sorce: there .*'source'",
        ),
        (
            "local/parameters.yml",
            "readers:\n  plain:\n    training:",
            r"line 3, readers.plain.training: Input should be",
        ),
        ("local/parameters.yml", "readers:\n  plan: {}", r"line 2, readers.plan: .* A new one belongs in .*conf/base"),
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


def test_what_decides_on_nodes_is_refused_outside_of_the_base_environment(load):
    refused = "decides which nodes there are, .* Write it in .*conf/base"
    with pytest.raises(CoattendError, match=rf"local/parameters.yml, line 3, readers.plain.benchmarks: {refused}"):
        load("local/parameters.yml", "readers:\n  plain:\n    benchmarks: [race]")
    with pytest.raises(CoattendError, match=rf"^--params readers.plain.benchmarks: {refused}"):
        load(readers={"plain": {"benchmarks": ["race"]}})
    load(readers={"plain": {"benchmarks": None}})  # As it is.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("readers:\n  mine:\n    reader: poinet", r"line 3, readers.mine.reader: .* Did you mean 'poi_net'\?"),
        ("readers:\n  mine: { reader: plain, encoder: mini }", r"readers.mine.encoder: there is no encoder 'mini'"),
        ("readers:\n  mine: { reader: plain, tagging: pen }", r"readers.mine.tagging: .* Did you mean 'penn'\?"),
        ("benchmarks:\n  mine: { tagging: jeiba }", r"benchmarks.mine.tagging: there is no tagging 'jeiba'"),
        ("benchmarks:\n  mine:\n    readers: [plain, plian]", r"line 3, .*no reader 'plian'. Did you mean 'plain'\?"),
        (
            "benchmarks:\n  mine:\n    title: Mine\n    tasks: [options]\n    sources:\n      - format: feilds\n"
            "        folder: mine\n        files: { train: [a.json] }\n"
            "        fields: { question: ask, answer: key, answer_is: yes_no }",
            r"line 6, benchmarks.mine.sources.0: the block `fields` needs format: fields, and the format is 'feilds'",
        ),
        ("readers:\n  mine: { reader: plain }\n  training: { epochs: 1 }", r"readers.training.reader: .* Indent it"),
    ],
)
def test_what_an_entry_names_wrongly_is_found_in_its_file(load, text, message):
    with pytest.raises(CoattendError, match=rf"base/parameters_mine.yml, .*{message}"):
        load("base/parameters_mine.yml", text)


@pytest.mark.parametrize(
    ("file", "text", "cure"),
    [
        # New entries are declared in the base environment, others are changed in each.
        (
            "local/readers/mine.yml",
            "mine: { reader: plain }",
            "move it to local/parameters/readers/mine.yml, or new entries to base/parameters/readers/mine.yml, "
            "below the key 'readers'",
        ),
        ("base/readers/mine.yml", "readers: {}", "move it to base/parameters/readers/mine.yml"),
        ("local/mine.yml", "engine: { kind: local }", "move it to local/parameters/mine.yml, or new entries to base/"),
        ("parameters.yml", "engine: { kind: local }", "move it to local/parameters.yml, or new entries to base/"),
        ("local/studies/mine.yml", "paper: {}\nstudies: {}", "Studies are read from base/studies, .*: move it there"),
        ("local/studies/mine.yml", "# Nothing yet", "Studies are read from base/studies, .*: move it there"),
        ("local/studies/mine.yml", "studies: {}", "move it to local/parameters/studies/mine.yml"),
        ("local/globals.yaml", "results: elsewhere", "Globals are read from local/globals.yml"),
        ("local/benchmarks/globals.yml", "", "Globals are read from local/globals.yml"),
    ],
)
def test_a_file_that_nothing_reads_is_refused_with_the_path_that_is_read(load, file, text, cure):
    with pytest.raises(CoattendError, match=rf"conf/{file}: is not read\. .*{cure}"):
        load(file, text)


def test_an_unread_file_of_another_tool_is_warned_of(load, caplog):
    for file in ("local/spark.yml", "local/.hidden.yml", "logging.yml", "quick/readers/mine.yml"):
        load(file, "a: ]")
    (warning,) = {record.message for record in caplog.records}
    assert "conf/local/spark.yml is not read: its name matches none of **/catalog*, " in warning


MINE = "mine: { type: json.JSONDataset, filepath: '${globals:bucket.name}/mine.json' }"
"""An entry of a catalog that reads a global of its own."""


@pytest.mark.parametrize(
    ("env", "text", "message"),
    [
        (None, "tables: data\nreslts: elsewhere", r"local/globals.yml, line 2, reslts: .* Did you mean 'results'\?"),
        ("quick", "buckt: { name: elsewhere }", r"quick/globals.yml, line 1, buckt: .* Did you mean 'bucket'\?"),
    ],
)
def test_a_global_that_nothing_reads_is_refused_with_the_nearest(load, env, text, message):
    load("base/catalog.yml", MINE)
    with pytest.raises(CoattendError, match=message):
        load(f"{env or 'local'}/globals.yml", text, env=env)


def test_a_global_that_a_file_reads_is_ones_own(load):
    load("base/catalog.yml", MINE)
    assert load("local/globals.yml", "bucket: { name: elsewhere }\n_anchor: 1", key="globals")["bucket"]


def test_globals_of_the_catalog_need_no_other_file_that_reads_them(load):
    for name in yaml.safe_load((ROOT / "conf/base/globals.yml").read_text()):
        assert load("local/globals.yml", f"{name}: elsewhere", key="globals")[name] == "elsewhere"
