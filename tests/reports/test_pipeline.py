"""The reporting pipeline, run by Kedro."""

from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline
from kedro.runner import SequentialRunner

from coattend.io.checked import JSONDataset, TableDataset, TextDataset
from coattend.pipelines.reporting import create_nodes


def test_names_follow_the_benchmark():
    pipeline = Pipeline(create_nodes("sample", ["plain", "duma"]))
    assert [node.name for node in pipeline.nodes] == ["sample.compare"]
    assert [node.namespace for node in pipeline.nodes] == ["sample"]
    assert pipeline.inputs() == {
        "params:benchmarks.sample",
        "sample.questions",
        "sample.rejected",
        "sample.plain.metrics",
        "sample.plain.predictions",
        "sample.duma.metrics",
        "sample.duma.predictions",
    }
    assert pipeline.outputs() == {"sample.results", "sample.page_markdown", "sample.page", "sample.chart"}


def test_readers_that_were_not_run_are_absent_files(tmp_path, node_inputs, benchmark_parameters):
    def missing_file(part):
        if part == "metrics":
            return JSONDataset(filepath=str(tmp_path / "absent.json"), optional=True)
        return TableDataset(filepath=str(tmp_path / "absent.parquet"), table="predictions", optional=True)

    catalog = DataCatalog(
        {
            "params:benchmarks.sample": MemoryDataset(benchmark_parameters),
            "sample.questions": MemoryDataset(node_inputs["questions"], copy_mode="assign"),
            "sample.rejected": MemoryDataset(node_inputs["rejected"], copy_mode="assign"),
            "sample.plain.metrics": MemoryDataset(node_inputs["plain.metrics"]),
            "sample.plain.predictions": MemoryDataset(node_inputs["plain.predictions"], copy_mode="assign"),
            "sample.duma.metrics": missing_file("metrics"),
            "sample.duma.predictions": missing_file("predictions"),
            "sample.results": JSONDataset(filepath=str(tmp_path / "results.json")),
            "sample.page": TextDataset(filepath=str(tmp_path / "index.html")),
            "sample.page_markdown": TextDataset(filepath=str(tmp_path / "results.md")),
        }
    )
    SequentialRunner().run(Pipeline(create_nodes("sample", ["plain", "duma"])), catalog)
    statuses = {name: entry["status"] for name, entry in catalog.load("sample.results")["readers"].items()}
    assert statuses == {"plain": "scored", "duma": "not run"}
    assert (tmp_path / "index.html").read_text().startswith("<!DOCTYPE html>")
    assert "Not run: duma" in (tmp_path / "results.md").read_text()
