"""The best trained reader of a benchmark, by its dev questions, as a registered model with the alias ``champion``."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from coattend.evaluation.summary import METRICS, score_of_answers
from coattend.readers import is_trained, names
from coattend.serving.model_lookup import NOT_FOUND, attached_predictions, logged_model
from coattend.serving.records import ChampionRecord, TrialModel

if TYPE_CHECKING:
    from mlflow import MlflowClient

ALIAS = "champion"
DEV = "dev"
"""The split that chooses. Test never does."""


def registered_name(benchmark: str, task: str, tasks: tuple[str, ...]) -> str:
    """Return the name of a benchmark's registered model; with several tasks there is one for each."""
    return f"coattend-{benchmark}" + (f"-{task}" if len(tasks) > 1 else "")


def update_champion(
    client: "MlflowClient", benchmark: str, name: str, task: str, question_ids: pa.ChunkedArray
) -> ChampionRecord | None:
    """Give a registered model's alias to the trial that is best on dev; return None without a candidate.

    Of equals the present champion has it, or the earliest. Dev questions of the task without an answer count as wrong.
    """
    metric = METRICS[task][-1]
    candidates = list(_candidates(client, benchmark, metric, question_ids))
    if not candidates:
        return None
    before = _champion(client, name)
    champion_run = before["run"] if before else None
    # Candidates come with the earliest first, and `max` keeps the first of equal ones.
    score, best = max(candidates, key=lambda candidate: (candidate[0], candidate[1]["run"] == champion_run))
    record: ChampionRecord = {
        "name": name,
        "alias": ALIAS,
        "metric": f"{DEV}.{metric}",
        "of": len(candidates),
        "champion": {**best, "score": score},
        "replaced": None,
    }
    if best["run"] == champion_run:
        return record
    client.set_registered_model_alias(name, ALIAS, _version(client, name, best))
    if before is not None:
        scores = {trial["run"]: score for score, trial in candidates}
        record["replaced"] = {**before, "score": scores.get(champion_run)}
    return record


def _candidates(
    client: "MlflowClient", benchmark: str, metric: str, question_ids: pa.ChunkedArray
) -> Iterator[tuple[float, TrialModel]]:
    """Yield scored trials whose readers are logged, each after its score on the dev questions, the earliest first.

    Trials that chose their checkpoint on dev are left out, as their dev scores are too good, and so are language models
    that were not trained.
    """
    experiment = client.get_experiment_by_name(benchmark)
    if experiment is None:
        return
    # A language model as it is has learned nothing of the benchmark.
    untrained = [name for name in names() if not is_trained(name)]
    query = f"tags.kind = 'trial' and tags.benchmark = '{benchmark}' and attributes.status = 'FINISHED'"
    order = ["attributes.start_time ASC"]
    for run in client.search_runs([experiment.experiment_id], query, max_results=5000, order_by=order):
        model = None if run.data.tags.get("selection") == DEV else logged_model(client, run)
        # The type of a logged model is its reader.
        if model is None or model.model_type in untrained:
            continue
        answers = attached_predictions(client.tracking_uri, run.info.run_id)
        score = score_of_answers(answers, metric, question_ids)
        if score is not None:
            yield round(score, 4), _trial_model(run.data.tags, run.info.run_id, model.model_id)


def _champion(client: "MlflowClient", name: str) -> TrialModel | None:
    """Return the present champion; None if nobody has the alias."""
    from mlflow.exceptions import MlflowException

    try:
        version = client.get_model_version_by_alias(name, ALIAS)
    except MlflowException as error:
        # MLflow calls the alias of a registered model that does not have it an invalid parameter.
        if error.error_code not in (NOT_FOUND, "INVALID_PARAMETER_VALUE"):
            raise
        return None
    return _trial_model(version.tags, version.run_id, version.model_id)


def _trial_model(tags: Mapping[str, str], run: str | None, model: str | None) -> TrialModel:
    # A version that somebody registered by hand may have no tags.
    reader, seed, trial_id = (tags.get(name, "") for name in ("reader", "seed", "trial_id"))
    return {"reader": reader, "seed": seed, "trial_id": trial_id, "run": run, "model": model}


def _version(client: "MlflowClient", name: str, best: TrialModel) -> str:
    """Return the candidate's version of a registered model, created if needed."""
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name, description=f"The best by its {DEV} questions has the alias {ALIAS}.")
    # A run that was champion before keeps its version.
    for version in client.search_model_versions(f"name = '{name}'"):
        if version.run_id == best["run"]:
            return version.version
    tags = {"reader": best["reader"], "seed": best["seed"], "trial_id": best["trial_id"]}
    model = best["model"]
    return client.create_model_version(name, f"models:/{model}", best["run"], tags=tags, model_id=model).version
