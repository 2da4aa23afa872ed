"""Kedro hooks that track runs, and the listener to trials."""

import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pyarrow.dataset as pads
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from coattend.config import TrackingParameters
from coattend.config.project import project_hook
from coattend.errors import CoattendError
from coattend.evaluation.records import ReaderMetrics, TrialRecord
from coattend.evaluation.runs import finished, selection_of
from coattend.evaluation.summary import by_name
from coattend.io.mlflow_store import store_errors
from coattend.masking import masked
from coattend.pipelines.keys import NodeKey, entry_of, prefix_of
from coattend.tracking import runs, store
from coattend.tracking.store import log_values, open_client
from coattend.training import events
from coattend.training.events import StartedTrial

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from plotly.graph_objects import Figure

PARENTS = "COATTEND_MLFLOW_PARENTS"
"""Environment variable that tells worker processes the parent runs: benchmark to run id, as JSON."""

PAGES = {
    "page": "results/index.html",
    "page_markdown": "results/results.md",
    "table_page": "results/index.html",
    "table_markdown": "results/table.md",
    "table_csv": "results/table.csv",
    "table_latex": "results/table.tex",
    "attention_page": "results/{benchmark}_attention.html",
}
"""Catalog entries that are attached to the parent run, and under which name."""

FIGURES: dict[str, Callable[[Any], dict[str, "Figure"]]] = {
    "chart": lambda chart: {"chart": chart},
    "table_chart": lambda chart: {"chart": chart},
    "figures": lambda figures: {f"figures/{name}": figure for name, figure in figures.items()},
}
"""Likewise catalog entries with figures, which are attached as Plotly's JSON."""

FINDINGS = "findings"
"""Catalog entry with the findings of a study."""

logger = logging.getLogger(__name__)


class RunParameters(TypedDict):
    """Kedro's description of a run."""

    project_path: str
    run_id: str
    pipeline_names: list[str]
    namespaces: list[str]
    env: str
    runtime_params: dict[str, object]


