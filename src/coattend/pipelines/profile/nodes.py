"""Nodes of the profile pipeline."""

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.parameters import BenchmarkParameters, TaggingParameters, TokenizerParameters
from coattend.profiling.answers import answers
from coattend.profiling.baselines import baselines
from coattend.profiling.copies import copies
from coattend.profiling.counts import counts
from coattend.profiling.lengths import lengths
from coattend.profiling.material import Material
from coattend.profiling.overview import overview
from coattend.profiling.tags import tag_shares
from coattend.profiling.texts import Lengths
from coattend.tables import PROFILE
from coattend.text.subwords import load_tokenizer, special_layout
from coattend.text.tagset import tagset


def profile(
    passages: pads.Dataset,
    questions: pads.Dataset,
    rejected: pads.Dataset,
    tags: pads.Dataset,
    tokens: pads.Dataset,
    benchmark: BenchmarkParameters,
    tagging: TaggingParameters,
    tokenizer: TokenizerParameters,
) -> pa.Table:
    """Measure a benchmark.

    Returns:
        The profile table: section, split, subset, name, value, and the published value where there is one.
    """
    material = Material.of(questions.to_table(), passages.to_table(columns=["passage_id", "text", "turns"]))
    texts = Lengths.read(tags, tokens)
    rows = [
        *overview(benchmark, material, tags, texts),
        *counts(benchmark, material, rejected.count_rows()),
        *answers(material),
        *lengths(benchmark, material, texts, special_tokens=special_layout(load_tokenizer(tokenizer)).count),
        *copies(material),
        *baselines(benchmark, material),
        *tag_shares(tags, tagset(tagging.tagset).names),
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, PROFILE, strict=True)], schema=PROFILE)


def draw_profile(profile: pads.Dataset, benchmark: BenchmarkParameters) -> str:
    """The profile as one HTML page."""
    from coattend.reporting import html_page, profile_page

    return html_page.page(f"{benchmark.title}: profile", profile_page.sections(profile.to_table()))
