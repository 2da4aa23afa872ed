"""The best trained reader of a benchmark, by its dev questions, as a registered model with the alias ``champion``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from coattend.evaluation.summary import METRICS
from coattend.serving.mlflow_model import logged_model
from coattend.serving.model_lookup import NOT_FOUND, attached_predictions
from coattend.serving.records import ChampionRecord, ScoredModel, TrialModel

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

ALIAS = "champion"
DEV = "dev"
"""The split that chooses. Test never does."""

COLUMNS = {"accuracy": "correct", "exact": "correct", "f1": "f1"}
"""Metric to the column of predictions that it is the mean of."""


@dataclass(frozen=True)
class Candidate:
    """A scored trial whose reader is logged as a model; the score is that on the present dev questions, in percent."""

    run: "Run"
    model: str
    score: float

    def about(self) -> ScoredModel:
        """Return the candidate as JSON."""
        tags = self.run.data.tags
        return {
            "reader": tags["reader"],
            "seed": tags["seed"],
            "trial_id": tags["trial_id"],
            "run": self.run.info.run_id,
            "model": self.model,
            "score": self.score,
        }


def registered_name(benchmark: str, task: str, tasks: tuple[str, ...]) -> str:
    """Return the name of a benchmark's registered model; with several tasks there is one for each."""
    return f"coattend-{benchmark}" + (f"-{task}" if len(tasks) > 1 else "")


def update_champion(
    client: "MlflowClient", benchmark: str, name: str, task: str, question_ids: pa.ChunkedArray
) -> ChampionRecord | None:
    """Give the alias to the trial that is best on dev; of equals, to the present champion or the earliest.

    Args:
        client: The MLflow store.
        benchmark: Name of the benchmark.
        name: Name of the registered model.
        task: Its task.
        question_ids: Ids of the dev questions of that task; unanswered ones count as wrong.

    Returns:
        The champion and the champion that it replaced; None without a candidate.
    """
    metric = METRICS[task][-1]
    candidates = list(_candidates(client, benchmark, COLUMNS[metric], question_ids))
    if not candidates:
        return None
    before = _champion(client, name)
    # Candidates come with the earliest first, and `max` keeps the first of equal ones.
    best = max(
        candidates,
        key=lambda candidate: (candidate.score, before is not None and candidate.run.info.run_id == before["run"]),
    )
    record: ChampionRecord = {
        "name": name,
        "alias": ALIAS,
        "metric": f"{DEV}.{metric}",
        "of": len(candidates),
        "champion": best.about(),
        "replaced": None,
    }
    if before is not None and before["run"] == best.run.info.run_id:
        return record
    client.set_registered_model_alias(name, ALIAS, _version(client, name, best))
    scores = {candidate.run.info.run_id: candidate.score for candidate in candidates}
    if before is not None:
        record["replaced"] = {**before, "score": scores.get(before["run"] or "")}
    return record


def _candidates(
    client: "MlflowClient", benchmark: str, column: str, question_ids: pa.ChunkedArray
) -> Iterator[Candidate]:
    """Yield scored trials whose readers are logged, the earliest first.

    Trials that chose their checkpoint on dev are left out: their dev scores are too good.
    """
    experiment = client.get_experiment_by_name(benchmark)
    if experiment is None:
        return
    query = f"tags.kind = 'trial' and tags.benchmark = '{benchmark}' and attributes.status = 'FINISHED'"
    for run in client.search_runs(
        [experiment.experiment_id], query, max_results=5000, order_by=["attributes.start_time ASC"]
    ):
        model = None if run.data.tags.get("selection") == DEV else logged_model(client, run)
        if model is None:
            continue
        answers = attached_predictions(client.tracking_uri, run.info.run_id)
        answers_on_dev = answers.filter(pc.is_in(answers["question_id"], question_ids))
        if len(answers_on_dev):
            # Dividing by all dev questions counts those without an answer as wrong.
            marks = pc.sum(answers_on_dev[column].cast(pa.float64())).as_py()
            yield Candidate(run, model.model_id, round(100 * marks / len(question_ids), 4))


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
    tags = version.tags
    return {
        "reader": tags.get("reader", ""),
        "seed": tags.get("seed", ""),
        "trial_id": tags.get("trial_id", ""),
        "run": version.run_id,
        "model": version.model_id,
    }


def _version(client: "MlflowClient", name: str, best: Candidate) -> str:
    """Return the candidate's version of a registered model, created if needed."""
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name, description=f"The best by its {DEV} questions has the alias {ALIAS}.")
    run = best.run.info.run_id
    # A run that was champion before keeps its version.
    for version in client.search_model_versions(f"name = '{name}'"):
        if version.run_id == run:
            return version.version
    tags = {key: str(value) for key, value in best.about().items() if key in ("reader", "seed", "trial_id")}
    return client.create_model_version(name, f"models:/{best.model}", run, tags=tags, model_id=best.model).version
