"""Child runs: one for each trial."""

import json
import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.evaluation.alarms import alarms
from coattend.masking import masked, masked_text
from coattend.tracking.store import common_tags, experiment_of, log_values, tag_of

if TYPE_CHECKING:
    from mlflow import MlflowClient

MEASURED = ("seconds", "questions_per_second", "peak_memory_mib", "parameters", "held_out", "best_step")
NAMED = ("device", "precision", "tagger", "selection")


class TrialRun:
    """The open run of a trial that is being trained.

    Args:
        client: Where to write.
        run: Its id.
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

    def end(self, outcome: dict[str, Any]) -> None:
        """Write what the trial took, or why it failed, and close the run."""
        if outcome.get("failure"):
            self._client.set_tag(self.run, "failure", masked_text(outcome["failure"])[:5000])
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


def create(client: "MlflowClient", trial: dict[str, Any], experiment: str, parent: str, project: Path) -> str:
    """Open a child run for a trial.

    Args:
        client: Where to write.
        trial: Its content with ``trial_id`` and ``name``.
        experiment: Name of the experiment.
        parent: Run of the Kedro run.
        project: The project's folder.

    Returns:
        The run's id.
    """
    from mlflow.entities import Dataset, DatasetInput, Param

    benchmark, data = trial["benchmark"], trial.get("data", "")
    tags = common_tags(project) | tag_of(experiment)
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
    run = client.create_run(experiment_of(client, experiment, project), tags=tags, run_name=name).info.run_id
    encoder = {"head": trial["head"], "encoder": trial["encoder"]}
    parameters = trial["options"] | encoder | {f"training.{key}": value for key, value in trial["training"].items()}
    client.log_batch(run, params=[Param(key, str(value)) for key, value in masked(parameters).items()])
    if data:
        source = json.dumps({"benchmark": benchmark, "split": "train"})
        client.log_inputs(run, [DatasetInput(Dataset(benchmark, data[:36], source_type="local", source=source))])
    return run


def find_or_write(
    client: "MlflowClient",
    trial: dict[str, Any],
    benchmark: str,
    name: str,
    experiment: str,
    parent: str,
    project: Path,
) -> str:
    """The run of a trial that is done; written after the fact where this experiment has none.

    Args:
        client: Where to write.
        trial: What it came to.
        benchmark: What it was trained on.
        name: What its reader or variant is called.
        experiment: Name of the experiment.
        parent: Run of the Kedro run.
        project: The project's folder.

    Returns:
        The run's id.
    """
    query = f"tags.trial_id = '{trial['trial_id']}' and attributes.status = 'FINISHED'"
    found = client.search_runs([experiment_of(client, experiment, project)], query, max_results=1)
    if found:
        return found[0].info.run_id
    content = {"benchmark": benchmark, "name": name, "reader": trial["variant"]}
    run = create(client, trial | content, experiment, parent, project)
    for point in trial["curve"]:
        # Curves of early trials have no loss on held-out questions.
        values = {key: point[key] for key in ("loss", "held_out", "held_out_loss") if point.get(key) is not None}
        log_values(client, run, values, point["step"])
    write_outcome(client, run, trial)
    client.set_terminated(run, "FINISHED")
    return run


def write_outcome(client: "MlflowClient", run: str, outcome: dict[str, Any]) -> None:
    """Write what a trial took, and the signs of what may be wrong with it."""
    signs = outcome.get("signs", {})
    values = {name: outcome[name] for name in MEASURED} | {f"signs.{name}": value for name, value in signs.items()}
    log_values(client, run, {name: value for name, value in values.items() if value is not None})
    raised = " ".join(alarms(signs))
    if raised:
        client.set_tag(run, "alarms", raised[:5000])
    for name in NAMED:
        client.set_tag(run, name, outcome[name])


def attach_predictions(client: "MlflowClient", run: str, predictions: pa.Table) -> None:
    """Attach what a trial answered to its run, in the place of what was attached before."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "predictions.parquet")
        pq.write_table(predictions, file)
        client.log_artifact(run, str(file))
