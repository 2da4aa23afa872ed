"""Log a trained reader as the MLflow model of its run, with its card."""

import hashlib
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

from coattend.evaluation.records import ScoredTrials, TrialRecord
from coattend.io.mlflow_store import LONGEST_TEXT, NOTE, client_of, local_folder, portable_uri
from coattend.serving import model_card
from coattend.serving.model_lookup import MODEL_NAME, READER_ARTIFACT, logged_model
from coattend.serving.preprocessor import pack
from coattend.serving.queries import example_query
from coattend.trials import run_spec
from coattend.trials.run_spec import RunSpec

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel, Run


ENTRY_FILE = Path(__file__).with_name("mlflow_entry.py")
CARD_DIGEST_TAG = "card"
"""Tag of a logged model: a hash of its card and its spec."""
MERGED_TAG = "merged"
"""Tag of a logged model whose adapters are merged: the digest of its weights."""

logger = logging.getLogger(__name__)


def log_reader(
    client: "MlflowClient", run: str, folder: Path, metrics: ScoredTrials, trial: TrialRecord, *, merge: bool = False
) -> str | None:
    """Log a trial's reader as the model of its run, on request with merged adapters; if it is logged already, update
    only its card. Return the model's id; None if it is no model to ask, or one of another benchmark."""
    spec = run_spec.read(folder).without_credentials()
    if not spec.is_servable:
        logger.warning("trial %s reads its questions in part only: it is no model to ask", folder.name)
        return None
    if spec.benchmark != metrics["benchmark"]:
        return None  # It is a model of the benchmark that it was trained on.
    tracked_run = client.get_run(run)
    model = logged_model(client, tracked_run)
    is_new = model is None
    if model is None:
        model = _create(client, tracked_run, spec, trial)
    elif MERGED_TAG in model.tags:
        spec = spec.model_copy(update={"merged": True, "model_digest": model.tags[MERGED_TAG]})
    merge = merge and is_new and spec.has_adapters
    source = model_card.LoggedRun(run, portable_uri(client.tracking_uri), model.model_id)
    described = spec.model_copy(update={"merged": True}) if merge else spec
    card = model_card.build(described, metrics, trial, commit=describe_commit(tracked_run.data.tags), run=source)
    # The metadata block is for the Hub alone.
    text = card.text.lstrip()
    digest = hashlib.sha256(f"{text}{described.model_dump_json()}".encode()).hexdigest()
    if model.tags.get(CARD_DIGEST_TAG) == digest:
        return model.model_id
    with tempfile.TemporaryDirectory() as temporary:
        if is_new:
            model_folder, spec = _save(folder, model, run, Path(temporary), merge=merge)
        else:
            model_folder = Path(temporary, "card")
            (model_folder / "artifacts" / READER_ARTIFACT).mkdir(parents=True)
            run_spec.write(spec, model_folder / "artifacts" / READER_ARTIFACT)
        (model_folder / model_card.FILE).write_text(text)
        client.log_model_artifacts(model.model_id, str(model_folder))
    tags = {CARD_DIGEST_TAG: digest, NOTE: text[:LONGEST_TEXT]}
    if spec.merged:
        tags[MERGED_TAG] = cast(str, spec.model_digest)
    client.set_logged_model_tags(model.model_id, tags)
    client.finalize_logged_model(model.model_id, "READY")
    _show_in_run(model.artifact_location, tracked_run.info.artifact_uri)
    return model.model_id


def _show_in_run(model: str, run: str) -> None:
    """Show the files of a model among those of its run, as ``model``, where both are folders of one disk.

    Weights are links, which take no space; without them, the model has an address of its own alone. All else is copied,
    as NLTK refuses data that have a second name.
    """

    def link_or_copy(file: str, copy: str) -> None:
        (os.link if file.endswith(".safetensors") else shutil.copyfile)(file, copy)

    source, artifacts = local_folder(model), local_folder(run)
    if source is None or artifacts is None:
        return
    target = artifacts / MODEL_NAME
    shutil.rmtree(target, ignore_errors=True)
    try:
        shutil.copytree(source, target, copy_function=link_or_copy)
    except (shutil.Error, OSError):
        shutil.rmtree(target, ignore_errors=True)


def describe_commit(tags: Mapping[str, str]) -> str | None:
    """Return the commit in a run's tags, with a note on uncommitted changes; None if there is none."""
    changed = " with changes that were not committed" if tags.get("git_dirty") == "true" else ""
    return f"{tags['git_sha']}{changed}" if "git_sha" in tags else None


def trial_commit(store: str, trial: str) -> str | None:
    """Return the commit of the first run of a trial; None if the store has none."""
    client = client_of(store)
    if client is None:
        return None
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    order = ["attributes.start_time ASC"]
    runs = client.search_runs(experiments, f"tags.trial_id = '{trial}'", max_results=1, order_by=order)
    return describe_commit(runs[0].data.tags) if runs else None


def _create(client: "MlflowClient", run: "Run", spec: RunSpec, trial: TrialRecord) -> "LoggedModel":
    from mlflow.entities import LoggedModelOutput

    description = f"{spec.name} on {spec.benchmark}, seed {trial['seed']}"
    tags = {"trial_id": spec.trial_id, "benchmark": spec.benchmark, "reader": spec.name, "about": description}
    tags |= {"seed": str(trial["seed"]), "task": spec.task, "licence": spec.licences[:500]}
    # MLflow's names take no punctuation of addresses.
    name = re.sub(r"[^\w+-]", "_", f"{spec.name}-{trial['seed']}")
    parameters = dict(run.data.params)
    model = client.create_logged_model(run.info.experiment_id, name, run.info.run_id, tags, parameters, spec.reader)
    client.log_outputs(run.info.run_id, [LoggedModelOutput(model.model_id, 0)])
    return model


def _save(folder: Path, model: "LoggedModel", run: str, temporary: Path, *, merge: bool) -> tuple[Path, RunSpec]:
    """Save the model in MLflow's layout; return its folder and its spec."""
    import mlflow
    import pandas as pd
    from mlflow.models import Model

    from coattend.serving.reader_model import signature

    spec = pack(folder, temporary / READER_ARTIFACT, merge=merge)
    package = "coattend[lora]" if spec.has_adapters else "coattend"
    mlflow.pyfunc.save_model(
        str(temporary / MODEL_NAME),
        python_model=str(ENTRY_FILE),
        artifacts={READER_ARTIFACT: str(temporary / READER_ARTIFACT)},
        signature=signature(),
        input_example=pd.DataFrame([example_query(spec.task)]),
        pip_requirements=[f"{package}=={version('coattend')}", f"mlflow=={mlflow.__version__}"],
        metadata={"trial_id": spec.trial_id, "benchmark": spec.benchmark, "licence": spec.licences},
        mlflow_model=Model(
            artifact_path=model.artifact_location, run_id=run, model_uuid=model.model_id, model_id=model.model_id
        ),
    )
    return temporary / MODEL_NAME, spec
