"""MLflow runs of trials and studies."""

import hashlib
import json
import logging
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import pyarrow as pa
import pyarrow.parquet as pq
from kedro.io import DataCatalog
from kedro.pipeline.node import Node

from coattend.evaluation.records import CurvePoint, Estimate, TrialRecord
from coattend.evaluation.runs import finished, selection_of, training_benchmark
from coattend.evaluation.summary import by_name, leading_metric, metric_name
from coattend.io.mlflow_store import LONGEST_TEXT, NOTE
from coattend.masking import masked, masked_text
from coattend.reports.records import StudyFindings
from coattend.tracking.store import common_tags, experiment_id, experiment_tag, log_changed, log_values
from coattend.training.events import StartedTrial
from coattend.trials.warnings import alarms

if TYPE_CHECKING:
    from mlflow import MlflowClient

OUTCOME_SUFFIXES = (".model", ".outcome", ".metrics")
"""Suffixes of the datasets that hold outcomes of trials."""
OUTCOME_METRICS = ("seconds", "questions_per_second", "peak_memory_mib", "parameters", "held_out", "best_step")
OUTCOME_TAGS = ("device", "processor", "threads", "precision", "tagger", "selection", "benchmark_version")
_RULE = "|---|---|---|---|"
"""Line above the readers in the description of a parent run."""
SCORE = "score"
"""Metric of a trial that repeats the one that counts for its task."""


class ParentRun(NamedTuple):
    """The run of a Kedro run, in the experiment of a benchmark or study."""

    client: "MlflowClient"
    project: Path
    experiment: str
    run: str


class TrialRun:
    """Open MLflow run of a trial that is being trained."""

    def __init__(self, client: "MlflowClient", run: str) -> None:
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

        logging.getLogger("mlflow.system_metrics").setLevel(logging.ERROR)
        self._client, self.run = client, run
        self._first_step: int | None = None
        self._monitor = SystemMetricsMonitor(run, sampling_interval=10, tracking_uri=client.tracking_uri)
        self._monitor.start()

    def log(self, step: int, values: dict[str, float]) -> None:
        """Add a point to the curves."""
        if self._first_step is None:
            self._first_step = step
        log_values(self._client, self.run, values, step)

    def end(self, outcome: TrialRecord) -> None:
        """Log the outcome of the trial, or the reason of its failure, and close the run."""
        failure = outcome.get("failure")
        if failure:
            self._client.set_tag(self.run, "failure", masked_text(failure)[:LONGEST_TEXT])
        else:
            # The listeners of a continued training heard only what came after the interruption.
            first = self._first_step
            earlier = [point for point in outcome["curve"] if first is None or point["step"] < first]
            _write_curve(self._client, self.run, earlier)
            _write_outcome(self._client, self.run, outcome)
        self.stop_watching()
        self._client.set_terminated(self.run, "FAILED" if failure else "FINISHED")

    def stop_watching(self) -> None:
        """Stop watching the machine."""
        self._monitor.finish()


def data_hash(nodes: Iterable[Node], catalog: DataCatalog) -> str | None:
    """Hash the questions that the trials of some nodes were trained on; None if no trial is finished."""
    tables = {name for node in nodes for name in (*node.inputs, *node.outputs) if name.endswith(OUTCOME_SUFFIXES)}
    outcomes = (catalog.load(name) for name in sorted(tables) if catalog.exists(name))
    hashes = sorted({trial["data"] for outcome in outcomes if outcome for trial in finished(outcome["trials"])})
    if len(hashes) > 1:
        # The combined hash is as long as a single one.
        return hashlib.sha256(" ".join(hashes).encode()).hexdigest()[: len(hashes[0])]
    return hashes[0] if hashes else None


