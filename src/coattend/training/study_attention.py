"""What two of a study's variants look at."""

import logging
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
from coattend.training.choosing import BETWEEN

logger = logging.getLogger(__name__)


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
        parameters: Which questions. Without ids they are the study's examples of the benchmark, or if it has none here,
            as many as wanted of a split; if there is none of that name, of the first. Their words are hidden in turn
            unless that is refused.
        store: The folder of all trials.
        tables: The tables of all benchmarks.

    Returns:
        What `coattend.training.attention.read` returns, readers called as variants are; none where there is no trial or
        no question.
    """
    questions = tables.open("questions", benchmark.name)
    trials, splits = side_by_side(findings, benchmark.name), _splits(questions)
    if not trials or not splits:
        nothing = {"benchmark": benchmark.name, "title": benchmark.title, "readers": [], "questions": []}
        return ATTENTION.empty_table(), nothing
    left, right = (*(trial["trial_id"] for trial in trials.values()), None)[:2]
    taggings = {ReaderParameters.model_validate(variants[name]).tagging for name in trials}
    asked = parameters.model_copy(
        update={
            "left": left,
            "right": right,
            "ids": ids_of(findings, benchmark.name, parameters, questions),
            "split": parameters.split if parameters.split in splits else splits[0],
            # Variants that read different tags say themselves which.
            "tagging": taggings.pop() if len(taggings) == 1 else None,
            "occlusion": parameters.occlusion is not False,
        }
    )
    maps, told = read(asked, {benchmark.name: benchmark.model_dump()}, store, tables)
    for reader, name in zip(told["readers"], trials, strict=True):
        reader["reader"] = f"{findings['variants'][name]['title']} ({reader['reader']})"
    return maps, told


def ids_of(
    findings: Mapping[str, Any], benchmark: str, parameters: AttentionParameters, questions: pads.Dataset
) -> str | None:
    """The ids of the questions to look at: those that are asked for, or else the study's examples.

    Args:
        findings: What the study found.
        benchmark: Whose questions.
        parameters: What is asked for. Of a study's several benchmarks each has its own ids among them.
        questions: The benchmark's questions.

    Returns:
        Ids with ``+`` between them; None where the benchmark has none of them.
    """
    asked = questions.to_table(
        columns=["question_id", "question"], filter=pads.field("split").cast(pa.string()) != TRAINING_SPLIT
    )
    ids = asked["question_id"].to_pylist()
    # The first question that has an example's text, as beside its answers.
    known = dict(zip(reversed(asked["question"].to_pylist()), reversed(ids), strict=True)) | {one: one for one in ids}
    if parameters.ids is None:
        names = [one["question"] for one in findings["examples"] if one["benchmark"] == benchmark]
    elif parameters.ids in known or len(findings["benchmarks"]) == 1:
        return parameters.ids
    else:
        names = [name for name in parameters.ids.split(BETWEEN) if name]
    missing = [name for name in names if name not in known]
    if missing:
        logger.warning("%s has none of these questions to look at: %s", benchmark, ", ".join(missing))
    return BETWEEN.join(known[name] for name in names if name in known) or None


def _splits(questions: pads.Dataset) -> list[str]:
    """Those that are not trained on."""
    named = pc.unique(questions.to_table(columns=["split"])["split"].cast(pa.string()))
    return sorted(set(named.to_pylist()) - {TRAINING_SPLIT})
