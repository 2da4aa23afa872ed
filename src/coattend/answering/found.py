"""A trained reader by what a person calls it: an MLflow model, a run, a trial, a folder or a name on the Hub."""

import re
from pathlib import Path
from typing import Any

import yaml

from coattend.answering import recipe as recipes
from coattend.answering.runs import RUN
from coattend.datasets.mlflow_store import client_of
from coattend.errors import CoattendError, did_you_mean
from coattend.training.finished import find_trial, finished

MODEL = "model"
"""Name of the model of a trial's run."""

READER = "reader"
"""Name of the artefact of an MLflow model that is a packed reader."""

HUB = "hf://"
"""What the name of a reader on the Hugging Face Hub begins with."""

_LOGGED = re.compile(r"m-[0-9a-f]{32}")
_LISTED = 5


def find(given: str | None, trials: Path, store: str, *, where: str = "prediction.model") -> Path:
    """The folder that a reader can be loaded from, with `Answerer.load`.

    Args:
        given: What it is called.
        trials: The folder of all trials.
        store: Address of the MLflow store.
        where: The parameter that says so.

    Raises:
        CoattendError: If there is none of that name; it lists what there is. If the store cannot be asked.
    """
    if not given:
        raise CoattendError("names no trained reader", where=where, cure=listed(trials, store))
    if Path(given).is_dir():
        return _inside(Path(given), where)
    if given.startswith(HUB):
        return _from_hub(given.removeprefix(HUB), where)
    if RUN.fullmatch(given):
        given = f"runs:/{given}/{MODEL}"
    elif _LOGGED.fullmatch(given):
        given = f"models:/{given}"
    if ":/" in given:
        return _inside(_fetched(given, trials, store, where), where)
    if not any(folder.name.startswith(given) for folder in trials.glob("*")):
        raise CoattendError(f"there is no trained reader {given!r}", where=where, cure=listed(trials, store))
    return find_trial(trials, given, where).folder


def listed(trials: Path, store: str) -> str:
    """What there is to choose from, in one sentence."""
    parts = []
    models = logged_models(store)
    if models:
        parts.append("Logged models: " + _some([f"models:/{one.model_id} ({one.tags['about']})" for one in models]))
    names = _registered(store)
    if names:
        parts.append("Registered models: " + _some([f"models:/{name}" for name in names]))
    known = [one for one in finished(trials) if (one.folder / recipes.FILE).is_file()]
    if known:
        parts.append("Trials: " + _some([str(one) for one in known]))
    return ". ".join(parts) or "Nothing is trained here yet: run the pipelines training and evaluation of a reader"


def _some(names: list[str]) -> str:
    more = len(names) - _LISTED
    return "; ".join(names[:_LISTED]) + (f"; and {more} more" if more > 0 else "")


def logged_models(store: str) -> list[Any]:
    """The models in an MLflow store that are readers, the newest first; none where there is no store."""
    client = client_of(store)
    if client is None:
        return []
    experiments = [one.experiment_id for one in client.search_experiments()]
    found = client.search_logged_models(experiments) if experiments else []
    own = [one for one in found if "trial_id" in one.tags]
    return sorted(own, key=lambda one: -one.creation_timestamp)


def _registered(store: str) -> list[str]:
    client = client_of(store)
    return [] if client is None else sorted(one.name for one in client.search_registered_models())


def _fetched(address: str, trials: Path, store: str, where: str) -> Path:
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    if client_of(store) is None:
        raise CoattendError(
            f"there is no MLflow store here to look for {address!r}", where=where, cure=listed(trials, store)
        )
    try:
        return Path(download_artifacts(artifact_uri=address, tracking_uri=store, registry_uri=store))
    # MLflow raises its own errors, and those of the place where models are kept or of the package that knows it.
    except (MlflowException, OSError, ImportError) as error:
        reason = str(error).splitlines()[0][:200]
        name = address.removeprefix("models:/").partition("@")[0].partition("/")[0]
        names = _registered(store) if address.startswith("models:/") else []
        near = f"{did_you_mean(name, names)} " if names and name not in names else ""
        cure = near + listed(trials, store)
        raise CoattendError(f"there is no model {address!r} ({reason})", where=where, cure=cure) from None


def _from_hub(name: str, where: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name))
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0][:200]
        cure = "Write hf://<user>/<name>; a private one is fetched for who is logged in (`hf auth login`)"
        problem = f"there is no reader {name!r} at hand or to be fetched from the Hugging Face Hub ({reason})"
        raise CoattendError(problem, where=where, cure=cure) from None


def _inside(folder: Path, where: str) -> Path:
    """The packed reader in the folder of an MLflow model; a folder of a trial, or a packed reader, is one itself.

    Nothing of an MLflow model but its description is read here, and of the rest only weights and JSON.
    """
    description = folder / "MLmodel"
    if not description.is_file():
        return folder
    flavours = yaml.safe_load(description.read_text()).get("flavors", {})
    kept = flavours.get("python_function", {}).get("artifacts", {}).get(READER, {}).get("path")
    if kept is None or not (folder / kept / recipes.FILE).is_file():
        raise CoattendError("is an MLflow model, but none of coattend", where=f"{where} {folder}")
    return folder / kept
