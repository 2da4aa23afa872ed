"""Nodes of the evaluation pipeline."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from coattend.config import BenchmarkParameters, EngineParameters, ReaderParameters, TaggingParameters
from coattend.evaluation.records import GroupScores, ReaderMetrics, TrainedReader, TrialRecord
from coattend.pipelines.annotations import Dataset, Table


def predict(
    model: TrainedReader,
    questions: Dataset,
    passages: Dataset,
    tokens: Dataset,
    trials: Path,
    benchmark: BenchmarkParameters,
    reader: ReaderParameters,
    profiles: Mapping[str, Mapping[str, object]],
    tags: Dataset | None = None,
) -> tuple[Table, Table]:
    """Predict the answers of every trial of a model to the questions of every split but train; beside them, return the
    questions that the reader could not be given."""
    from coattend.inference.predict import predict_all
    from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup

    tables = BenchmarkTables(questions, passages, tokens, tags, benchmark)
    experiment = Experiment.from_config(tables, ReaderSetup.resolve(reader.on(benchmark), profiles))
    engine = EngineParameters.model_validate(profiles["engine"])
    return predict_all(experiment, model["trials"], trials, engine=engine)


def answer(
    questions: Dataset,
    passages: Dataset,
    trials: Path,
    benchmark: BenchmarkParameters,
    reader: ReaderParameters,
    profiles: Mapping[str, Mapping[str, object]],
) -> tuple[TrainedReader, Table, Table]:
    """Answer the questions of every split but train with a language model as it is: return its trials, which are not
    trained, the predictions, and the questions that it could not be given."""
    from coattend.inference.likelihood import LikelihoodTables, OptionLikelihood

    reader = reader.on(benchmark)
    tagging = TaggingParameters.model_validate(profiles["taggings"][reader.tagging])
    tables = LikelihoodTables(questions, passages, benchmark)
    asked = OptionLikelihood(tables, reader, tagging, trials)
    outcomes, predictions, rejected = asked.answer_all()
    model: TrainedReader = {
        "benchmark": benchmark.name,
        "reader": reader.name,
        "task": asked.task,
        "trials": outcomes,
    }
    return model, predictions, rejected


def score(
    predictions: Dataset,
    questions: Dataset,
    passages: Dataset,
    model: TrainedReader,
    benchmark: BenchmarkParameters,
    rejected_questions: Dataset,
) -> ReaderMetrics:
    """Score a reader's predictions on the benchmark, whether or not the reader was trained on it.

    Returns the metrics in percent by split and subset with their intervals; the calibration; the questions that were
    not read, by reason; and the trials with their settings, costs, curves and diagnostics. Trials that failed stay in
    the list and have no part in the metrics.
    """
    import pyarrow.dataset as pads

    from coattend.evaluation import alignment, calibration, groups, no_answer, runs, summary
    from coattend.schemas import SCORED_QUESTIONS, read_passage_texts

    finished = {trial["trial_id"]: trial["seed"] for trial in runs.finished(model["trials"])}
    asked = questions.to_table(columns=groups.COLUMNS)
    metrics = summary.summarise(
        predictions.to_table(columns=alignment.COLUMNS), asked, task=model["task"], trials=finished
    )
    calibration_by_split = calibration.calibrate(
        predictions.to_table(columns=calibration.COLUMNS),
        asked,
        task=model["task"],
        head=runs.head_of(model["trials"], model["task"]),
        trials=finished,
    )
    for split, measures in calibration_by_split.items():
        scores = metrics["splits"][split][groups.EVERYTHING]
        scores["ece"], scores["aurc"] = measures["ece"], measures["aurc"]
    # The best threshold of "no answer" in hindsight bounds what a better one could reach.
    if model["task"] == "span":
        oracle = no_answer.best_with_hindsight(
            predictions.to_table(columns=no_answer.PREDICTION_COLUMNS),
            questions.to_table(columns=no_answer.QUESTION_COLUMNS),
            read_passage_texts(passages),
            scorer=benchmark.scorer,
        )
        for split, oracle_scores in oracle.items():
            metrics["splits"][split][groups.EVERYTHING].update(cast("GroupScores", oracle_scores))
    # A trial's id is enough to find its folder, which is left out of the record.
    trials = [{key: value for key, value in trial.items() if key != "folder"} for trial in model["trials"]]
    # Training questions that could not be read are listed in the trials.
    scored = SCORED_QUESTIONS.format(benchmark=benchmark.name)
    unreadable = rejected_questions.to_table(columns=["reason"], filter=pads.field("file") == scored)
    reasons = Counter(unreadable["reason"].to_pylist())
    return {
        "benchmark": benchmark.name,
        "benchmark_version": benchmark.version,
        "trained_on": model["benchmark"],
        "reader": model["reader"],
        "task": model["task"],
        "scored": runs.digest_of_scored(asked, model["task"]),
        **metrics,
        "calibration": calibration_by_split,
        "not_read": dict(reasons.most_common()),
        "trials": cast("list[TrialRecord]", trials),
    }
