"""The reporting pipeline, run by Kedro."""

import pyarrow.dataset as pads
import pytest
from kedro.framework.project import pipelines as registry
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline
from kedro.runner import SequentialRunner

from coattend.checks import check_waits
from coattend.config import entries
from coattend.errors import CoattendError
from coattend.io.checked import JSONDataset, TableDataset, TextDataset
from coattend.io.table_store import StoredAnswersDataset
from coattend.pipeline_registry import DEFAULT_READERS, register_pipelines
from coattend.pipelines.reporting import create_nodes
from coattend.schemas import PASSAGES


def test_names_follow_the_benchmark():
    pipeline = Pipeline(create_nodes("sample", ["plain", "duma"]))
    assert [node.name for node in pipeline.nodes] == ["sample.compare"]
    assert [node.namespace for node in pipeline.nodes] == ["sample"]
    assert pipeline.inputs() == {
        "params:benchmarks.sample",
        "sample.questions",
        "sample.passages",
        "sample.rejected",
        "sample.answered_before",
        "sample.plain.metrics",
        "sample.duma.metrics",
    }
    assert pipeline.outputs() == {"sample.results", "sample.page_markdown", "sample.page", "sample.chart"}


def test_readers_of_earlier_runs_are_looked_up(tmp_path, node_inputs, benchmark_parameters):
    for reader in ("plain", "poi_net"):
        folder = tmp_path / "answers" / reader
        JSONDataset(filepath=str(folder / "metrics.json")).save(node_inputs[f"{reader}.metrics"])
        predictions = TableDataset(filepath=str(folder / "predictions.parquet"), table="predictions")
        predictions.save(node_inputs[f"{reader}.predictions"].to_table())
    catalog = DataCatalog(
        {
            "params:benchmarks.sample": MemoryDataset(benchmark_parameters),
            "sample.questions": MemoryDataset(node_inputs["questions"], copy_mode="assign"),
            "sample.passages": MemoryDataset(pads.dataset(PASSAGES.empty_table()), copy_mode="assign"),
            "sample.rejected": MemoryDataset(node_inputs["rejected"], copy_mode="assign"),
            "sample.answered_before": StoredAnswersDataset(filepath=str(tmp_path / "answers")),
            "sample.plain.metrics": MemoryDataset(node_inputs["plain.metrics"]),
            "sample.results": JSONDataset(filepath=str(tmp_path / "results.json")),
            "sample.page": TextDataset(filepath=str(tmp_path / "index.html")),
            "sample.page_markdown": TextDataset(filepath=str(tmp_path / "results.md")),
        }
    )
    SequentialRunner().run(Pipeline(create_nodes("sample", ["plain"])), catalog)
    results = catalog.load("sample.results")
    statuses = {name: entry["status"] for name, entry in results["readers"].items()}
    assert statuses == dict.fromkeys(entries.readers_of("sample"), "not run") | {"plain": "scored", "poi_net": "scored"}
    assert {difference["reader"] for difference in results["differences"]} == {"poi_net"}
    assert (tmp_path / "index.html").read_text().startswith("<!DOCTYPE html>")
    assert "duma" in (tmp_path / "results.md").read_text()


@pytest.fixture(scope="module")
def registered():
    return register_pipelines()


def inputs_of(pipelines, name, node_name):
    (node,) = (node for node in pipelines[name].nodes if node.name == node_name)
    return set(node.inputs)


@pytest.fixture
def request_pipelines():
    """Ask for pipelines as a run does, and return all as they are registered for it."""

    def request(*names):
        registry.set_requested(list(names))
        return register_pipelines()

    yield request
    registry.set_requested(None)


def test_a_comparison_reads_the_readers_of_its_pipeline(registered, request_pipelines):
    def compared(pipelines, name):
        inputs = inputs_of(pipelines, name, "sample.compare")
        return {entry.split(".")[1] for entry in inputs if entry.endswith(".metrics")}

    assert compared(registered, "__default__") == set(DEFAULT_READERS)
    assert compared(registered, "sample") == set(entries.readers_of("sample"))
    assert compared(registered, "reporting") == set()
    # In a run of both stages it has to wait for what is scored.
    together = request_pipelines("evaluation", "reporting")
    assert compared(together, "reporting") == set(entries.readers_of("sample"))
    together = request_pipelines("__default__", "reporting")
    assert compared(together, "reporting") == compared(together, "__default__") == set(DEFAULT_READERS)


def test_the_page_of_all_studies_waits_for_those_of_the_same_run(registered, request_pipelines):
    assert inputs_of(registered, "results", "collect") == {"studied_before"}
    together = request_pipelines("results", "study_duma_table7", "study_aoa_ensembles_cbt")
    assert inputs_of(together, "results", "collect") == {
        "studied_before",
        "study.duma_table7.findings",
        "study.aoa_ensembles_cbt_cn.findings",
        "study.aoa_ensembles_cbt_ne.findings",
    }


def test_a_comparison_that_would_not_wait_is_refused(registered):
    check_waits(registered["__default__"])
    check_waits(registered["dream"])
    together = registered["evaluation"] + registered["reporting"]
    with pytest.raises(CoattendError, match=r"\.compare: would not wait for \S+\.metrics, .* after the others"):
        check_waits(together)
    with pytest.raises(CoattendError, match=r"would not wait for study\.duma_table7\.findings"):
        check_waits(registered["results"] + registered["study_duma_table7"])


@pytest.mark.parametrize(
    ("looks", "writes", "awaited"),
    [
        ("champion", "evaluation", r"dream\.crown: would not wait for dream\.\w+\.metrics"),
        ("trials", "training", r"list_trials: would not wait for \S+\.model"),
        ("trials", "study_duma_table7", r"list_trials: would not wait for \S+\.outcome"),
        ("prediction", "evaluation", r"prediction\.answer: would not wait for \S+\.metrics"),
    ],
)
def test_a_store_that_the_same_run_fills_is_not_looked_at_before(registered, looks, writes, awaited):
    looked_at = registered[looks].filter(node_namespaces=["dream"]) if looks == "champion" else registered[looks]
    check_waits(registered["ingestion"] + looked_at)
    with pytest.raises(CoattendError, match=awaited):
        check_waits(registered[writes] + looked_at)


def test_the_champion_of_one_benchmark_does_not_wait_for_another(registered):
    check_waits(registered["champion"].filter(node_namespaces=["dream"]) + registered["race"])


def test_benchmarks_whose_names_begin_alike_are_compared_in_one_run(registered):
    check_waits(registered["race"] + registered["race_c"])
    check_waits(registered["sample"] + registered["sample_news"])


def test_no_node_has_dozens_of_inputs_that_its_pipeline_does_not_make(registered):
    for pipeline in registered.values():
        for node in pipeline.nodes:
            free = [name for name in set(node.inputs) & pipeline.inputs() if not name.startswith("params:")]
            assert len(free) <= 12, node.name
