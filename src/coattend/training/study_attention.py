"""What two of a study's variants look at."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from coattend.datasets.stored_tables import StoredTables
from coattend.evaluation.runs import side_by_side
from coattend.parameters import AttentionParameters, BenchmarkParameters, ReaderParameters
from coattend.tables import ATTENTION
from coattend.training.attention import read


def read_variants(
    findings: Mapping[str, Any],
    benchmark: BenchmarkParameters,
    variants: Mapping[str, Any],
    parameters: AttentionParameters,
    store: Path,
    tables: StoredTables,
) -> tuple[pa.Table, dict[str, Any]]:
    """Look at questions of a benchmark with the baseline and the last variant of a study.

    Args:
        findings: What the study found.
        benchmark: Whose questions.
        variants: The study's variants as readers' entries.
        parameters: How many questions, and of which split; if none of that is scored, of the first that is.
        store: The folder of all trials.
        tables: The tables of all benchmarks.

    Returns:
        What `coattend.training.attention.read` returns; without readers where no trial is there to look at.
    """
    trials = side_by_side(findings, benchmark.name)
    if not trials:
        nothing = {"benchmark": benchmark.name, "title": benchmark.title, "readers": [], "questions": []}
        return ATTENTION.empty_table(), nothing
    left, right = (*(trial["trial_id"] for trial in trials.values()), None)[:2]
    splits = sorted({row["split"] for row in findings["rows"] if row["benchmark"] == benchmark.name})
    taggings = {ReaderParameters.model_validate(variants[name]).tagging for name in trials}
    asked = parameters.model_copy(
        update={
            "left": left,
            "right": right,
            "ids": None,
            "split": parameters.split if parameters.split in splits else splits[0],
            # Variants that read different tags say themselves which.
            "tagging": taggings.pop() if len(taggings) == 1 else None,
        }
    )
    return read(asked, {benchmark.name: benchmark.model_dump()}, store, tables)
