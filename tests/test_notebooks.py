"""The notebooks run in a fresh project with the sample alone, and are kept without what they print."""

import ast
import json
import re
import shutil
from collections import Counter
from importlib import import_module
from pathlib import Path

import nbformat
import pyarrow.parquet as pq
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from scipy.stats import binomtest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
FIGURE = "application/vnd.plotly.v1+json"
ABSOLUTE = re.compile(r"""(^|[\s"'`(=])(/|~/|file:|[A-Z]:\\)\w""")


def notebook_of(name: str) -> NotebookNode:
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def code_of(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture
def execute(project, monkeypatch, tmp_path):
    """Runs a notebook as Jupyter does, in a kernel whose working folder is the notebook's."""
    monkeypatch.setenv("KEDRO_ENV", "test")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shutil.copytree(ROOT / "notebooks", project / "notebooks")

    def run(notebook: NotebookNode, folder: str = "notebooks") -> NotebookNode:
        resources = {"metadata": {"path": str(project / folder)}}
        return NotebookClient(notebook, kernel_name="python3", timeout=600, resources=resources).execute()

    return run


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in code_of(notebook) for output in cell.outputs]


def printed(notebook: NotebookNode) -> str:
    """Return printed output and results of the cells as text, without terminal colours."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs(notebook)]
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(texts))


def figures(notebook: NotebookNode) -> list[dict]:
    return [output.data[FIGURE] for output in outputs(notebook) if FIGURE in output.get("data", {})]


def test_there_are_three():
    assert NOTEBOOKS == ["add_a_reader", "compare_two_readers", "explore_a_benchmark"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_output_and_no_path_of_a_machine_is_kept(name):
    notebook = notebook_of(name)
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in code_of(notebook))
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert not ABSOLUTE.search(cell.source), cell.source


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_cells_are_python_and_import_what_exists(name):
    for cell in code_of(notebook_of(name)):
        for node in ast.walk(ast.parse(TransformerManager().transform_cell(cell.source))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("coattend"):
                module = import_module(node.module)
                for alias in node.names:
                    assert hasattr(module, alias.name) or import_module(f"{node.module}.{alias.name}"), cell.source


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["notebooks", "."])
def test_a_benchmark_is_explored_wherever_jupyter_was_started(execute, project, folder):
    executed = execute(notebook_of("explore_a_benchmark"), folder)
    (box,) = figures(executed)
    assert {trace["type"] for trace in box["data"]} == {"box"}
    assert "max_length: 256" in printed(executed)
    assert (project / "data" / "test" / "05_model_input" / "sample").is_dir()
    # The benchmark that the notebook adds is read, and its file is gone.
    assert re.search(r"l1-2 +dev +What did Anna sell\? +\[A boat\., A bicycle\.\] +0", printed(executed))
    assert not (project / "conf/base/parameters/benchmarks/lessons.yml").exists()
    assert sorted(path.stem for path in (project / "notebooks").iterdir()) == NOTEBOOKS


@pytest.mark.slow
def test_two_readers_are_compared(execute, project):
    executed = execute(notebook_of("compare_two_readers"))
    reports = project / "data" / "test" / "08_reporting"
    results = json.loads((reports / "sample" / "results.json").read_text())
    assert {name for name, reader in results["readers"].items() if reader["status"] == "scored"} == {"plain", "poi_net"}
    (difference,) = results["differences"]
    (compared,) = (reports / "compare").glob("*_*/questions.parquet")
    winners = Counter(pq.read_table(compared)["winner"].to_pylist())
    apart = winners["left"] + winners["right"]
    assert f"p = {binomtest(winners['left'], apart).pvalue if apart else 1:.3f}" in printed(executed)
    assert re.search(rf"poi_net +plain +accuracy +{round(difference['mean'], 3)}\b", printed(executed))
    assert len(figures(executed)) == 1
    assert len(list((reports / "compare").glob("*_*/index.html"))) == 1
    assert (project / "mlflow.db").is_file()
    assert sorted(path.stem for path in (project / "notebooks").iterdir()) == NOTEBOOKS


@pytest.mark.slow
def test_a_reader_is_added_and_changed(execute, project):
    notebook = notebook_of("add_a_reader")
    notebook.cells += [
        new_code_cell("%reload_kedro --params=readers.look_once.sharpness=3"),
        new_code_cell('session.run(pipeline_names=["training"], namespaces=["sample.look_once"]);'),
        new_code_cell("print(folder)"),
    ]
    executed = execute(notebook)
    results = json.loads((project / "data/test/08_reporting/sample/results.json").read_text())
    assert {name for name, reader in results["readers"].items() if reader["status"] == "scored"} == {
        "plain",
        "look_once",
    }
    assert "Did you mean 'sharpness'?" in printed(executed)
    assert len(figures(executed)) == 1
    trials = [json.loads(file.read_text()) for file in (project / "data/test/06_models/trials").glob("*/trial.json")]
    assert sorted(trial["reader"] for trial in trials) == ["look_once", "look_once", "plain"]
    assert not Path(printed(executed).split()[-1]).exists()


def test_the_reader_is_the_one_of_the_tutorial():
    (cell,) = [cell for cell in code_of(notebook_of("add_a_reader")) if cell.source.startswith("%%writefile")]
    _, _, reader = cell.source.partition("\n")
    assert f"```python\n{reader}\n```" in (ROOT / "docs/tutorials/add_reader.md").read_text()
