"""Kedro hooks that track runs, and the listener to trials."""

import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads
from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline

from coattend.datasets.mlflow_store import asking
from coattend.errors import CoattendError
from coattend.evaluation.runs import finished
from coattend.evaluation.scoring import by_name
from coattend.masking import masked
from coattend.parameters import TrackingParameters
from coattend.tracking import studies, trials
from coattend.tracking.data_hash import data_hash
from coattend.tracking.processes import close_orphans
from coattend.tracking.store import STUDY, address_of, client_of, common_tags, experiment_of, log_values, tag_of
from coattend.training import events

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

FIGURES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "chart": lambda chart: {"chart": chart},
    "table_chart": lambda chart: {"chart": chart},
    "figures": lambda figures: {f"figures/{name}": figure for name, figure in figures.items()},
}
"""Likewise catalog entries with figures, which are attached as Plotly's JSON."""

logger = logging.getLogger(__name__)


class Tracking:
    """Tracks Kedro runs that train, predict or score; others leave nothing behind."""

    def __init__(self) -> None:
        self._project = Path.cwd()
        self._open: dict[str, trials.TrialRun] = {}
        self._node = threading.local()
        self._sent_by = ""

    def __getstate__(self) -> tuple[Path, str]:
        """What a worker process is sent: trials that are open here are trained here."""
        return self._project, self._experiment

    def __setstate__(self, sent: tuple[Path, str]) -> None:
        self.__init__()  # type: ignore[misc]
        self._project, self._sent_by = sent

    @property
    def _experiment(self) -> str:
        """That of the node that this thread runs, since threads can run several at once, or that sent it here."""
        return getattr(self._node, "experiment", self._sent_by)

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline) -> None:
        """Close what dead processes left open, then open a parent run for each benchmark."""
        names = sorted({_experiment(node) for node in pipeline.nodes if _is_tracked(node)})
        if not names:
            return
        self._project = Path(run_params["project_path"])
        client = client_of(self._project)
        with asking(address_of(self._project)):
            close_orphans(client)
            parents = {name: self._open_parent(client, name, run_params) for name in names}
        os.environ[PARENTS] = json.dumps(parents)

    @hook_impl
    def before_node_run(self, node: Any) -> None:
        """Listen to trials, in worker processes too."""
        if _parents() and _is_tracked(node):
            self._node.experiment = _experiment(node)
            if self not in events.listeners:
                events.listeners.append(self)

    @hook_impl
    def after_node_run(self, catalog: Any, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Write the metrics of what was scored, attach the predictions, and log the readers as models."""
        for name, value in outputs.items():
            if name.endswith(".metrics") and value and name.split(".")[0] in _parents():
                logs_models = TrackingParameters.model_validate(catalog.load("params:tracking")).models
                store = catalog.load("trials") if logs_models else None
                with asking(address_of(self._project)):
                    self._write_metrics(value, inputs[name.replace(".metrics", ".predictions")], store)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Attach pages and figures to the parent run of their benchmark or study, and write what a study found."""
        *place, entry = dataset_name.split(".")
        name = f"{STUDY}{place[1]}" if place[:1] == ["study"] else ".".join(place)
        parent = _parents().get(name)
        if parent is None:
            return
        with asking(address_of(self._project)):
            if entry in PAGES:
                client_of(self._project).log_text(parent, data, PAGES[entry].format(benchmark=place[-1]))
            elif entry in FIGURES:
                for file, figure in FIGURES[entry](data).items():
                    client_of(self._project).log_text(parent, figure.to_json(), f"results/{file}.json")
            elif entry == "findings":
                studies.write_findings(client_of(self._project), data, name, parent, self._project)

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: Any) -> None:
        """Say in the parent runs what their trials were trained on, and close them."""
        nodes = [node for node in pipeline.nodes if _is_tracked(node)]
        self._close(
            "FINISHED",
            {name: data_hash((node for node in nodes if _experiment(node) == name), catalog) for name in _parents()},
        )

    @hook_impl
    def on_pipeline_error(self, error: BaseException) -> None:
        """Close everything that is open."""
        self._close("KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED")

    def trial_started(self, trial: dict[str, Any]) -> None:
        """Open the run of a trial that is being trained."""
        name = self._experiment
        parent = _parents().get(name)
        if parent is not None:
            self._try(trial["trial_id"], lambda: self._begin(trial, name, parent))

    def trial_logged(self, trial_id: str, step: int, values: dict[str, float]) -> None:
        """Add a point to its curves."""
        if trial_id in self._open:
            self._try(trial_id, lambda: self._open[trial_id].log(step, values))

    def trial_ended(self, trial_id: str, outcome: dict[str, Any]) -> None:
        """Close its run."""
        if trial_id in self._open:
            self._try(trial_id, lambda: self._open[trial_id].end(outcome))
            self._open.pop(trial_id, None)

    def _begin(self, trial: dict[str, Any], name: str, parent: str) -> None:
        client = client_of(self._project)
        run = trials.create(client, trial, name, parent, self._project)
        self._open[trial["trial_id"]] = trials.TrialRun(client, run)

    def _try(self, trial_id: str, write: Callable[[], None]) -> None:
        """A training does not end for a store that fails: evaluation writes the run of a trial that has none."""
        try:
            with asking(address_of(self._project)):
                write()
        except CoattendError as error:
            logger.warning("trial %s is no longer tracked and goes on; evaluation tracks it. %s", trial_id, error)
            if trial_id in self._open:
                self._open.pop(trial_id).stop_watching()

    def _open_parent(self, client: Any, name: str, run_params: dict[str, Any]) -> str:
        experiment = experiment_of(client, name, self._project)
        tags = common_tags(self._project) | tag_of(name) | {"kind": "kedro run"}
        run_name = f"{name} {run_params['run_id'][:19]}"
        parent = client.create_run(experiment, tags=tags, run_name=run_name).info.run_id
        for key in ("pipeline_names", "namespaces", "env", "runtime_params"):
            client.log_param(parent, key, json.dumps(masked(run_params[key]), default=str)[:5000])
        return parent

    def _write_metrics(self, metrics: dict[str, Any], predictions: pads.Dataset, store: Path | None) -> None:
        """Write them to each trial's run and to the parent; with the folder of trials, log each as a model, too."""
        from coattend.serving.logged import log_reader

        client, parent = client_of(self._project), _parents()[metrics["benchmark"]]
        scored = dict(by_name(metrics))
        for trial in finished(metrics["trials"]):
            benchmark, name = metrics["benchmark"], metrics["reader"]
            run = trials.find_or_write(client, trial, benchmark, name, benchmark, parent, self._project)
            log_values(client, run, {name: metric["seeds"][str(trial["seed"])] for name, metric in scored.items()})
            own = predictions.to_table(filter=pads.field("trial_id") == trial["trial_id"])
            trials.attach_predictions(client, run, own)
            if store is not None:
                log_reader(client, run, store / trial["trial_id"], metrics, trial)
        bounds = {"": "mean", ".low": "low", ".high": "high"}
        values = {
            f"{metrics['reader']}.{name}{suffix}": metric[bound]
            for name, metric in scored.items()
            for suffix, bound in bounds.items()
            if metric[bound] is not None
        }
        log_values(client, parent, values)

    def _close(self, status: str, data: Mapping[str, str | None] | None = None) -> None:
        if not _parents():
            return
        for trial in self._open.values():
            trial.stop_watching()
        runs = [*(trial.run for trial in self._open.values()), *_parents().values()]
        of_parents = [(run, learned) for name, run in _parents().items() if (learned := (data or {}).get(name))]
        self._open.clear()
        del os.environ[PARENTS]
        try:
            with asking(address_of(self._project)):
                for run, learned in of_parents:
                    client_of(self._project).set_tag(run, "data_hash", learned)
                for run in runs:
                    client_of(self._project).set_terminated(run, status)
        except CoattendError as error:  # All else is done, or another error is on its way.
            logger.warning("the tracked run stays open until the next one closes it. %s", error)
        if self in events.listeners:
            events.listeners.remove(self)


def _parents() -> dict[str, str]:
    return json.loads(os.environ.get(PARENTS, "{}"))


def _is_tracked(node: Any) -> bool:
    return any(output.endswith((".model", ".predictions", ".metrics", ".outcome")) for output in node.outputs)


def _experiment(node: Any) -> str:
    """The experiment of a node: its study's, or its benchmark's."""
    first, *rest = node.namespace.split(".")
    return f"{STUDY}{rest[0]}" if first == "study" else first
