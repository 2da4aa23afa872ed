"""Nodes of the re-ranking pipeline."""

from coattend.config import BenchmarkParameters
from coattend.config.source import run_command
from coattend.errors import CoattendError
from coattend.evaluation.records import TrainedReader
from coattend.evaluation.reranking.records import RerankedReader
from coattend.pipelines.annotations import Dataset, Table


def rerank(
    predictions: Dataset | None,
    questions: Dataset,
    passages: Dataset,
    model: TrainedReader,
    benchmark: BenchmarkParameters,
) -> tuple[Table, RerankedReader]:
    """Rank a cloze reader's best candidates again, with language models of the training passages: return the new
    predictions, and the changes in metrics."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from coattend.evaluation import runs
    from coattend.evaluation.reranking.rerank import rerank as rank_again

    where = f"{benchmark.name}.{model['reader']}"
    if predictions is None:
        raise CoattendError(
            "has no predictions", where=where, cure=f"Write them first: {run_command(namespaces=where)}"
        )
    cloze_questions = questions.to_table(filter=pc.field("task").cast(pa.string()) == "word")
    if model["task"] != "word" or not len(cloze_questions):
        raise CoattendError("answers no questions with a missing word", where=where, cure="Leave it out")
    answers = predictions.to_table()
    if answers.column("scores").null_count:
        problem = "chose from all words of the passage, so there are no scores of candidates to go on"
        raise CoattendError(problem, where=where, cure="Train it with `choose: candidates`, or leave it out")
    trials = {trial["trial_id"]: trial["seed"] for trial in runs.finished(model["trials"])}
    table, changes = rank_again(
        answers,
        cloze_questions,
        passages,
        head=runs.head_of(model["trials"], model["task"]),
        trials=trials,
        parameters=benchmark.reranking,
    )
    return table, {"benchmark": benchmark.name, "reader": model["reader"], **changes}
