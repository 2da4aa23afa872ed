"""The pipelines as kedro-viz draws them: boxes that can be read, layers, and nodes that are those of a run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from kedro.io import DataCatalog

from coattend import pipeline_registry
from coattend.errors import CoattendError
from coattend.pipelines import drawing
from coattend.pipelines.keys import entry_of

MOST_BOXES = 30
"""Boxes of the default pipeline at first."""
MOST_BOXES_ELSEWHERE = 45
LAYERS = ("files", "passages", "readers", "results")


@pytest.fixture(scope="module")
def registered():
    return pipeline_registry.register_pipelines()


@pytest.fixture(scope="module")
def pictures(registered):
    return pipeline_registry.pictures(registered)


def boxes(name, pipeline):
    """Names of what kedro-viz shows of a pipeline at first, by type: all its boxes are folded."""
    from kedro_viz.data_access.managers import DataAccessManager

    manager = DataAccessManager()
    manager.catalog.set_catalog(DataCatalog({}))
    manager.add_pipeline(name, pipeline)
    tree = manager.create_modular_pipelines_tree_for_registered_pipeline(name)
    nodes = [manager.nodes.get_node_by_id(child.id) for child in tree["__root__"].children]
    types = ("modularPipeline", "task", "data")
    return {type_: {node.name for node in nodes if node.type == type_} for type_ in types}


def test_the_default_pipeline_opens_with_a_box_for_each_stage_and_reader(pictures):
    shown = boxes("__default__", pictures["__default__"])
    stages = {"ingestion", "tagging", "tokenization", "evaluation", "comparison"}
    assert shown["modularPipeline"] == stages | set(pipeline_registry.DEFAULT_READERS)
    assert shown["task"] == set()
    assert {"sample.questions", "sample.poi_net.model", "sample.poi_net.metrics", "sample.results"} <= shown["data"]
    assert sum(map(len, shown.values())) <= MOST_BOXES


@pytest.mark.slow
def test_no_picture_opens_with_a_line_of_boxes(pictures):
    counts = {name: sum(map(len, boxes(name, pipeline).values())) for name, pipeline in pictures.items()}
    assert {name: count for name, count in counts.items() if count > MOST_BOXES_ELSEWHERE} == {}


def test_every_registered_pipeline_is_drawn_with_nodes_of_its_own(registered, pictures):
    assert registered.keys() <= pictures.keys()
    texts = {str(node): node for pipeline in registered.values() for node in pipeline.nodes}
    for name, picture in pictures.items():
        own = {node.name for node in registered[name.partition(".")[0]].nodes}
        for node in picture.nodes:
            assert node.name in own
            # kedro-viz finds the state of a run by the text of its nodes, and shows their code.
            assert node.func is texts[str(node)].func
            assert set(node.inputs) <= set(texts[str(node)].inputs)
            assert set(node.outputs) <= set(texts[str(node)].outputs)


def test_every_node_of_a_benchmark_or_study_is_in_one_of_its_pictures(registered, pictures):
    drawn = {}
    for name, picture in pictures.items():
        drawn.setdefault(name.partition(".")[0], set()).update(node.name for node in picture.nodes)
    for name in registered.keys() - set(pipeline_registry.STAGES):
        assert drawn[name] == {node.name for node in registered[name].nodes}, name


def test_a_large_study_has_a_picture_for_each_benchmark(pictures):
    def variants(name):
        return {node.name.split(".")[2] for node in pictures[name].nodes if "gpu" in node.tags}

    assert variants("study_grid_options") == {"dream"}
    assert variants("study_grid_options.sample") == {"sample"}
    assert "sample.questions" not in pictures["study_grid_options"].datasets()
    assert "study.grid_options.rows" in pictures["study_grid_options.sample"].outputs()


def test_a_stage_is_drawn_on_one_benchmark(pictures):
    assert {node.name for node in pictures["training"].nodes} == {
        f"sample.{reader}.train" for reader in pipeline_registry.DEFAULT_READERS
    }
    assert {node.name.partition(".")[0] for node in pictures["download"].nodes} == {"arc"}


def test_what_is_looked_up_is_not_drawn(pictures):
    drawn = {entry_of(dataset) for dataset in pictures["__default__"].datasets()}
    assert not drawn & drawing.ASIDE
    assert "answered_before" in drawn


def test_some_pictures_are_chosen_by_name(registered, monkeypatch):
    monkeypatch.setenv("COATTEND_PICTURES", "__default__,sample.span")
    assert list(pipeline_registry.pictures(registered)) == ["__default__", "sample.span"]
    monkeypatch.setenv("COATTEND_PICTURES", "drem")
    with pytest.raises(CoattendError, match="Did you mean 'dream'"):
        pipeline_registry.pictures(registered)


def test_the_guide_names_the_layers_from_top_to_bottom():
    guide = (Path(__file__).parents[2] / "docs/guides/kedro_viz.md").read_text()
    (line,) = (line for line in guide.splitlines() if "**Layers.**" in line)
    assert tuple(re.findall(r"`(\w+)`", line)) == LAYERS


@pytest.mark.slow
def test_only_kedro_viz_is_given_pictures(project):
    """A notebook imports its server, too, and runs pipelines."""
    code = """
