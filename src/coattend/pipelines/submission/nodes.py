"""Nodes of the submission pipeline."""

from collections import Counter

from coattend.config import BenchmarkParameters
from coattend.errors import CoattendError
from coattend.pipelines.annotations import Dataset


def submit(
    predictions: Dataset | None,
    questions: Dataset,
    passages: Dataset,
    rejected: Dataset,
    benchmark: BenchmarkParameters,
) -> dict[str, str]:
    """Write a reader's predictions as its benchmark wants them: the content of each file by its name."""
    from coattend.evaluation.groups import share_moved_from_dev
    from coattend.reports import submission

    if benchmark.submission is None:
        cure = "Set its parameter 'submission' to squad or recam, or leave its namespace out of this pipeline"
        raise CoattendError("has no form of submission", where=benchmark.title, cure=cure)
    if predictions is None:
        cure = "Run the pipelines training and evaluation first"
        raise CoattendError("has no predictions", where=benchmark.title, cure=cure)
    if benchmark.submission == "recam" and (
        benchmark.scored < 1 or share_moved_from_dev(benchmark, questions, passages) is not None
    ):
        problem = "knows a question by its place in its file, and here some are left out"
        raise CoattendError(problem, where=benchmark.title, cure="Set 'scored' to 1 and 'train_from_dev' to null")
    sources = passages.to_table(columns=["passage_id", "source"]).to_pydict()
    return dict(
        submission.files(
            benchmark.submission,
            questions.to_table(columns=submission.QUESTION_COLUMNS),
            predictions.to_table(columns=submission.PREDICTION_COLUMNS),
            Counter(rejected.to_table(columns=["file"]).column("file").to_pylist()),
            dict(zip(sources["passage_id"], sources["source"], strict=True)),
        )
    )
