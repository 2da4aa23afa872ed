"""Find a trained reader by trial id, MLflow run, registered model or folder."""

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from coattend.config.source import run_command
from coattend.errors import CoattendError, did_you_mean, first_line
from coattend.io.mlflow_store import client_of, store_errors
from coattend.trials import run_spec
from coattend.trials.store import FinishedTrial, described, find_trial, finished_trials, first_training, matching

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel, Run

RUN_ID = re.compile(r"[0-9a-f]{32}")
"""Id of an MLflow run."""

NOT_FOUND = "RESOURCE_DOES_NOT_EXIST"
"""MLflow's error code for a missing entity; other codes are failures of the store."""

MODEL_NAME = "model"
"""Name of the model of a trial's run."""

READER_ARTIFACT = "reader"
"""Name of the artefact of an MLflow model that is a packed reader."""

HUB_PREFIX = "hf://"
"""Prefix of the name of a reader on the Hugging Face Hub."""

_RUN_MODEL = re.compile(rf"(?:runs:/)?({RUN_ID.pattern})(?:/{MODEL_NAME})?")
_MODEL_ID = re.compile(r"m-[0-9a-f]{32}")
_MAX_LISTED = 5


def resolve_run(store: str, run_or_trial: str) -> tuple[str | None, str]:
    """Resolve the id of a run, or the name of a trial or the beginning of its id, to the run, if it is the id of one,
    and the trial."""
    if not RUN_ID.fullmatch(run_or_trial):
        return None, run_or_trial
    from mlflow.exceptions import MlflowException

    cure = "Take one from the MLflow UI (make mlflow), or a trial's id"
    client = client_of(store)
    if client is None:
        raise CoattendError(f"there is no MLflow store here to look for run {run_or_trial}", where="run", cure=cure)
    with store_errors(store, writing=False):
        try:
            tags = client.get_run(run_or_trial).data.tags
        except MlflowException as error:
            if error.error_code != NOT_FOUND:
                raise
            raise CoattendError(f"there is no run {run_or_trial}", where="run", cure=cure) from None
    if "trial_id" not in tags:
        raise CoattendError("is no run of a trial", where=f"run {run_or_trial}", cure="Take one of its child runs")
    return run_or_trial, tags["trial_id"]


def attached_predictions(store: str, run: str) -> pa.Table:
    """Download the predictions that are attached to a run; raise if there are none."""
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    with store_errors(store, writing=False), tempfile.TemporaryDirectory() as folder:
        client = MlflowClient(store)
        try:
            file = client.download_artifacts(run, "predictions.parquet", folder)
        except (MlflowException, OSError) as error:
            if getattr(error, "error_code", NOT_FOUND) != NOT_FOUND:
                raise
            found = client.get_run(run)
            tags, experiment = found.data.tags, client.get_experiment(found.info.experiment_id).name
            cure = f"Name its trial, whose answers are kept: --params run={tags['trial_id']}"
            if "study" not in tags:
                reader = f"{experiment}.{tags['reader']}"
                cure = f"Score its reader: {run_command(pipelines='evaluation', namespaces=reader, with_params=False)}"
            raise CoattendError("holds no predictions", where=f"run {run}", cure=cure) from None
        return pq.read_table(Path(file))


def run_metrics(store: str, run: str) -> dict[str, float]:
    """Return the last value of each metric of a run."""
    from mlflow import MlflowClient

    with store_errors(store, writing=False):
        metrics: dict[str, float] = MlflowClient(store).get_run(run).data.metrics
    return metrics


def resolve_model(name: str | None, trials: Path, store: str, *, where: str = "prediction.model") -> Path:
    """Resolve a folder, trial, run id, model id or address, or ``hf://`` name to a folder for `Predictor.load`.

    A trial is named as `coattend.trials.store.find_trial` takes it, such as ``sample.plain/0``.

    Raises:
        CoattendError: If there is none of that name; it lists what there is. If the store cannot be asked.
    """
    if not name:
        raise CoattendError("names no trained reader", where=where, cure=describe_choices(trials, store))
    if Path(name).is_dir():
        return _packed_reader(Path(name), where)
    if name.startswith(HUB_PREFIX):
        return _from_hub(name.removeprefix(HUB_PREFIX), where)
    if run := _RUN_MODEL.fullmatch(name):
        name = _model_of_run(run[1], store) or f"runs:/{run[1]}/{MODEL_NAME}"
    elif _MODEL_ID.fullmatch(name):
        name = f"models:/{name}"
    # An address of MLflow: of a run, a logged model or a registered one.
    if ":/" in name:
        return _packed_reader(_download(name, trials, store, where), where)
    is_id = any(folder.name.startswith(name) for folder in trials.glob("*"))
    if not is_id and not matching(finished_trials(trials), name):
        raise CoattendError(f"there is no trained reader {name!r}", where=where, cure=describe_choices(trials, store))
    return find_trial(trials, name, where).folder


