"""Nodes of the pipeline that counts the answers that depend on their batch."""

from collections.abc import Mapping
from pathlib import Path

from coattend.config import BatchInvarianceParameters
from coattend.evaluation.records import BatchInvariance
from coattend.pipelines.annotations import StoredTables


def count_changes(
    parameters: BatchInvarianceParameters, benchmarks: Mapping[str, object], trials: Path, stored_tables: StoredTables
) -> list[BatchInvariance]:
    """Count, for each of some trials, the answers that differ between one question at a time and full batches."""
    from coattend.training.batch_invariance import count_changed_answers, select_trials
    from coattend.trials.store import benchmark_of

    return [
        count_changed_answers(
            trial,
            stored_tables,
            benchmark_of(trial, benchmarks),
            questions=parameters.questions,
        )
        for trial in select_trials(trials, parameters)
    ]
