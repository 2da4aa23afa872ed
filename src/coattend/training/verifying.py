"""Whether a finished trial answers today as it did when it was scored."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.datasets.stored_tables import StoredTables
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters
from coattend.training.finished import FinishedTrial, answers_of
from coattend.training.fit import Work
from coattend.training.predict import ask
from coattend.training.trained_by import trained_by
from coattend.training.trial import digest_of_files


def verify(
    trial: FinishedTrial, tables: StoredTables, benchmark: BenchmarkParameters, *, attached: pa.Table | None
) -> dict[str, Any]:
    """Ask a trial all that it was scored on once more.

    Args:
        trial: The trial.
        tables: The tables of all benchmarks.
        benchmark: Its benchmark.
        attached: The answers that its MLflow run holds; None: it has no run.

    Returns:
        As JSON whether its weights and data are what they were, how many answers differ from those in its folder, by
        how much scores do at most, and whether its run holds the same answers.

    Raises:
        CoattendError: If its weights, tables or answers are gone.
    """
    plan = trained_by(trial, tables, benchmark, None)
    asked = plan.source.scored(plan.training)
    kept = answers_of(trial, trial.id, asked.questions["question_id"], benchmark.name)
    if not (trial.folder / "model").is_dir():
        raise CoattendError("are gone", where=f"weights of the trial {trial.id}", cure="Train it again")
    again = ask(plan, trial.outcome, asked, trial.folder)
    return {
        "trial": trial.id,
        "about": str(trial),
        "weights": digest_of_files(trial.folder / "model") == trial.outcome["model_digest"],
        "data": Work.of(plan, trial.folder.parent).data == trial.content["data"],
        "run": None if attached is None else _sorted(attached).equals(_sorted(kept)),
        **differences(again, kept),
    }


def differences(again: pa.Table, kept: pa.Table) -> dict[str, Any]:
    """How two tables of predictions of the same questions differ.

    Raises:
        CoattendError: If they are of other questions.
    """
    again, kept = _sorted(again), _sorted(kept)
    if again["question_id"] != kept["question_id"]:
        cure = "Run ingestion, tagging and tokenization with the parameters that it was scored with"
        raise CoattendError("are others than those that were answered", where="questions", cure=cure)
    other = sum(
        mine != theirs
        for mine, theirs in zip(
            *(table.select(["prediction", "correct"]).to_pylist() for table in (again, kept)), strict=True
        )
    )
    return {"questions": len(kept), "other_answers": other, "largest_difference": _largest(again, kept)}


def _largest(again: pa.Table, kept: pa.Table) -> float:
    """Between scores of options and of nothing; 0 where all are the same, to the last bit."""
    found = 0.0
    for column in ("scores", "null_score"):
        mine, theirs = (_flat(table[column]) for table in (again, kept))
        if len(mine):
            found = max(found, float(np.abs(mine - theirs).max()))
    return found


def _flat(column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_list(column.type):
        column = pc.list_flatten(column)
    return column.drop_null().to_numpy()


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by("question_id").combine_chunks()