def example_model(trials: Path) -> str:
    """Name the trained reader that was finished last, for a command that can be pasted; a placeholder without one."""
    servable = _servable(trials)
    if not servable:
        return "<model>"
    newest = max(servable, key=lambda trial: trial.finished_at)
    return newest.id if any(trial.name == newest.name and trial != newest for trial in servable) else newest.name


def _servable(trials: Path) -> list[FinishedTrial]:
    return [trial for trial in finished_trials(trials) if trial.outcome["training"]["reads"] == "all"]


def describe_choices(trials: Path, store: str) -> str:
    """List the trained readers to choose from, in one sentence."""
    servable = _servable(trials)
    choices = {
        "Logged models": [f"models:/{model.model_id} ({model.tags['about']})" for model in logged_models(store)],
        "Registered models": [f"models:/{name}" for name in _registered_models(store)],
        "Trials": list(described(servable, servable)),
    }
    parts = []
    for title, names in choices.items():
        rest = [f"and {len(names) - _MAX_LISTED} more"] if len(names) > _MAX_LISTED else []
        if names:
            parts.append(f"{title}: {'; '.join(names[:_MAX_LISTED] + rest)}")
    return ". ".join(parts) or f"Nothing is trained here yet: {first_training()}"


def _model_of_run(run: str, store: str) -> str | None:
    """Return the address of the model of a run; None if it has none, or there is no such run."""
    from mlflow.exceptions import MlflowException

    client = client_of(store)
    if client is None:
        return None
    try:
        model = logged_model(client, client.get_run(run))
    except MlflowException as error:
        if error.error_code != NOT_FOUND:
            raise
        return None
    return None if model is None else f"models:/{model.model_id}"


def logged_model(client: "MlflowClient", run: "Run") -> "LoggedModel | None":
    """Return the model of a run; None if its reader is not logged."""
    models = client.search_logged_models([run.info.experiment_id], f"source_run_id = '{run.info.run_id}'")
    return next(filter(_is_ready, models), None)


def logged_models(store: str) -> "list[LoggedModel]":
    """Return the logged readers of an MLflow store, the newest first; none without a store."""
    client = client_of(store)
    if client is None:
        return []
    experiments = [model.experiment_id for model in client.search_experiments()]
    models = client.search_logged_models(experiments) if experiments else []
    readers = (model for model in models if "trial_id" in model.tags and _is_ready(model))
    return sorted(readers, key=lambda model: -model.creation_timestamp)


def _is_ready(model: "LoggedModel") -> bool:
    """Return False for a model that was left without its files."""
    return bool(model.status == "READY")


def _registered_models(store: str) -> list[str]:
    client = client_of(store)
    return [] if client is None else sorted(model.name for model in client.search_registered_models())


def _download(address: str, trials: Path, store: str, where: str) -> Path:
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    if client_of(store) is None:
        problem = f"there is no MLflow store here to look for {address!r}"
        raise CoattendError(problem, where=where, cure=describe_choices(trials, store))
    try:
        return Path(download_artifacts(artifact_uri=address, tracking_uri=store, registry_uri=store))
    # MLflow raises its own errors, and those of the place where models are kept or of the package that knows it.
    except (MlflowException, OSError, ImportError) as error:
        reason = first_line(error)
        # The bare name, without alias and version, finds registered models that are spelt alike.
        name = address.removeprefix("models:/").partition("@")[0].partition("/")[0]
        names = _registered_models(store) if address.startswith("models:/") else []
        near = f"{did_you_mean(name, names)} " if names and name not in names else ""
        cure = near + describe_choices(trials, store)
        raise CoattendError(f"there is no model {address!r} ({reason})", where=where, cure=cure) from None


def _from_hub(name: str, where: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]  # Of its HTTP library.

    try:
        return Path(snapshot_download(name))
    except (OSError, ValueError, HTTPError) as error:
        reason = first_line(error)
        cure = "Write hf://<user>/<name>; a private one is fetched for who is logged in (`hf auth login`)"
        problem = f"there is no reader {name!r} at hand or to be fetched from the Hugging Face Hub ({reason})"
        raise CoattendError(problem, where=where, cure=cure) from None


def _packed_reader(folder: Path, where: str) -> Path:
    """Return the packed reader in the folder of an MLflow model; any other folder is taken for one itself.

    Nothing of an MLflow model but its description is read here, and of the rest only weights and JSON.
    """
    description = folder / "MLmodel"
    if not description.is_file():
        return folder
    flavours = yaml.safe_load(description.read_text()).get("flavors", {})
    artifact = flavours.get("python_function", {}).get("artifacts", {}).get(READER_ARTIFACT, {}).get("path")
    if artifact is None or not (folder / artifact / run_spec.FILE).is_file():
        raise CoattendError("is an MLflow model, but none of coattend", where=f"{where} {folder}")
    return folder / str(artifact)
