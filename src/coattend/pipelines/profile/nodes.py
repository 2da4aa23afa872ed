"""Nodes of the profile pipeline: statistics and trivial baselines of a benchmark."""

from coattend.config import BenchmarkParameters, TaggingParameters, TokenizerParameters
from coattend.pipelines.annotations import Dataset, Table


def profile(
    passages: Dataset,
    questions: Dataset,
    rejected: Dataset,
    tags: Dataset,
    tokens: Dataset,
    benchmark: BenchmarkParameters,
    tagging: TaggingParameters,
    tokenizer: TokenizerParameters,
) -> Table:
    """Measure a benchmark as a table of section, split, subset, name, value, and the published value, if any."""
    from coattend.data.profile import statistics
    from coattend.data.profile.baselines import baseline_scores
    from coattend.data.profile.near_copies import near_copy_statistics
    from coattend.text.tagset import tagset
    from coattend.text.tokenizer import load_tokenizer, special_layout

    passage_rows = passages.to_table(columns=["passage_id", "text", "turns"])
    rows = statistics.BenchmarkRows.from_tables(questions.to_table(), passage_rows)
    lengths = statistics.TextLengths.read(tags, tokens)
    special_tokens = special_layout(load_tokenizer(tokenizer)).count
    return statistics.profile_table(
        [
            *statistics.overview_statistics(benchmark, rows, tags, lengths),
            *statistics.count_statistics(benchmark, rows, rejected.count_rows()),
            *statistics.answer_statistics(rows),
            *statistics.length_statistics(benchmark, rows, lengths, special_tokens=special_tokens),
            *statistics.duplicate_statistics(rows),
            *near_copy_statistics(rows),
            *baseline_scores(benchmark, rows),
            *statistics.tag_statistics(tags, tagset(tagging.tagset).names),
        ]
    )


def draw_profile(profile: Dataset, benchmark: BenchmarkParameters) -> str:
    """Render the profile as one HTML page."""
    from coattend.reports.profile import render_html

    return render_html(f"{benchmark.title}: profile", profile.to_table())
