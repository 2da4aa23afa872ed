"""MLflow runs of trials and studies."""

import hashlib
import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import TrialRecord
from coattend.evaluation.runs import finished
from coattend.masking import masked, masked_text
from coattend.reports.records import StudyFindings, StudyRow
from coattend.tracking.store import common_tags, experiment_id, experiment_tag, log_values
from coattend.training.events import StartedTrial
from coattend.trials.warnings import alarms

if TYPE_CHECKING:
    from mlflow import MlflowClient


OUTCOME_SUFFIXES = (".model", ".outcome", ".metrics")
"""Suffixes of the datasets that hold outcomes of trials."""


def data_hash(nodes: Iterable[Any], catalog: Any) -> str | None:
    """Hash the questions that the trials of some nodes were trained on.

    Args:
        nodes: Nodes that were run.
        catalog: The run's catalog.

    Returns:
        The hash, combined where trials differ; None if no trial is finished.
    """
    tables = {name for node in nodes for name in (*node.inputs, *node.outputs) if name.endswith(OUTCOME_SUFFIXES)}
    outcomes = (catalog.load(name) for name in sorted(tables) if catalog.exists(name))
    hashes = sorted({trial["data"] for outcome in outcomes if outcome for trial in finished(outcome["trials"])})
    if len(hashes) > 1:
        # The combined hash is as long as a single one.
        return hashlib.sha256(" ".join(hashes).encode()).hexdigest()[: len(hashes[0])]
    return hashes[0] if hashes else None


OUTCOME_METRICS = ("seconds", "questions_per_second", "peak_memory_mib", "parameters", "held_out", "best_step")
OUTCOME_TAGS = ("device", "precision", "tagger", "selection")


class TrialRun:
    """Open MLflow run of a trial that is being trained.

    Args:
        client: Client of the store.
        run: Id of the run.
    """

    def __init__(self, client: "MlflowClient", run: str) -> None:
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

        logging.getLogger("mlflow.system_metrics").setLevel(logging.ERROR)
        self._client, self.run = client, run
        self._monitor = SystemMetricsMonitor(run, sampling_interval=10, tracking_uri=client.tracking_uri)
        self._monitor.start()

    def log(self, step: int, values: dict[str, float]) -> None:
        """Add a point to the curves."""
        log_values(self._client, self.run, values, step)

    def end(self, outcome: TrialRecord) -> None:
        """Log the outcome of the trial, or the reason of its failure, and close the run."""
        if failure := outcome.get("failure"):
            self._client.set_tag(self.run, "failure", masked_text(failure)[:5000])
            self.close("FAILED")
            return
        write_outcome(self._client, self.run, outcome)
        self.close("FINISHED")

    def close(self, status: str) -> None:
        """Stop watching the machine and close the run."""
        self.stop_watching()
        self._client.set_terminated(self.run, status)

    def stop_watching(self) -> None:
        """Stop watching the machine."""
        self._monitor.finish()


def create(client: "MlflowClient", trial: StartedTrial, experiment: str, parent: str, project: Path) -> str:
    """Open a child run for a trial.

    Args:
        client: Client of the store.
        trial: Its content with ``trial_id`` and ``name``.
        experiment: Name of the experiment.
        parent: Run of the Kedro run.
        project: The project's folder.

    Returns:
        The run's id.
    """
    from mlflow.entities import Dataset, DatasetInput, Param

    benchmark, data = trial["benchmark"], trial.get("data", "")
    tags = common_tags(project) | experiment_tag(experiment)
    tags |= {
        "mlflow.parentRunId": parent,
        "kind": "trial",
        "benchmark": benchmark,
        "reader": trial["name"],
        "variant": trial["reader"],
        "seed": str(trial["seed"]),
        "trial_id": trial["trial_id"],
        "data_hash": data,
    }
    tags = {key: masked_text(value) for key, value in tags.items()}
    name = f"{trial['name']} seed {trial['seed']}"
    run: str = client.create_run(experiment_id(client, experiment, project), tags=tags, run_name=name).info.run_id
    parameters = {
        **trial["options"],
        "head": trial["head"],
        "encoder": trial["encoder"],
        **{f"training.{key}": value for key, value in trial["training"].items()},
    }
    client.log_batch(run, params=[Param(key, str(value)) for key, value in masked(parameters).items()])
    if data:
        source = json.dumps({"benchmark": benchmark, "split": "train"})
        client.log_inputs(run, [DatasetInput(Dataset(benchmark, data[:36], source_type="local", source=source))])
    return run


