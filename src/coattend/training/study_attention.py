"""What two of a study's variants look at."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.datasets.stored_tables import StoredTables
from coattend.evaluation.groups import TRAINING_SPLIT
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
        parameters: How many questions, and of which split; if there is none of that name, of the first.
        store: The folder of all trials.
        tables: The tables of all benchmarks.

    Returns:
        What `coattend.training.attention.read` returns, readers called as variants are; none where there is no trial or
        no question.
    """
    trials, splits = side_by_side(findings, benchmark.name), _splits(tables.open("questions", benchmark.name))
    if not trials or not splits:
        nothing = {"benchmark": benchmark.name, "title": benchmark.title, "readers": [], "questions": []}
        return ATTENTION.empty_table(), nothing
    left, right = (*(trial["trial_id"] for trial in trials.values()), None)[:2]
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
    maps, told = read(asked, {benchmark.name: benchmark.model_dump()}, store, tables)
    for reader, name in zip(told["readers"], trials, strict=True):
        reader["reader"] = f"{findings['variants'][name]['title']} ({reader['reader']})"
    return maps, told


def _splits(questions: pads.Dataset) -> list[str]:
    """Those that are not trained on."""
    named = pc.unique(questions.to_table(columns=["split"])["split"].cast(pa.string()))
    return sorted(set(named.to_pylist()) - {TRAINING_SPLIT})