def create(parent: ParentRun, trial: StartedTrial) -> str:
    """Open a child run for a trial and return its id."""
    from mlflow.entities import Dataset, DatasetInput, Param

    client, benchmark, data = parent.client, trial["benchmark"], trial.get("data", "")
    tags = common_tags(parent.project) | experiment_tag(parent.experiment)
    # A study calls its readers variants; elsewhere they are called by their entries.
    tags |= {} if "study" in tags else {"entry": trial["name"]}
    tags |= {
        "mlflow.parentRunId": parent.run,
        "kind": "trial",
        "benchmark": benchmark,
        "reader": trial["name"],
        "variant": trial["name"],
        "seed": str(trial["seed"]),
        "trial_id": trial["trial_id"],
        "data_hash": data,
    }
    tags = {key: masked_text(value) for key, value in tags.items()}
    name, experiment = f"{trial['name']} seed {trial['seed']}", experiment_id(client, parent.experiment, parent.project)
    run: str = client.create_run(experiment, tags=tags, run_name=name).info.run_id
    client.log_batch(run, params=[Param(key, str(value)) for key, value in parameters_of(trial).items()])
    if data:
        source = json.dumps({"benchmark": benchmark, "split": "train"})
        client.log_inputs(run, [DatasetInput(Dataset(benchmark, data[:36], source_type="local", source=source))])
    return run


def parameters_of(trial: StartedTrial) -> dict[str, object]:
    """Return the parameters of a trial by their names in MLflow, with credentials masked."""
    parameters: dict[str, object] = masked(
        {
            **trial["options"],
            "reader": trial["reader"],
            "head": trial["head"],
            "encoder": trial["encoder"],
            **{f"training.{key}": value for key, value in trial["training"].items()},
        }
    )
    return parameters


def find(client: "MlflowClient", experiment: str, trial_id: str) -> str | None:
    """Return the id of the finished run of a trial in an experiment; None if it has none."""
    query = f"tags.trial_id = '{trial_id}' and attributes.status = 'FINISHED'"
    for run in client.search_runs([experiment], query, max_results=1):
        run_id: str = run.info.run_id
        return run_id
    return None


def write(parent: ParentRun, trial: TrialRecord, benchmark: str, name: str) -> str:
    """Write the run of a finished trial of a reader or variant, which was trained untracked; return its id."""
    client = parent.client
    run = create(parent, started_trial(trial, benchmark, name))
    _write_curve(client, run, trial["curve"])
    _write_outcome(client, run, trial)
    client.set_terminated(run, "FINISHED")
    return run


def started_trial(trial: TrialRecord, benchmark: str, name: str) -> StartedTrial:
    """Describe a finished trial of a reader or variant as it was when it started."""
    return StartedTrial(
        trial_id=trial["trial_id"],
        name=name,
        benchmark=benchmark,
        reader=trial["variant"],
        head=trial["head"],
        options=trial["options"],
        encoder=trial["encoder"],
        training=trial["training"],
        seed=trial["seed"],
        data=trial.get("data", ""),
    )


def _write_curve(client: "MlflowClient", run: str, points: Iterable[CurvePoint]) -> None:
    for point in points:
        # Curves of early trials have no loss on held-out questions.
        losses = {"loss": point.get("loss"), "held_out": point.get("held_out")}
        log_values(client, run, losses | {"held_out_loss": point.get("held_out_loss")}, point["step"])


def _write_outcome(client: "MlflowClient", run: str, outcome: TrialRecord) -> None:
    """Log the metrics and tags of a finished trial, and warnings about its training."""
    signs = outcome.get("signs", {})
    measures = cast("Mapping[str, float | None]", outcome)
    diagnostics = {f"signs.{name}": value for name, value in signs.items()}
    log_values(client, run, {name: measures[name] for name in OUTCOME_METRICS} | diagnostics)
    warnings = " ".join(alarms(signs))
    if warnings:
        client.set_tag(run, "alarms", warnings[:LONGEST_TEXT])
    for name in OUTCOME_TAGS:
        # Outcomes of earlier versions lack some.
        if name in outcome:
            client.set_tag(run, name, str(cast("Mapping[str, str | int]", outcome)[name]))


