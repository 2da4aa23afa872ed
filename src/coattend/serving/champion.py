"""The best trained reader of a benchmark, by its dev questions, as a registered model with the alias ``champion``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from coattend.answering.runs import MISSING, answers_of_run
from coattend.evaluation.scoring import METRICS
from coattend.serving.logged import logged_model

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
    """A scored trial whose reader is logged as a model.

    Attributes:
        run: Its run.
        model: Id of the model.
        score: What it has on today's dev questions, in percent.
    """

    run: "Run"
    model: str
    score: float

    def about(self) -> dict[str, Any]:
        """Who it is, as JSON."""
        named = {name: self.run.data.tags[name] for name in ("reader", "seed", "trial_id")}
        return named | {"run": self.run.info.run_id, "model": self.model, "score": self.score}


def name_of(benchmark: str, task: str, tasks: tuple[str, ...]) -> str:
    """What a champion is registered as; a benchmark that asks for several things has one for each.

    Args:
        benchmark: Name of the benchmark.
        task: What the champion answers.
        tasks: All that the benchmark asks for.
    """
    return f"coattend-{benchmark}" + (f"-{task}" if len(tasks) > 1 else "")


def crown(
    client: "MlflowClient", benchmark: str, name: str, task: str, asked: pa.ChunkedArray
) -> dict[str, Any] | None:
    """Give the trial that is best on dev the alias, unless it has it; of equals, to the one that has it or began first.

    Args:
        client: The MLflow store.
        benchmark: Name of the benchmark.
        name: What its champion is registered as.
        task: What it answers.
        asked: Ids of the dev questions of that task. A trial that was not asked one of them has it wrong.

    Returns:
        The champion, the metric, and whom it replaced, as JSON; None if there is no candidate.
    """
    metric = METRICS[task][-1]
    found = list(_candidates(client, benchmark, COLUMNS[metric], asked))
    if not found:
        return None
    before = _champion(client, name)
    best = max(found, key=lambda one: (one.score, before is not None and one.run.info.run_id == before["run"]))
    told = {"name": name, "alias": ALIAS, "metric": f"{DEV}.{metric}", "of": len(found), "champion": best.about()}
    if before is not None and before["run"] == best.run.info.run_id:
        return told | {"replaced": None}
    client.set_registered_model_alias(name, ALIAS, _version(client, name, best))
    now = {one.run.info.run_id: one.score for one in found}
    return told | {"replaced": before and before | {"score": now.get(before["run"])}}


def _candidates(client: "MlflowClient", benchmark: str, column: str, asked: pa.ChunkedArray) -> Iterator[Candidate]:
    """Scored trials whose readers are logged, the first that began first.

    Those that chose their checkpoint by dev are too good there, and are none.
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
        answers = answers_of_run(client.tracking_uri, run.info.run_id)
        own = answers.filter(pc.is_in(answers["question_id"], asked))
        if len(own):
            marks = pc.sum(own[column].cast(pa.float64())).as_py()
            yield Candidate(run, model.model_id, round(100 * marks / len(asked), 4))


def _champion(client: "MlflowClient", name: str) -> dict[str, Any] | None:
    """Who has the alias."""
    from mlflow.exceptions import MlflowException

    try:
        version = client.get_model_version_by_alias(name, ALIAS)
    except MlflowException as error:
        # MLflow calls the alias of a registered model that does not have it an invalid parameter.
        if error.error_code not in (MISSING, "INVALID_PARAMETER_VALUE"):
            raise
        return None
    named = {key: version.tags.get(key, "") for key in ("reader", "seed", "trial_id")}
    return named | {"run": version.run_id, "model": version.model_id}


def _version(client: "MlflowClient", name: str, best: Candidate) -> str:
    """The version of a registered model that is this candidate's, made where there is none."""
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name, description=f"The best by its {DEV} questions has the alias {ALIAS}.")
    run = best.run.info.run_id
    for version in client.search_model_versions(f"name = '{name}'"):
        if version.run_id == run:
            return version.version
    tags = {key: str(value) for key, value in best.about().items() if key in ("reader", "seed", "trial_id")}
    return client.create_model_version(name, f"models:/{best.model}", run, tags=tags, model_id=best.model).version
