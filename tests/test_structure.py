"""The house keeps its shape: imports run down, catalog names match their patterns, names come without torch."""

import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import get_type_hints

import pytest
import yaml
from kedro.pipeline import Pipeline
from kedro.validation.type_extractor import TypeExtractor

from coattend.config import BenchmarkParameters, EncoderParameters, ReaderParameters
from coattend.pipeline_registry import register_pipelines

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def pipelines():
    return register_pipelines()


def catalog_patterns():
    files = sorted((ROOT / "conf" / "base").glob("catalog*.yml"))
    return [name for file in files for name in yaml.safe_load(file.read_text())]


def matching(name, patterns):
    return [p for p in patterns if re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(p)), name)]


def test_what_is_mutated_and_tested_for_it_exists():
    mutation = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    paths = [*mutation["only_mutate"], *mutation["pytest_add_cli_args_test_selection"]]
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_imports_run_down():
    completed = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stdout


def test_every_dataset_has_a_pattern_of_as_many_parts(pipelines):
    patterns = catalog_patterns()
    datasets = {name for pipeline in pipelines.values() for name in pipeline.datasets() if "params:" not in name}
    for name in datasets:
        same = [p for p in matching(name, patterns) if p.count(".") == name.count(".")]
        assert len(same) == 1, f"{name}: {same}"
        assert matching(name, patterns)[0] == same[0] or len(matching(name, patterns)) == 1


LAYERS = ("files", "passages", "readers", "results")


def test_data_runs_down_the_layers(pipelines):
    """kedro-viz draws no layers at all where one dataset stands above another that it is made from."""
    files = (ROOT / "conf" / "base").glob("catalog*.yml")
    entries = {name: entry for file in files for name, entry in yaml.safe_load(file.read_text()).items()}

    @cache
    def layer(name):
        patterns = [pattern for pattern in matching(name, tuple(entries)) if pattern.count(".") == name.count(".")]
        metadata = entries[patterns[0]].get("metadata", {}).get("kedro-viz", {}) if patterns else {}
        return LAYERS.index(metadata["layer"]) if "layer" in metadata else None

    for node in {node for pipeline in pipelines.values() for node in pipeline.nodes}:
        above, below = (
            [layer(name) for name in names if "params:" not in name] for names in (node.inputs, node.outputs)
        )
        if any(level is not None for level in above) and any(level is not None for level in below):
            lowest, highest = (
                extreme(p for p in levels if p is not None) for extreme, levels in ((max, above), (min, below))
            )
            assert lowest <= highest, node.name


def test_every_stage_and_benchmark_is_a_pipeline(pipelines):
    stages = {"ingestion", "tagging", "tokenization", "training", "evaluation", "reporting"}
    assert stages | {"sample", "dream", "__default__"} <= set(pipelines)
    for benchmark in ("sample", "dream"):
        assert f"{benchmark}.results" in pipelines[benchmark].outputs()


def test_nodes_stand_in_their_namespaces(pipelines):
    names = {node.name for node in pipelines["dream"].nodes}
    assert {"dream.ingest", "dream.poi_net.train", "dream.poi_net.predict", "dream.poi_net.score"} <= names
    assert all("gpu" in node.tags for node in pipelines["training"].nodes)


def test_kedro_can_read_the_types_of_every_node(pipelines):
    """It warns of those that it cannot, in every run."""
    for function in {node.func for pipeline in pipelines.values() for node in pipeline.nodes}:
        assert "return" in get_type_hints(getattr(function, "func", function))


def test_kedro_validates_the_parameters_of_nodes(pipelines):
    types = TypeExtractor(pipelines).extract_types_from_pipelines()
    for name in {name for pipeline in pipelines.values() for name in pipeline.inputs() if name.startswith("params:")}:
        folder, _, entry = name.removeprefix("params:").partition(".")
        expected = {"benchmarks": BenchmarkParameters, "readers": ReaderParameters, "encoders": EncoderParameters}
        if entry and folder in expected:
            assert types[f"{folder}.{entry}"] is expected[folder], name


def test_readers_stand_only_where_they_can_answer(pipelines):
    names = {node.name for node in pipelines["training"].nodes}
    assert "sample.poi_net_span.train" in names
    assert "dream.poi_net_span.train" not in names


def test_ranking_again_is_run_on_request_where_words_are_missing(pipelines):
    names = {node.name for node in pipelines["reranking"].nodes}
    assert "cbt.plain.rerank" in names
    assert not {"sample.plain.rerank", "dream.plain.rerank"} & names
    assert not names & {node.name for name in ("cbt", "__default__") for node in pipelines[name].nodes}


def test_registration_and_hooks_import_nothing_slow_and_registration_warns_of_nothing():
    """Filters of warnings that the import set may be gone."""
    code = (
        "import sys, warnings; from coattend import pipeline_registry; warnings.resetwarnings(); "
        "warnings.simplefilter('error'); pipeline_registry.register_pipelines(); "
        "print(sorted({'torch', 'transformers', 'nltk', 'mlflow', 'plotly', 'pandas', 'pyarrow'} & set(sys.modules))); "
        "warnings.resetwarnings(); import coattend.hooks, coattend.tracking; "
        "print(sorted({'torch', 'mlflow', 'nltk', 'pandas'} & set(sys.modules)))"
    )
    completed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.split("\n") == ["[]", "[]", ""]


@pytest.mark.slow
def test_listing_datasets_warns_of_no_validator(kedro):
    listed = kedro("catalog", "describe-datasets", "--pipeline", "tagging")
    assert "sample.texts" in listed.stdout
    assert "WARNING" not in listed.stdout + listed.stderr


def test_pipelines_are_kedros_own(pipelines):
    assert {type(pipeline) for pipeline in pipelines.values()} == {Pipeline}


def test_kedro_viz_can_read_the_sizes_of_files(tmp_path):
    from kedro_viz.integrations.kedro.hooks_utils import compute_size

    from coattend.io.checked import JSONDataset, TextDataset

    datasets = {
        "metrics": JSONDataset(filepath=str(tmp_path / "a.json")),
        "page": TextDataset(filepath=f"{tmp_path}/b"),
    }
    for name, value in {"metrics": {"accuracy": 50}, "page": "text"}.items():
        datasets[name].save(value)
        assert compute_size(name, datasets) > 0
