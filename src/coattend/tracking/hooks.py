"""Kedro hooks that track runs, and the listener to trials.

A run of Kedro has a parent run in the experiment of each benchmark or study whose readers it trains. The parent begins
with its first child, in whichever process that is, so that a run in which all was done before leaves none.
"""

import json
import logging
import os
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import pyarrow.compute as pc
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from coattend.config import TrackingParameters
from coattend.config.project import project_hook
from coattend.config.source import BASE
from coattend.errors import CoattendError
from coattend.evaluation.records import ReaderMetrics, TrialRecord
from coattend.evaluation.runs import finished, training_benchmark
from coattend.io.mlflow_store import LONGEST_TEXT, PARENT, client_of, store_errors, store_uri
from coattend.masking import masked, masked_text
from coattend.pipelines.keys import NodeKey, entry_of, prefix_of
from coattend.reports.trial import trial_scores
from coattend.tracking import runs, store
from coattend.tracking.store import log_changed, open_client
from coattend.training import events
from coattend.training.events import StartedTrial

if TYPE_CHECKING:
    import pyarrow.dataset as pads  # Imports pandas, which every command would wait for.
    from mlflow import MlflowClient
    from plotly.graph_objects import Figure

TRACKED = "COATTEND_MLFLOW_RUN"
"""Environment variable that describes the tracked run of Kedro to worker processes: `TrackedRun` as JSON."""

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
RUN_TAG = "coattend.run"
"""Tag with the id of the tracked run of Kedro, by which its processes find the same parent."""

logger = logging.getLogger(__name__)


class RunParameters(TypedDict):
    """Kedro's description of a run."""

    project_path: str
    run_id: str
    pipeline_names: list[str]
    namespaces: list[str]
    env: str
    runtime_params: dict[str, object]


class TrackedRun(NamedTuple):
    """The run of Kedro that is tracked, and what its parent runs say of it."""

    id: str
    experiments: list[str]
    started: str  # Date and time of its start.
    environment: str
    process: str  # Tag of the process whose end ends it.
    parameters: dict[str, object]
    trains: bool  # False if it only draws pages of what was tracked before.


