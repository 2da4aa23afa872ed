"""The node of the prediction pipeline."""

import logging
from pathlib import Path

from coattend.datasets.sharded import ShardPlan
from coattend.errors import CoattendError
from coattend.parameters import LOCAL, EngineParameters, PredictionParameters

logger = logging.getLogger(__name__)


def answer(
    prediction: PredictionParameters, trials: Path, mlflow_store: str, engine: EngineParameters = LOCAL
) -> dict[str, ShardPlan]:
    """Plan what a trained reader answers to a file of questions.

    Args:
        prediction: Who answers what.
        trials: The folder of all trials.
        mlflow_store: Address of the MLflow store.
        engine: Where shards are answered.

    Returns:
        The plan for its answers, under the name of their folder.

    Raises:
        CoattendError: If the model or the file is not named, or not there.
    """
    from coattend.answering.answerer import Answerer
    from coattend.answering.found import find, listed
    from coattend.answering.questions_file import file_of, plan_of
    from coattend.answering.recipe import weights_of
    from coattend.training.trial import digest_of_files

    if not prediction.model and not prediction.input:
        cure = f"Give both: --params prediction.model=<model>,prediction.input=my.jsonl. {listed(trials, mlflow_store)}"
        raise CoattendError("names neither a trained reader nor a file of questions", where="prediction", cure=cure)
    folder = find(prediction.model, trials, mlflow_store)
    file = file_of(prediction.input)
    answerer = Answerer.load(folder, limits=prediction.limits)
    digest = f"{digest_of_files(weights_of(folder))} {answerer.recipe.model_dump_json()}"
    how = {"rows_per_shard": prediction.rows_per_shard, "workers": prediction.workers}
    plan = plan_of(file, answerer, digest, engine=engine, **how)
    name = prediction.name or file.stem
    recipe = answerer.recipe
    logger.info("%s, trained on %s (trial %s), answers %s", recipe.name, recipe.title, recipe.trial_id, file)
    return {name: plan}