def find_or_write(
    client: "MlflowClient",
    trial: TrialRecord,
    benchmark: str,
    name: str,
    experiment: str,
    parent: str,
    project: Path,
) -> str:
    """Return the run of a finished trial; write it after the fact if the experiment has none.

    Args:
        client: Client of the store.
        trial: Outcome of the trial.
        benchmark: Benchmark that it was trained on.
        name: Name of its reader or variant.
        experiment: Name of the experiment.
        parent: Run of the Kedro run.
        project: The project's folder.

    Returns:
        The run's id.
    """
    query = f"tags.trial_id = '{trial['trial_id']}' and attributes.status = 'FINISHED'"
    existing = client.search_runs([experiment_id(client, experiment, project)], query, max_results=1)
    if existing:
        earlier_run: str = existing[0].info.run_id
        return earlier_run
    content = StartedTrial(
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
    run = create(client, content, experiment, parent, project)
    for point in trial["curve"]:
        # Curves of early trials have no loss on held-out questions.
        losses = {key: point.get(key) for key in ("loss", "held_out", "held_out_loss")}
        values = {key: value for key, value in losses.items() if isinstance(value, int | float)}
        log_values(client, run, values, point["step"])
    write_outcome(client, run, trial)
    client.set_terminated(run, "FINISHED")
    return run


def write_outcome(client: "MlflowClient", run: str, outcome: TrialRecord) -> None:
    """Log the metrics and tags of a finished trial, and warnings about its training."""
    signs = outcome.get("signs", {})
    measures = cast("Mapping[str, float | None]", outcome)
    values = {name: measures[name] for name in OUTCOME_METRICS} | {
        f"signs.{name}": value for name, value in signs.items()
    }
    log_values(client, run, {name: value for name, value in values.items() if value is not None})
    warnings = " ".join(alarms(signs))
    if warnings:
        client.set_tag(run, "alarms", warnings[:5000])
    for name in OUTCOME_TAGS:
        client.set_tag(run, name, cast("Mapping[str, str]", outcome)[name])


def attach_predictions(client: "MlflowClient", run: str, predictions: pa.Table) -> None:
    """Attach the predictions of a trial to its run, replacing earlier ones."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "predictions.parquet")
        pq.write_table(predictions, file)
        client.log_artifact(run, str(file))


def write_findings(
    client: "MlflowClient", findings: StudyFindings, experiment: str, parent: str, project: Path
) -> None:
    """Log the findings of a study, and its trials as child runs.

    Args:
        client: Client of the store.
        findings: Return value of `coattend.reports.study.table.study_findings`.
        experiment: Name of the study's experiment.
        parent: Run of the Kedro run.
        project: The project's folder.
    """
    for row in findings["rows"]:
        prefix = f"{row['benchmark']}.{row['variant']}.{_column(row)}"
        values = {"": row["mean"], ".low": row["low"], ".high": row["high"], ".difference": row["difference"]}
        log_values(client, parent, {f"{prefix}{end}": value for end, value in values.items() if value is not None})
    for benchmark, variant, trial in _finished(findings):
        trained_on = findings["trained_on"][benchmark].get(variant, benchmark)
        run = find_or_write(client, trial, trained_on, variant, experiment, parent, project)
        rows = [row for row in findings["rows"] if (row["benchmark"], row["variant"]) == (benchmark, variant)]
        # One run has the scores on every benchmark that its trial is asked; its own go by their plain names.
        prefix = "" if trained_on == benchmark else f"{benchmark}."
        log_values(client, run, {f"{prefix}{_column(row)}": row["seeds"][str(trial["seed"])] for row in rows})


def _finished(findings: StudyFindings) -> Iterator[tuple[str, str, TrialRecord]]:
    for benchmark, by_variant in findings["trials"].items():
        for variant, trials in by_variant.items():
            yield from ((benchmark, variant, trial) for trial in finished(trials))


def _column(row: StudyRow) -> str:
    """The name of a row's metric, such as ``dev.accuracy`` or ``dev.middle.accuracy``."""
    group = "" if row["group"] == EVERYTHING else f"{row['group']}."
    return f"{row['split']}.{group}{row['metric']}"