class Tracking:
    """Tracks Kedro runs that train, predict or score; others leave nothing behind."""

    def __init__(self) -> None:
        self._project = Path.cwd()
        self._open: dict[str, runs.TrialRun] = {}
        self._parents: dict[str, str] = {}
        self._node = threading.local()
        self._sent_by = ""

    def __getstate__(self) -> tuple[Path, str]:
        """Return the state that a worker process is sent; trials that are open here are trained here."""
        return self._project, self._experiment

    def __setstate__(self, sent: tuple[Path, str]) -> None:
        self.__init__()  # type: ignore[misc]
        self._project, self._sent_by = sent

    @property
    def _experiment(self) -> str:
        """The experiment of the node that this thread runs, or that sent the listener here."""
        # Threads can run several nodes at once.
        return getattr(self._node, "experiment", self._sent_by)

    @project_hook()
    def before_pipeline_run(self, run_params: RunParameters, pipeline: Pipeline) -> None:
        """Close what dead processes left open, then open a parent run for each benchmark."""
        names = sorted({_experiment(node) for node in pipeline.nodes if _is_tracked(node)})
        if self._parents:
            self.close("KILLED")  # Of a run of this process that was interrupted, as in a notebook.
        if not names:
            return
        self._project = Path(run_params["project_path"])
        client = open_client(self._project)
        with self._store_errors():
            store.close_orphans(client)
            self._parents = {name: self._open_parent(client, name, run_params) for name in names}
        os.environ[PARENTS] = json.dumps(self._parents)

    @project_hook()
    def before_node_run(self, node: Node) -> None:
        """Listen to trials, in worker processes too."""
        if _parents() and _is_tracked(node):
            self._node.experiment = _experiment(node)
            if self not in events.listeners:
                events.listeners.append(self)

    @project_hook()
    def after_node_run(
        self, node: Node, catalog: DataCatalog, inputs: Mapping[str, pads.Dataset], outputs: Mapping[str, ReaderMetrics]
    ) -> None:
        """Write the metrics of what was scored, attach the predictions, and log the readers as models."""
        for name, value in outputs.items():
            if entry_of(name) == "metrics" and value and _experiment(node) in _parents():
                logs_models = TrackingParameters.model_validate(catalog.load("params:tracking")).models
                trials = catalog.load("trials") if logs_models else None
                with self._store_errors():
                    self._write_metrics(value, inputs[f"{prefix_of(name)}.predictions"], trials)

    @project_hook()
    def after_dataset_saved(self, dataset_name: str, data: Any, node: Node) -> None:
        """Attach pages and figures to the parent run of their benchmark or study, and write a study's findings."""
        key, entry = NodeKey.of(node), entry_of(dataset_name)
        # Nothing else may wait for a store that another process holds.
        if _experiment(node) not in _parents() or entry not in (*PAGES, *FIGURES, FINDINGS):
            return
        with self._store_errors():
            parent = self._parent(_experiment(node))
            if entry in PAGES:
                parent.client.log_text(parent.run, data, PAGES[entry].format(benchmark=key.benchmark))
            elif entry in FIGURES:
                for file, figure in FIGURES[entry](data).items():
                    parent.client.log_text(parent.run, figure.to_json(), f"results/{file}.json")
            else:
                runs.write_findings(parent, data)

    @project_hook()
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Say in the parent runs what their trials were trained on, and close them."""
        nodes = [node for node in pipeline.nodes if _is_tracked(node)]
        nodes_of = {name: [node for node in nodes if _experiment(node) == name] for name in _parents()}
        self.close("FINISHED", {name: runs.data_hash(nodes_of[name], catalog) for name in nodes_of})

    @project_hook()
    def on_pipeline_error(self) -> None:
        """Close all open runs. Kedro calls this for an `Exception` inside the runner only."""
        self.close("FAILED")

    def trial_started(self, trial: StartedTrial) -> None:
        """Open the run of a trial that is being trained."""
        if self._experiment in _parents():
            self._try(trial["trial_id"], lambda: self._begin(trial))

    def trial_logged(self, trial_id: str, step: int, values: dict[str, float]) -> None:
        """Add a point to its curves."""
        if trial_id in self._open:
            self._try(trial_id, lambda: self._open[trial_id].log(step, values))

    def trial_ended(self, trial_id: str, outcome: TrialRecord) -> None:
        """Close its run."""
        if trial_id in self._open:
            self._try(trial_id, lambda: self._open[trial_id].end(outcome))
            self._open.pop(trial_id, None)

    def _begin(self, trial: StartedTrial) -> None:
        parent = self._parent(self._experiment)
        self._open[trial["trial_id"]] = runs.TrialRun(parent.client, runs.create(parent, trial))

    def _try(self, trial_id: str, write: Callable[[], None]) -> None:
        """Write to the store if it works; a training goes on, and evaluation writes the run of a trial without one."""
        try:
            with self._store_errors():
                write()
        except CoattendError as error:
            logger.warning("trial %s is no longer tracked and goes on; evaluation tracks it. %s", trial_id, error)
            if trial_id in self._open:
                self._open.pop(trial_id).stop_watching()

    def _store_errors(self) -> AbstractContextManager[None]:
        return store_errors(store.tracking_uri(self._project))

    def _parent(self, experiment: str) -> runs.ParentRun:
        return runs.ParentRun(open_client(self._project), self._project, experiment, _parents()[experiment])

    def _open_parent(self, client: "MlflowClient", name: str, run_params: RunParameters) -> str:
        experiment = store.experiment_id(client, name, self._project)
        tags = store.common_tags(self._project) | store.experiment_tag(name) | {"kind": "kedro run"}
        run_name = f"{name} {run_params['run_id'][:19]}"
        parent: str = client.create_run(experiment, tags=tags, run_name=run_name).info.run_id
        logged = {key: run_params[key] for key in ("pipeline_names", "namespaces", "env", "runtime_params")}
        for key, value in logged.items():
            client.log_param(parent, key, json.dumps(masked(value), default=str)[: runs.LONGEST_TEXT])
        return parent

    def _write_metrics(self, metrics: ReaderMetrics, predictions: pads.Dataset, trials: Path | None) -> None:
        """Write metrics to each trial's run and to the parent; with the folder of trials, log each as a model, too."""
        from coattend.serving.mlflow_model import log_reader

        benchmark, scored = metrics["benchmark"], dict(by_name(metrics))
        parent = self._parent(benchmark)
        for trial in finished(metrics["trials"]):
            run = runs.find_or_write(parent, trial, benchmark, metrics["reader"])
            scores = {name: metric["seeds"][str(trial["seed"])] for name, metric in scored.items()}
            log_values(parent.client, run, scores)
            answers = predictions.to_table(filter=pads.field("trial_id") == trial["trial_id"])
            runs.attach_predictions(parent.client, run, answers)
            if trials is not None:
                log_reader(parent.client, run, trials / trial["trial_id"], metrics, trial)
        values: dict[str, float | None] = {}
        for name, metric in scored.items():
            values |= runs.estimate_values(f"{metrics['reader']}.{name}", metric)
        log_values(parent.client, parent.run, values)
        runs.tag_selection(parent, {selection_of(finished(metrics["trials"]), benchmark, benchmark)})

    def close(self, status: str, data: Mapping[str, str | None] | None = None) -> None:
        """Close all open runs with a status of MLflow; ``data`` maps experiments to hashes of their training data."""
        if not _parents():
            return
        for trial in self._open.values():
            trial.stop_watching()
        # The ids are taken before the state is cleared, which must happen even if the store fails.
        parents, run_ids = _parents(), [*(trial.run for trial in self._open.values()), *_parents().values()]
        self._open.clear()
        self._parents = {}
        del os.environ[PARENTS]
        try:
            with self._store_errors():
                for name, digest in (data or {}).items():
                    if digest:
                        open_client(self._project).set_tag(parents[name], "data_hash", digest)
                for run in run_ids:
                    open_client(self._project).set_terminated(run, status)
        except CoattendError as error:  # All else is done, or another error is on its way.
            logger.warning("the tracked run stays open until the next one closes it. %s", error)
        if self in events.listeners:
            events.listeners.remove(self)


def _parents() -> dict[str, str]:
    parents: dict[str, str] = json.loads(os.environ.get(PARENTS, "{}"))
    return parents


def _is_tracked(node: Node) -> bool:
    return any(entry_of(output) in ("model", "predictions", "metrics", "outcome") for output in node.outputs)


def _experiment(node: Node) -> str:
    return NodeKey.of(node).experiment or ""
