"""Nodes of the evaluation pipeline."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.parameters import (
    LOCAL,
    BenchmarkParameters,
    EncoderParameters,
    EngineParameters,
    ReaderParameters,
    TaggingParameters,
    TokenizerParameters,
)


def predict(
    model: dict[str, Any],
    questions: pads.Dataset,
    passages: pads.Dataset,
    tokens: pads.Dataset,
    trials: Path,
    benchmark: BenchmarkParameters,
    reader: ReaderParameters,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
    tagging: TaggingParameters,
    benchmarks: dict[str, Any],
    engine: EngineParameters = LOCAL,
    tags: pads.Dataset | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Ask every trial of a model the questions of every split but train, and keep with each how it is asked.

    Returns:
        The predictions, and the questions that the reader could not be given.
    """
    from coattend.answering.recipe import keep_recipes
    from coattend.training.plans import plan_of
    from coattend.training.predict import predict_all

    plan = plan_of(questions, passages, tokens, tags, benchmark, reader, encoder, tokenizer)
    keep_recipes(plan, model, trials, benchmark, tagging, benchmarks)
    return predict_all(plan, model, trials, engine=engine)


def score(
    predictions: pads.Dataset,
    questions: pads.Dataset,
    passages: pads.Dataset,
    model: dict[str, Any],
    benchmark: BenchmarkParameters,
    rejected_questions: pads.Dataset,
) -> dict[str, Any]:
    """Score a reader's predictions.

    Args:
        predictions: What its trials answered.
        questions: The benchmark's questions.
        passages: Its passages.
        model: Reader, task and trials, as the training stage wrote them.
        benchmark: What is scored on, whether or not the reader was trained on it.
        rejected_questions: Questions that the reader could not be given.

    Returns:
        The metrics with all that is needed to read them: benchmark, reader, task, the metrics in percent by split and
        subset with their intervals, how sure its answers are, what was not scored or not read and why, and the trials
        with their settings, costs, curves and signs. Trials that failed stay in the list and have no part in the
        metrics.

    Raises:
        CoattendError: If the predictions are not the model's.
    """
    from coattend.evaluation import answers, confidence, groups, oracle, runs, scoring
    from coattend.text.passages import passage_texts

    finished = {trial["trial_id"]: trial["seed"] for trial in runs.finished(model["trials"])}
    summary = scoring.summarise(
        predictions.to_table(columns=answers.COLUMNS),
        questions.to_table(columns=groups.COLUMNS),
        task=model["task"],
        trials=finished,
    )
    sure = confidence.calibrate(
        predictions.to_table(columns=confidence.COLUMNS),
        questions.to_table(columns=groups.COLUMNS),
        task=model["task"],
        head=runs.head_of(model),
        trials=finished,
    )
    for split, found in sure.items():
        summary["splits"][split][groups.EVERYTHING] |= {name: found[name] for name in ("ece", "aurc")}
    if model["task"] == "span":
        best = oracle.best_with_hindsight(
            predictions.to_table(columns=oracle.PREDICTION_COLUMNS),
            questions.to_table(columns=oracle.QUESTION_COLUMNS),
            passage_texts(passages),
        )
        for split, found in best.items():
            summary["splits"][split][groups.EVERYTHING] |= found
    trials = [{key: value for key, value in trial.items() if key != "folder"} for trial in model["trials"]]
    named = {"benchmark": benchmark.name, "reader": model["reader"], "task": model["task"]}
    # Those that it could not be given in training stand in its trials.
    unread = rejected_questions.to_table(columns=["reason"], filter=pads.field("file") == f"{benchmark.name}, scored")
    reasons = Counter(unread["reason"].to_pylist())
    return named | summary | {"calibration": sure, "not_read": dict(reasons.most_common()), "trials": trials}
