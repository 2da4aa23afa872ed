"""Nodes of the attention pipeline."""

from pathlib import Path
from typing import Any

from coattend.config import AttentionParameters, BenchmarkParameters
from coattend.inference.attention_records import AttentionReadings, ExplainedStudy
from coattend.pipelines.annotations import Dataset, StoredTables, Table


def look(
    attention: AttentionParameters, benchmarks: dict[str, Any], trials: Path, stored_tables: StoredTables
) -> tuple[Table, AttentionReadings]:
    """Look at chosen questions with the readers of one or two finished trials: return the attention table, and who read
    what, the answers and how well maps agree with occlusion."""
    from coattend.inference.attention_report import explain_trials

    return explain_trials(attention, benchmarks, trials, stored_tables)


def look_at_variants(
    findings: ExplainedStudy,
    benchmark: BenchmarkParameters,
    variants: dict[str, Any],
    attention: AttentionParameters,
    trials: Path,
    stored_tables: StoredTables,
) -> tuple[Table, AttentionReadings]:
    """Look at questions, as `look` does, with the baseline and the last variant of a study, once it is finished."""
    from coattend.inference.study_attention import explain_variants

    return explain_variants(findings, benchmark, variants, attention, trials, stored_tables)


def draw(maps: Dataset, readings: AttentionReadings) -> str:
    """Draw the attention page as one HTML file."""
    from coattend.reports.attention import render_html

    return render_html(readings, maps.to_table())


def draw_in_study(maps: Dataset, readings: AttentionReadings) -> str:
    """Draw the attention page of a study, whose folder is one deeper."""
    from coattend.reports.attention import render_html

    return render_html(readings, maps.to_table(), folder="../../")
