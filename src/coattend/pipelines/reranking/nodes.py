"""Nodes of the re-ranking pipeline."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters


def rerank(
    predictions: pads.Dataset | None,
    questions: pads.Dataset,
    passages: pads.Dataset,
    tags: pads.Dataset,
    model: dict[str, Any],
    benchmark: BenchmarkParameters,
) -> tuple[pa.Table, dict[str, Any]]:
    """Rank a cloze reader's best candidates again, with language models of the training passages.

    Args:
        predictions: What its trials answered.
        questions: The benchmark's questions.
        passages: Its passages.
        tags: The tags of its texts.
        model: Reader, task and trials, as the training stage wrote them.
        benchmark: What was asked, and how to rank.

    Returns:
        The new predictions, and what changed.

    Raises:
        CoattendError: If the reader was not evaluated, answers no questions with a missing word or chose from all
            words, or as `coattend.evaluation.reranking.rerank.rerank` says.
    """
    from coattend.evaluation import runs
    from coattend.evaluation.reranking.rerank import rerank as rank_again

    where = f"{benchmark.name}.{model['reader']}"
    if predictions is None:
        raise CoattendError("has no predictions", where=where, cure="Run the pipeline evaluation first")
    asked = questions.to_table(filter=pc.field("task").cast(pa.string()) == "word")
    if model["task"] != "word" or not len(asked):
        raise CoattendError("answers no questions with a missing word", where=where, cure="Leave it out")
    answered = predictions.to_table()
    if answered.column("scores").null_count:
        problem = "chose from all words of the passage, so there are no scores of candidates to go on"
        raise CoattendError(problem, where=where, cure="Train it with `choose: candidates`, or leave it out")
    trials = {trial["trial_id"]: trial["seed"] for trial in runs.finished(model["trials"])}
    about = {"head": runs.head_of(model), "trials": trials, "parameters": benchmark.reranking}
    table, changes = rank_again(answered, asked, passages, tags, **about)
    return table, {"benchmark": benchmark.name, "reader": model["reader"]} | changes
