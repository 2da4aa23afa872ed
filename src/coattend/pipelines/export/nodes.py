"""Nodes of the export pipeline: a benchmark and its readers' scores, for those who measure elsewhere."""

import logging
from pathlib import Path

from coattend.config import BenchmarkParameters, ExportParameters
from coattend.config.source import run_command
from coattend.pipelines.annotations import Dataset, StoredAnswers, Table

logger = logging.getLogger(__name__)


def export_task(
    questions: Dataset, passages: Dataset, benchmark: BenchmarkParameters, export: ExportParameters
) -> tuple[dict[str, str], dict[str, Table]]:
    """Write a benchmark as tasks of lm-evaluation-harness: the files and the tables of
    `coattend.data.harness_task.HarnessTask`."""
    from coattend.data.harness_task import harness_task, run_with

    task = harness_task(questions, passages, benchmark, export)
    logger.info("%s: %s", benchmark.title, run_with(task.names))
    return task.files, task.tables


def export_scores(
    answered: StoredAnswers, questions: Dataset, trials: Path, benchmark: BenchmarkParameters, export: ExportParameters
) -> str:
    """Write the scores of a benchmark's readers as EuroEval records them, in JSON Lines."""
    from coattend.reports import euroeval

    records = [
        record
        for reader in answered.readers()
        if (predictions := answered.predictions(reader)) is not None
        for record in euroeval.records(
            answered.metrics(reader),
            predictions.to_table(columns=euroeval.PREDICTION_COLUMNS),
            questions.to_table(columns=euroeval.QUESTION_COLUMNS),
            benchmark,
            trials=trials,
            publisher=export.publisher,
        )
    ]
    if not records:
        command = run_command(pipelines="evaluation", namespaces=benchmark.name, with_params=False)
        logger.warning("%s: no reader of it was scored on dev or test. Score one: %s", benchmark.title, command)
    return euroeval.to_lines(records)
