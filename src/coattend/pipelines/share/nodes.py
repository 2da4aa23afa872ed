"""Nodes of the pipeline that shares a trained reader."""

import logging
from pathlib import Path

from coattend.config import ShareParameters
from coattend.config.source import run_command
from coattend.errors import CoattendError
from coattend.pipelines.annotations import StoredTables
from coattend.serving.records import SharedReader

logger = logging.getLogger(__name__)


def write(
    share: ShareParameters,
    benchmarks: dict[str, object],
    trials: Path,
    mlflow_store: str,
    stored_tables: StoredTables,
    shared: Path,
) -> SharedReader:
    """Write a trained reader as a folder that others can load."""
    from coattend.serving import hub as sharing
    from coattend.serving.mlflow_model import trial_commit
    from coattend.serving.model_lookup import describe_choices, example_model, resolve_model
    from coattend.trials import run_spec
    from coattend.trials.store import benchmark_of, find_trial, matching

    if not share.model:
        command = run_command(pipelines="share", with_params=False)
        example = f"{command} --params share.model={example_model(trials)} (share.to=<user>/<name> sends it)"
        cure = f"Say which: {example}. {describe_choices(trials, mlflow_store)}"
        raise CoattendError("names no trained reader", where="share.model", cure=cure)
    folder = resolve_model(share.model, trials, mlflow_store, where="share.model")
    spec = run_spec.read_servable(folder)
    trial = find_trial(trials, spec.trial_id, "share.model")
    benchmark = benchmark_of(trial, benchmarks)
    target = shared / f"{spec.benchmark}-{spec.name}-{trial.id}"
    commit = trial_commit(mlflow_store, trial.id)
    written = sharing.write_folder(
        trial,
        target,
        stored_tables,
        benchmark,
        to=share.to,
        commit=commit,
        # A trial's name may name its answers, too.
        answers=share.model if matching([trial], share.model) else trial.id,
        merge=share.merge,
    )
    logger.info("%s is ready to be shared: %s; prediction.model takes that folder, too", trial, target)
    return written


def upload(sharing: SharedReader, share: ShareParameters, shared: Path) -> None:
    """Upload the folder to the Hugging Face Hub, if a name there is given."""
    from coattend.serving import hub

    if not share.to:
        logger.info("Nothing is sent: share.to names no place on the Hugging Face Hub")
        return
    address = hub.upload(shared / sharing["folder"], share.to, private=share.private)
    logger.info(
        "%s is on the Hugging Face Hub: %s; prediction.model takes hf://%s", sharing["about"], address, share.to
    )