from pathlib import Path
import kedro_viz.launchers.jupyter, kedro_viz.integrations.kedro.run_hooks
from kedro_viz.integrations.kedro.data_loader import load_data
from kedro.framework.project import configure_project, pipelines
configure_project("coattend")
print({type(node).__name__ for node in pipelines["__default__"].nodes})
print({type(node).__name__ for node in load_data(Path.cwd(), package_name="coattend")[1]["__default__"].nodes})
"""
    command = [sys.executable, "-c", code]
    completed = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    assert completed.stdout.splitlines()[-2:] == ["{'Node'}", "{'DrawnNode'}"]


@pytest.mark.slow
def test_a_site_has_layers_previews_and_commands_in_every_pipeline(kedro, sample_project):
    built = kedro("viz", "build", "--include-previews", environment={"KEDRO_ENV": "test"})
    assert built.returncode == 0, built.stdout + built.stderr
    api = sample_project / "build" / "api"
    for file in sorted((api / "pipelines").iterdir()):
        picture = json.loads(file.read_text())
        present = {node["layer"] for node in picture["nodes"] if node.get("layer")}
        drawn = [layer for layer in picture["layers"] if layer in present]
        assert drawn == [layer for layer in LAYERS if layer in present], file.name
        assert drawn, file.name
    default = json.loads((api / "pipelines" / "__default__").read_text())
    nodes = {
        node["name"]: json.loads((api / "nodes" / node["id"]).read_text())
        for node in default["nodes"]
        if node["type"] in ("task", "data")
    }
    assert len(nodes["sample.questions"]["preview"]["data"]) == 5
    assert nodes["train"]["preview"]["kind"] == "mermaid"
    assert "def compare(" in nodes["compare"]["code"]
    assert nodes["compare"]["run_command"] == "kedro run --to-nodes='sample.compare'"


@pytest.mark.slow
def test_a_site_of_some_pipelines_is_small(kedro, project):
    chosen = os.environ | {"COATTEND_PICTURES": "__default__,study_duma_table7"}
    built = kedro("viz", "build", "--include-previews", environment=chosen)
    assert built.returncode == 0, built.stdout + built.stderr
    files = [file for file in (project / "build").rglob("*") if file.is_file()]
    assert sorted(file.name for file in files if file.parent.name == "pipelines") == [
        "__default__",
        "study_duma_table7",
    ]
    # Kedro-Viz's own scripts are 10 MB of it.
    own = [file for file in files if Path("build", "assets") not in file.relative_to(project).parents]
    assert sum(file.stat().st_size for file in own) < 3_000_000