class Tracking:
    """Tracks Kedro runs that train, predict or score; others leave nothing behind."""

    def __init__(self) -> None:
        self._project = Path.cwd()
        self._open: dict[str, runs.TrialRun] = {}
        self._parents: dict[tuple[str, str], str] = {}
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
        """Close what dead processes left open, and prepare the experiments of what is trained, scored or reported."""
        if _tracked() is not None:
            self.close("KILLED")  # Of a run of this process that was interrupted, as in a notebook.
        self._project = Path(run_params["project_path"])
        trained = sorted({_experiment(node) for node in pipeline.nodes if _is_tracked(node)})
        if trained:
            client = open_client(self._project)
            with self._store_errors(), store.store_lock(self._project):
                store.close_orphans(client)
                for name in trained:
                    store.describe_experiment(client, name, self._project)
        drawn = {_experiment(node) for node in pipeline.nodes if _is_drawn(node)} - {""}
        if names := trained or sorted(drawn):
            os.environ[TRACKED] = json.dumps(_describe(run_params, names, trains=bool(trained)))

    @project_hook()
    def before_node_run(self, node: Node) -> None:
        """Listen to trials, in worker processes too."""
        if _is_tracked(node) and self._tracks(node):
            self._node.experiment = _experiment(node)
            if self not in events.listeners:
                events.listeners.append(self)

    @project_hook()
    def after_node_run(
        self,
        node: Node,
        catalog: DataCatalog,
        inputs: Mapping[str, "pads.Dataset"],
        outputs: Mapping[str, ReaderMetrics],
    ) -> None:
        """Write the metrics of what was scored, attach the predictions, and log the readers as models."""
        for name, value in outputs.items():
            if entry_of(name) == "metrics" and value and self._tracks(node):
                tracking = TrackingParameters.model_validate(catalog.load("params:tracking"))
                trials = catalog.load("trials") if tracking.models else None
                prefix = prefix_of(name)
                tables = inputs[f"{prefix}.predictions"], inputs[f"{prefix.partition('.')[0]}.questions"]
                with self._store_errors(), store.store_lock(self._project):
                    self._write_metrics(value, *tables, trials, merge=tracking.merge)

    @project_hook()
    def after_dataset_saved(self, dataset_name: str, data: Any, node: Node) -> None:
        """Attach pages and figures to the parent run of their benchmark or study, and write a study's findings."""
        entry = entry_of(dataset_name)
        # Nothing else may wait for a store that another process holds.
        if not self._tracks(node) or entry not in (*PAGES, *FIGURES, FINDINGS):
            return
        run = _tracked()
        try:
            with self._store_errors():
                self._attach(_experiment(node), entry, data, NodeKey.of(node).benchmark)
        except CoattendError as error:
            if run is None or run.trains:
                raise
            logger.warning("%s is drawn, and not attached to its run. %s", dataset_name, error)

    @project_hook()
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Write in the parent runs what their readers scored and what their trials were trained on, and close them."""
        self._summarise(pipeline, catalog)
        self.close("FINISHED")

    @project_hook()
    def on_pipeline_error(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Close all open runs. Kedro calls this for an `Exception` inside the runner only."""
        try:
            self._summarise(pipeline, catalog)
        finally:
            self.close("FAILED")

    def trial_started(self, trial: StartedTrial) -> None:
        """Open the run of a trial that is being trained."""
        run = _tracked()
        if run is not None and self._experiment in run.experiments:
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

    def close(self, status: str) -> None:
        """Close all open runs with a status of MLflow."""
        run = _tracked()
        if run is None:
            return
        for trial in self._open.values():
            trial.stop_watching()
        # The state is cleared even if the store fails.
        trials = [trial.run for trial in self._open.values()]
        self._open.clear()
        self._parents.clear()
        del os.environ[TRACKED]
        if self in events.listeners:
            events.listeners.remove(self)
        if not run.trains:
            return
        try:
            with self._store_errors():
                client = open_client(self._project)
                parents = (_find_parent(client, run, name, self._project) for name in run.experiments)
                for open_run in (*trials, *filter(None, parents)):
                    client.set_terminated(open_run, status)
        except CoattendError as error:  # All else is done, or another error is on its way.
            logger.warning("the tracked run stays open until the next one closes it. %s", error)

    def _begin(self, trial: StartedTrial) -> None:
        parent = self._open_parent(self._experiment)
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
        return store_errors(store_uri(self._project))

    def _tracks(self, node: Node) -> bool:
        """True if a node's experiment is one of the tracked run's, in worker processes too."""
        run = _tracked()
        return run is not None and _experiment(node) in run.experiments

    def _open_parent(self, experiment: str) -> runs.ParentRun:
        """Return the parent run of an experiment in this run of Kedro, which begins if it has not begun."""
        run, client = _tracked(), open_client(self._project)
        if run is None:
            raise RuntimeError("no run is tracked")  # Nothing calls this outside of one.
        key = (run.id, experiment)
        if key not in self._parents:
            experiment_id = store.experiment_id(client, experiment, self._project)
            # Workers may train the first trials of an experiment at once.
            with store.store_lock(self._project):
                parent = _search_parent(client, run, experiment_id) or _create_parent(
                    client, run, experiment, experiment_id, self._project
                )
            self._parents[key] = parent
        return runs.ParentRun(client, self._project, experiment, self._parents[key])

    def _shown_parent(self, experiment: str) -> runs.ParentRun | None:
        """Return the parent run that shows what an experiment came to: this run's, or, where all was done before, the
        newest of its environment; None if there is none, or no store."""
        run, uri = _tracked(), store_uri(self._project)
        client = None if run is None else client_of(uri)
        stored = None if client is None else client.get_experiment_by_name(experiment)
        if run is None or client is None or stored is None:
            return None
        parent = _search_parent(client, run, stored.experiment_id)
        if parent is None:
            query = f"tags.kind = '{PARENT}' and tags.env = '{run.environment}'"
            newest = client.search_runs([stored.experiment_id], query, max_results=1)
            parent = newest[0].info.run_id if newest else None
        return None if parent is None else runs.ParentRun(client, self._project, experiment, parent)

    def _run_of(self, experiment: str, trial: TrialRecord, benchmark: str, name: str) -> str:
        """Return the run of a finished trial in an experiment; one that was trained untracked is written now."""
        client = open_client(self._project)
        experiment_id = store.experiment_id(client, experiment, self._project)
        run = runs.find(client, experiment_id, trial["trial_id"])
        return run or runs.write(self._open_parent(experiment), trial, benchmark, name)

    def _attach(self, experiment: str, entry: str, data: Any, benchmark: str | None) -> None:
        if entry == FINDINGS:
            client = open_client(self._project)
            with store.store_lock(self._project):
                runs.write_trials(data, partial(self._run_of, experiment), client)
                parent = self._shown_parent(experiment)
                if parent is not None:
                    runs.write_findings(parent, data)
            return
        parent = self._shown_parent(experiment)
        if parent is None:
            return
        if entry in PAGES:
            parent.client.log_text(parent.run, masked_text(data), PAGES[entry].format(benchmark=benchmark))
        else:
            for file, figure in FIGURES[entry](data).items():
                parent.client.log_text(parent.run, figure.to_json(), f"results/{file}.json")

    def _write_metrics(
        self,
        metrics: ReaderMetrics,
        predictions: "pads.Dataset",
        questions: "pads.Dataset",
        trials: Path | None,
        *,
        merge: bool,
    ) -> None:
        """Write metrics to each trial's run and attach what people read; with the folder of trials, log each as a
        model, too, perhaps with merged adapters."""
        from coattend.serving.mlflow_model import log_reader
        from coattend.serving.model_lookup import logged_model
        from coattend.tracking import artifacts

        client = open_client(self._project)
        for trial in finished(metrics["trials"]):
            run = self._run_of(metrics["benchmark"], trial, training_benchmark(metrics), metrics["reader"])
            if trials is not None:
                model = log_reader(client, run, trials / trial["trial_id"], metrics, trial, merge=merge)
            else:
                # One that an earlier run has logged stays the run's model.
                logged = logged_model(client, client.get_run(run))
                model = None if logged is None else logged.model_id
            scores = trial_scores(metrics, trial)
            log_changed(client, run, scores | runs.headline(scores), model)
            answers = predictions.to_table(filter=pc.field("trial_id") == trial["trial_id"])
            runs.attach_predictions(client, run, answers)
            artifacts.attach(client, run, metrics, trial, answers, questions, model)

    def _summarise(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Write in the parent runs what readers scored, and which questions trials learned from and were chosen on."""
        run = _tracked()
        if run is None or not run.trains:
            return
        nodes = [node for node in pipeline.nodes if _is_tracked(node)]
        try:
            for experiment in run.experiments:
                with self._store_errors(), store.store_lock(self._project):
                    parent = self._shown_parent(experiment)
                    if parent is not None:
                        runs.summarise(parent, [node for node in nodes if _experiment(node) == experiment], catalog)
        except CoattendError as error:
            logger.warning("the run in MLflow lacks its summary. %s", error)


def _describe(run_params: RunParameters, experiments: list[str], *, trains: bool) -> TrackedRun:
    logged = {key: run_params[key] for key in ("pipeline_names", "namespaces", "env", "runtime_params")}
    started = run_params["run_id"][:16].replace("T", " ").replace(".", ":")
    parameters = {key: masked(value) for key, value in logged.items()}
    environment = run_params["env"] or BASE
    return TrackedRun(uuid.uuid4().hex, experiments, started, environment, store.this_process(), parameters, trains)


def _tracked() -> TrackedRun | None:
    described = os.environ.get(TRACKED)
    return None if described is None else TrackedRun(*json.loads(described))


def _search_parent(client: "MlflowClient", run: TrackedRun, experiment_id: str) -> str | None:
    for parent in client.search_runs([experiment_id], f"tags.`{RUN_TAG}` = '{run.id}'", max_results=1):
        run_id: str = parent.info.run_id
        return run_id
    return None


def _find_parent(client: "MlflowClient", run: TrackedRun, experiment: str, project: Path) -> str | None:
    return _search_parent(client, run, store.experiment_id(client, experiment, project))


def _create_parent(client: "MlflowClient", run: TrackedRun, name: str, experiment_id: str, project: Path) -> str:
    tags = store.common_tags(project) | store.experiment_tag(name)
    tags |= {"kind": PARENT, "env": run.environment, RUN_TAG: run.id, store.PROCESS: run.process}
    parent: str = client.create_run(experiment_id, tags=tags, run_name=f"{name} {run.started}").info.run_id
    for key, value in run.parameters.items():
        client.log_param(parent, key, json.dumps(value, default=str)[:LONGEST_TEXT])
    return parent


def _is_tracked(node: Node) -> bool:
    return any(entry_of(output) in ("model", "predictions", "metrics", "outcome") for output in node.outputs)


def _is_drawn(node: Node) -> bool:
    return any(entry_of(output) in ("page", FINDINGS) for output in node.outputs)


def _experiment(node: Node) -> str:
    return NodeKey.of(node).experiment or ""
