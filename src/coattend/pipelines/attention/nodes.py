"""Nodes of the attention pipeline."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.datasets.stored_tables import StoredTables
from coattend.parameters import AttentionParameters, BenchmarkParameters


def look(
    attention: AttentionParameters, benchmarks: dict[str, Any], trials: Path, stored_tables: StoredTables
) -> tuple[pa.Table, dict[str, Any]]:
    """Look at chosen questions with the readers of one or two finished trials.

    Returns:
        The attention table, and who read what, the answers and how well maps agree with occlusion.
    """
    from coattend.training.attention import read

    return read(attention, benchmarks, trials, stored_tables)


def look_at_variants(
    findings: dict[str, Any],
    benchmark: BenchmarkParameters,
    variants: dict[str, Any],
    attention: AttentionParameters,
    trials: Path,
    stored_tables: StoredTables,
) -> tuple[pa.Table, dict[str, Any]]:
    """Look at questions with the baseline and the last variant of a study, once it is finished.

    Returns:
        The same as `look`.
    """
    from coattend.training.study_attention import read_variants

    return read_variants(findings, benchmark, variants, attention, trials, stored_tables)


def draw(maps: pads.Dataset, readings: dict[str, Any]) -> str:
    """The attention page: one HTML file."""
    from coattend.reporting.attention_page import render

    return render(readings, maps.to_table())