def attach_predictions(client: "MlflowClient", run: str, predictions: pa.Table) -> None:
    """Attach the predictions of a trial to its run, replacing earlier ones."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "predictions.parquet")
        pq.write_table(predictions, file)
        client.log_artifact(run, str(file))


def write_trials(
    findings: StudyFindings, run_of: Callable[[TrialRecord, str, str], str], client: "MlflowClient"
) -> None:
    """Log the scores of a study's trials in their runs, which ``run_of`` finds or writes for a trial, the benchmark
    that it was trained on, and its variant."""
    for benchmark, by_variant in findings["trials"].items():
        for variant, trials in by_variant.items():
            trained_on = findings["trained_on"][benchmark].get(variant, benchmark)
            rows = {
                metric_name(row["split"], row["group"], row["metric"]): row
                for row in findings["rows"]
                if (row["benchmark"], row["variant"]) == (benchmark, variant)
            }
            # A run has the scores on every benchmark that its trial answers; those on its own have no prefix.
            prefix = "" if trained_on == benchmark else f"{benchmark}."
            for trial in finished(trials):
                scores = {name: row["seeds"][str(trial["seed"])] for name, row in rows.items()}
                named = {f"{prefix}{name}": score for name, score in scores.items()}
                log_changed(client, run_of(trial, trained_on, variant), named | ({} if prefix else headline(scores)))


def write_findings(parent: ParentRun, findings: StudyFindings) -> None:
    """Log the findings of a study in a parent run."""
    tag_selection(
        parent,
        {
            selection_of(finished(trials), benchmark, findings["trained_on"][benchmark].get(variant, benchmark))
            for benchmark, by_variant in findings["trials"].items()
            for variant, trials in by_variant.items()
        },
    )
    values: dict[str, float | None] = {}
    for row in findings["rows"]:
        name = f"{row['benchmark']}.{row['variant']}.{metric_name(row['split'], row['group'], row['metric'])}"
        values |= estimate_values(name, row) | {f"{name}.difference": row["difference"]}
    log_changed(parent.client, parent.run, values)


def headline(scores: Mapping[str, float]) -> dict[str, float]:
    """Select the score that counts, by which trials of all tasks can be listed: under ``score``, in percent."""
    name = leading_metric(scores)
    return {} if name is None else {SCORE: round(scores[name], 2)}


def summarise(parent: ParentRun, nodes: Iterable[Node], catalog: DataCatalog) -> None:
    """Write the estimates of the readers that some nodes scored in a parent run, describe it by them, and say which
    questions their trials learned from and were chosen on.

    What the run says of readers that an earlier command scored stays; so does its ``data_hash``, if there are some.
    """
    nodes = list(nodes)
    names = (name for node in nodes for name in node.outputs if name.endswith(".metrics") and catalog.exists(name))
    scored = [metrics for name in names if (metrics := catalog.load(name))]
    values: dict[str, float | None] = {}
    lines = _described(parent)
    earlier = lines.keys() - {metrics["reader"] for metrics in scored}
    for metrics in scored:
        estimates = dict(by_name(metrics))
        for name, metric in estimates.items():
            values |= estimate_values(f"{metrics['reader']}.{name}", metric)
        leading = leading_metric({name: metric["mean"] for name, metric in estimates.items()})
        if leading is not None:
            count = len(finished(metrics["trials"]))
            seeds = f"{count} seed{'s' * (count > 1)}"
            row = (metrics["reader"], leading, f"{estimates[leading]['mean']:.1f} %", seeds)
            lines[metrics["reader"]] = f"| {' | '.join(row)} |"
    tag_selection(parent, {selection_of(finished(m["trials"]), m["benchmark"], training_benchmark(m)) for m in scored})
    log_changed(parent.client, parent.run, values)
    if lines:
        page = "The page of all readers is `results/index.html`, below “Artifacts”."
        table = "\n".join(("| reader | metric | mean | |", _RULE, *lines.values()))
        parent.client.set_tag(parent.run, NOTE, f"{page}\n\n{table}"[:LONGEST_TEXT])
    digest = data_hash(nodes, catalog)
    if digest and not earlier:
        parent.client.set_tag(parent.run, "data_hash", digest)


def _described(parent: ParentRun) -> dict[str, str]:
    """Map the readers that a parent run is described by to their lines of its description."""
    _, _, rows = parent.client.get_run(parent.run).data.tags.get(NOTE, "").partition(f"{_RULE}\n")
    return {line.removeprefix("| ").partition(" | ")[0]: line for line in rows.splitlines()}


def tag_selection(parent: ParentRun, selections: Iterable[str]) -> None:
    """Tag a parent run with the questions that its trials' checkpoints were chosen on, beside those tagged before."""
    before = parent.client.get_run(parent.run).data.tags.get("selection", "")
    names = {name for selection in (before, *selections) for name in selection.split(", ") if name}
    if names:
        parent.client.set_tag(parent.run, "selection", ", ".join(sorted(names)))


def estimate_values(name: str, estimate: Estimate) -> dict[str, float | None]:
    """Name the mean and the ends of an estimate as metrics."""
    return {name: estimate["mean"], f"{name}.low": estimate["low"], f"{name}.high": estimate["high"]}
