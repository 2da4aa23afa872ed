"""What a study found, in its experiment: each trial's scores as columns, the variants' means at the parent run."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.runs import finished
from coattend.tracking import trials
from coattend.tracking.store import log_values

if TYPE_CHECKING:
    from mlflow import MlflowClient


def write_findings(
    client: "MlflowClient", findings: dict[str, Any], experiment: str, parent: str, project: Path
) -> None:
    """Write what a study found.

    Args:
        client: Where to write.
        findings: What `coattend.reporting.study_table.results_of` returned.
        experiment: Name of the study's experiment.
        parent: Run of the Kedro run.
        project: The project's folder.
    """
    for row in findings["rows"]:
        place = f"{row['benchmark']}.{row['variant']}.{_column(row)}"
        ends = {"": row["mean"], ".low": row["low"], ".high": row["high"], ".difference": row["difference"]}
        log_values(client, parent, {f"{place}{end}": value for end, value in ends.items() if value is not None})
    for benchmark, variant, trial in _finished(findings):
        trained_on = findings["trained_on"][benchmark].get(variant, benchmark)
        run = trials.find_or_write(client, trial, trained_on, variant, experiment, parent, project)
        mine = [row for row in findings["rows"] if (row["benchmark"], row["variant"]) == (benchmark, variant)]
        # One run has the scores on every benchmark that its trial is asked; its own go by their plain names.
        place = "" if trained_on == benchmark else f"{benchmark}."
        log_values(client, run, {f"{place}{_column(row)}": row["seeds"][str(trial["seed"])] for row in mine})


def _finished(findings: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for benchmark, by_variant in findings["trials"].items():
        for variant, given in by_variant.items():
            yield from ((benchmark, variant, trial) for trial in finished(given))


def _column(row: dict[str, Any]) -> str:
    """The name of a row's metric, such as ``dev.accuracy`` or ``dev.middle.accuracy``."""
    group = "" if row["group"] == EVERYTHING else f"{row['group']}."
    return f"{row['split']}.{group}{row['metric']}"
