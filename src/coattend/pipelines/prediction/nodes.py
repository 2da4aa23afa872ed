"""The node of the prediction pipeline."""

import logging
from pathlib import Path

from coattend.config import LOCAL, EngineParameters, PredictionParameters
from coattend.config.source import run_command
from coattend.errors import CoattendError
from coattend.pipelines.annotations import ShardPlan

logger = logging.getLogger(__name__)


def answer(
    prediction: PredictionParameters, trials: Path, mlflow_store: str, engine: EngineParameters = LOCAL
) -> dict[str, ShardPlan]:
    """Plan the answers of a trained reader to a file of questions, under the name of their folder."""
    from coattend.serving.batch_prediction import plan_answers, questions_file
    from coattend.serving.model_lookup import describe_choices, example_model, resolve_model
    from coattend.serving.predictor import Predictor
    from coattend.trials.run_spec import weights_of
    from coattend.trials.trial import digest_of_files

    if not prediction.model and not prediction.input:
        command = run_command(pipelines="prediction", with_params=False)
        example = f"--params prediction.model={example_model(trials)},prediction.input=my.jsonl"
        cure = f"Give both: {command} {example}. {describe_choices(trials, mlflow_store)}"
        raise CoattendError("names neither a trained reader nor a file of questions", where="prediction", cure=cure)
    folder = resolve_model(prediction.model, trials, mlflow_store)
    file = questions_file(prediction.input)
    predictor = Predictor.load(folder, limits=prediction.limits)
    spec = predictor.spec
    plan = plan_answers(
        file,
        predictor,
        # Shards that were answered by other weights or settings are answered again.
        f"{digest_of_files(weights_of(folder))} {spec.model_dump_json()}",
        engine=engine,
        rows_per_shard=prediction.rows_per_shard,
        workers=prediction.workers,
    )
    name = prediction.name or file.stem
    logger.info("%s, answers %s", spec.about, file)
    return {name: plan}
