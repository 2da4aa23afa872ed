"""Explain answers of two of a study's variants."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import AttentionParameters, BenchmarkParameters, ReaderParameters
from coattend.evaluation.groups import TRAINING_SPLIT
from coattend.evaluation.runs import side_by_side
from coattend.inference.attention_records import AttentionReadings, ExplainedStudy
from coattend.inference.attention_report import explain_trials
from coattend.inference.select_questions import ID_SEPARATOR
from coattend.io.table_store import StoredTables
from coattend.schemas import ATTENTION

logger = logging.getLogger(__name__)


def explain_variants(
    findings: ExplainedStudy,
    benchmark: BenchmarkParameters,
    variants: Mapping[str, Any],
    parameters: AttentionParameters,
    store: Path,
    tables: StoredTables,
) -> tuple[pa.Table, AttentionReadings]:
    """Explain answers of the baseline and of the last variant of a study on one benchmark.

    Without ids the questions are the study's examples of the benchmark; if it has none, a sample of the split, or of
    the first split if there is none of that name. Words are masked in turn unless ``occlusion`` is false.

    Returns:
        As `coattend.inference.attention_report.explain_trials`, with readers named as variants; empty without a trial
        or a question.
    """
    questions = tables.open("questions", benchmark.name)
    trials = side_by_side(findings["trials"][benchmark.name], findings["baseline"])
    splits = _evaluation_splits(questions)
    if not trials or not splits:
        empty: AttentionReadings = {
            "benchmark": benchmark.name,
            "title": benchmark.title,
            "readers": [],
            "questions": [],
        }
        return ATTENTION.empty_table(), empty
    left, right = (*(trial["trial_id"] for trial in trials.values()), None)[:2]
    taggings = {ReaderParameters.model_validate(variants[name]).on(benchmark).tagging for name in trials}
    selection = parameters.model_copy(
        update={
            "left": left,
            "right": right,
            "ids": ids_of(findings, benchmark.name, parameters, questions),
            "split": parameters.split if parameters.split in splits else splits[0],
            # Variants that read different tags restore their own.
            "tagging": taggings.pop() if len(taggings) == 1 else None,
            "occlusion": parameters.occlusion is not False,
        }
    )
    maps, readings = explain_trials(selection, {benchmark.name: benchmark.model_dump()}, store, tables)
    for reader, name in zip(readings["readers"], trials, strict=True):
        reader["reader"] = f"{findings['variants'][name]['title']} ({reader['reader']})"
    return maps, readings


def ids_of(
    findings: ExplainedStudy, benchmark: str, parameters: AttentionParameters, questions: pads.Dataset
) -> str | None:
    """Return the ids of questions to explain, with ``+`` between them: the configured ones, or the study's examples.

    With several benchmarks, each takes its own ids; None if it has none of them.
    """
    table = questions.to_table(
        columns=["question_id", "question"], filter=pads.field("split").cast(pa.string()) != TRAINING_SPLIT
    )
    question_ids, texts = table["question_id"].to_pylist(), table["question"].to_pylist()
    # An example is given by its id or its text; of equal texts the first question counts, as in the study's answers.
    id_by_key = dict(zip(reversed(texts), reversed(question_ids), strict=True))
    id_by_key |= {question_id: question_id for question_id in question_ids}
    if parameters.ids is None:
        keys = [example["question"] for example in findings["examples"] if example["benchmark"] == benchmark]
    elif parameters.ids in id_by_key or len(findings["benchmarks"]) == 1:
        return parameters.ids
    else:
        keys = [part for part in parameters.ids.split(ID_SEPARATOR) if part]
    missing = [key for key in keys if key not in id_by_key]
    if missing:
        logger.warning("%s has none of these questions to look at: %s", benchmark, ", ".join(missing))
    return ID_SEPARATOR.join(id_by_key[key] for key in keys if key in id_by_key) or None


def _evaluation_splits(questions: pads.Dataset) -> list[str]:
    splits = pc.unique(questions.to_table(columns=["split"])["split"].cast(pa.string()))
    return sorted(set(splits.to_pylist()) - {TRAINING_SPLIT})
