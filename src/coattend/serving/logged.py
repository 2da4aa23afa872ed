"""Trained readers as models in an MLflow store."""

import hashlib
import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coattend.answering import recipe as recipes
from coattend.answering.found import MODEL, READER, client_of
from coattend.answering.packing import pack
from coattend.answering.recipe import Recipe
from coattend.serving import card

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel, Run

CODE = Path(__file__).with_name("model_code.py")
CARD_DIGEST = "card"
"""Tag of a logged model: a hash of its card and its recipe."""

logger = logging.getLogger(__name__)


def log_reader(
    client: "MlflowClient", run: str, folder: Path, metrics: Mapping[str, Any], trial: Mapping[str, Any]
) -> None:
    """Log a trial's reader as the model of its run; one that is logged already gets its new card alone.

    Args:
        client: Where to write.
        run: The trial's run.
        folder: The trial's folder.
        metrics: What the evaluation of its reader found.
        trial: What it came to.
    """
    from coattend.serving.signature import input_example

    if not (folder / recipes.FILE).is_file():
        logger.warning("trial %s reads its questions in part only: it is no model to ask", folder.name)
        return
    recipe = recipes.read(folder).without_credentials()
    if recipe.benchmark != metrics["benchmark"]:
        return  # It is a model of the benchmark that it was trained on.
    about = client.get_run(run)
    example = input_example(recipe)
    loading = card.from_mlflow(run, example.to_dict("records")[0], client.tracking_uri)
    text = card.write(recipe, metrics, trial, loading=loading, commit=commit_of(about.data.tags))
    digest = hashlib.sha256(f"{text}{recipe.model_dump_json()}".encode()).hexdigest()
    known = logged_model(client, about)
    if known is not None and known.tags.get(CARD_DIGEST) == digest:
        return
    with tempfile.TemporaryDirectory() as temporary:
        if known is None:
            known = _create(client, about.info.experiment_id, run, recipe, trial)
            saved = _save(folder, recipe, known, run, example, Path(temporary))
        else:
            saved = Path(temporary, "card")
            (saved / "artifacts" / READER).mkdir(parents=True)
            recipes.write(recipe, saved / "artifacts" / READER)
        (saved / card.FILE).write_text(text)
        client.log_model_artifacts(known.model_id, str(saved))
    client.set_logged_model_tags(known.model_id, {CARD_DIGEST: digest})
    client.finalize_logged_model(known.model_id, "READY")


def logged_model(client: "MlflowClient", run: "Run") -> "LoggedModel | None":
    """A run's whole model; None if its reader is not logged."""
    found = client.search_logged_models([run.info.experiment_id], f"source_run_id = '{run.info.run_id}'")
    return next((one for one in found if one.status == "READY"), None)


def commit_of(tags: Mapping[str, str]) -> str | None:
    """The commit that a run's tags name, and whether there was more than that; None where they name none."""
    changed = " with changes that were not committed" if tags.get("git_dirty") == "true" else ""
    return f"{tags['git_sha']}{changed}" if "git_sha" in tags else None


def commit_of_trial(store: str, trial: str) -> str | None:
    """The commit that the first run of a trial names; None where the store has none.

    Args:
        store: Address of the MLflow store.
        trial: The trial's id.
    """
    client = client_of(store)
    if client is None:
        return None
    experiments = [one.experiment_id for one in client.search_experiments()]
    order = ["attributes.start_time ASC"]
    runs = client.search_runs(experiments, f"tags.trial_id = '{trial}'", max_results=1, order_by=order)
    return commit_of(runs[0].data.tags) if runs else None


def _create(
    client: "MlflowClient", experiment: str, run: str, recipe: Recipe, trial: Mapping[str, Any]
) -> "LoggedModel":
    from mlflow.entities import LoggedModelOutput

    about = f"{recipe.name} on {recipe.benchmark}, seed {trial['seed']}"
    tags = {"trial_id": recipe.trial_id, "benchmark": recipe.benchmark, "reader": recipe.name, "about": about}
    made = client.create_logged_model(experiment, MODEL, run, tags | {"licence": recipe.licences[:500]})
    client.log_outputs(run, [LoggedModelOutput(made.model_id, 0)])
    return made


def _save(folder: Path, recipe: Recipe, model: "LoggedModel", run: str, example: Any, temporary: Path) -> Path:
    """A folder with the model as MLflow lays it out."""
    from importlib.metadata import version

    import mlflow
    from mlflow.models import Model

    from coattend.serving.signature import signature

    pack(folder, temporary / READER)
    mlflow.pyfunc.save_model(
        str(temporary / MODEL),
        python_model=str(CODE),
        artifacts={READER: str(temporary / READER)},
        signature=signature(),
        input_example=example,
        pip_requirements=[f"coattend=={version('coattend')}", f"mlflow=={mlflow.__version__}"],
        metadata={"trial_id": recipe.trial_id, "benchmark": recipe.benchmark, "licence": recipe.licences},
        mlflow_model=Model(
            artifact_path=model.artifact_location, run_id=run, model_uuid=model.model_id, model_id=model.model_id
        ),
    )
    return temporary / MODEL
