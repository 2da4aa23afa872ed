"""The house keeps its shape: imports run down, catalog names match their patterns, names come without torch."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import get_type_hints

import pytest
import yaml

from coattend.pipeline_registry import register_pipelines

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def pipelines():
    return register_pipelines()


def catalog_patterns():
    files = sorted((ROOT / "conf" / "base" / "catalog").glob("*.yml"))
    return [name for file in files for name in yaml.safe_load(file.read_text())]


def matching(name, patterns):
    return [p for p in patterns if re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(p)), name)]


def test_imports_run_down():
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_every_dataset_has_a_pattern_of_as_many_parts(pipelines):
    patterns = catalog_patterns()
    datasets = {name for pipeline in pipelines.values() for name in pipeline.datasets() if "params:" not in name}
    for name in datasets:
        same = [p for p in matching(name, patterns) if p.count(".") == name.count(".")]
        assert len(same) == 1, f"{name}: {same}"
        assert matching(name, patterns)[0] == same[0] or len(matching(name, patterns)) == 1


LAYERS = ("raw", "intermediate", "primary", "feature", "model_input", "models", "model_output", "reporting")


def test_data_runs_down_the_layers(pipelines):
    """kedro-viz draws no layers at all where one dataset stands above another that it is made from."""
    files = (ROOT / "conf" / "base" / "catalog").glob("*.yml")
    entries = {name: entry for file in files for name, entry in yaml.safe_load(file.read_text()).items()}

    @cache
    def layer(name):
        found = [one for one in matching(name, tuple(entries)) if one.count(".") == name.count(".")]
        shown = entries[found[0]].get("metadata", {}).get("kedro-viz", {}) if found else {}
        return LAYERS.index(shown["layer"]) if "layer" in shown else None

    for node in {node for pipeline in pipelines.values() for node in pipeline.nodes}:
        above, below = (
            [layer(name) for name in names if "params:" not in name] for names in (node.inputs, node.outputs)
        )
        if any(place is not None for place in above) and any(place is not None for place in below):
            lowest, highest = (
                kind(p for p in places if p is not None) for kind, places in ((max, above), (min, below))
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


def test_readers_stand_only_where_they_can_answer(pipelines):
    names = {node.name for node in pipelines["training"].nodes}
    assert "sample.poi_net_span.train" in names
    assert "dream.poi_net_span.train" not in names


def test_ranking_again_is_run_on_request_where_words_are_missing(pipelines):
    names = {node.name for node in pipelines["reranking"].nodes}
    assert "cbt.plain.rerank" in names
    assert not {"sample.plain.rerank", "dream.plain.rerank"} & names
    assert not names & {node.name for name in ("cbt", "__default__") for node in pipelines[name].nodes}


def test_registration_imports_nothing_heavy():
    code = (
        "import sys; from coattend.pipeline_registry import register_pipelines; register_pipelines(); "
        "print(sorted({'torch', 'transformers', 'nltk', 'mlflow', 'plotly', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_stage_is_put_together_without_the_others():
    code = (
        "import sys; from coattend.pipeline_registry import register_pipelines; "
        "assert register_pipelines()['ingestion'].nodes; "
        "print(sorted(name for name in sys.modules if name.startswith('coattend.pipelines.') and name.count('.') == 2))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['coattend.pipelines.ingestion', 'coattend.pipelines.shards']"


def test_hooks_import_nothing_that_is_slow():
    code = (
        "import sys, coattend.hooks, coattend.tracking; print(sorted({'torch', 'mlflow', 'nltk'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
