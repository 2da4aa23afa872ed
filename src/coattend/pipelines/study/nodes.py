"""Nodes of a study's pipeline."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.errors import CoattendError
from coattend.parameters import (
    LOCAL,
    BenchmarkParameters,
    EncoderParameters,
    EngineParameters,
    ReaderParameters,
    StudyParameters,
    StudySettings,
    TaggingParameters,
    TokenizerParameters,
)
from coattend.tables import PREDICTIONS

NO_START: dict[str, Any] = {"trials": []}
"""In the place of what a variant starts from, for those that begin with fresh readers."""


def prepare(
    about: StudyParameters,
    settings: StudySettings,
    variants: dict[str, Any],
    encoders: dict[str, Any],
    tokenizers: dict[str, Any],
    trials: Path,
    **tables: Any,
) -> dict[str, Any]:
    """Say what a study will cost and how small a difference it can show, and keep within its budget.

    Args:
        about: The study.
        settings: What all studies share.
        variants: Its variants as readers' entries.
        encoders: All encoders.
        tokenizers: All tokenizer profiles.
        trials: The folder of all trials.
        tables: Tables and parameters of its benchmarks, as ``<benchmark>.<table>``.

    Returns:
        The costs by benchmark and variant, with those that are left out for the budget.
    """
    from coattend.readers import encoder_of
    from coattend.training.plans import BenchmarkTables, plans_of
    from coattend.training.study_costs import estimate

    def tables_of(benchmark: str, variant: ReaderParameters) -> BenchmarkTables:
        profile = EncoderParameters.model_validate(encoders[variant.encoder]).tokenizer
        words = encoder_of(variant.reader) == "recurrent"
        return BenchmarkTables(
            BenchmarkParameters.model_validate(tables[f"{benchmark}.benchmark"]),
            *(tables[f"{benchmark}.{name}"] for name in ("questions", "passages")),
            tables[f"{benchmark}.{variant.tagging}.{profile}.tokens"],
            tables[f"{benchmark}.{variant.tagging}.tags"] if words else None,
        )

    plans = {}
    for name in about.variants:
        variant = ReaderParameters.model_validate(variants[name]).with_seeds(settings.seeds)
        encoder = EncoderParameters.model_validate(encoders[variant.encoder])
        tokenizer = TokenizerParameters.model_validate(tokenizers[encoder.tokenizer])
        for benchmark in about.benchmarks_of(name):
            also = [tables_of(other, variant) for other in variant.training.get("train_on", {}) if other != benchmark]
            plans[benchmark, name] = plans_of(tables_of(benchmark, variant), also, variant, encoder, tokenizer)
    return estimate(about, plans, trials, hours=about.budget_hours or settings.budget_hours)


def run_variant(
    questions: pads.Dataset,
    passages: pads.Dataset,
    tokens: pads.Dataset,
    trials: Path,
    benchmark: BenchmarkParameters,
    variant: ReaderParameters,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
    tagging: TaggingParameters,
    about: StudyParameters,
    settings: StudySettings,
    costs: dict[str, Any],
    benchmarks: dict[str, Any],
    engine: EngineParameters = LOCAL,
    tags: pads.Dataset | None = None,
    start: dict[str, Any] | None = NO_START,
    **others: Any,
) -> tuple[dict[str, Any], pa.Table]:
    """Train a variant's trials, or find them done, and ask them the questions of every split but train.

    Args:
        questions: The benchmark's questions.
        passages: Its passages.
        tokens: Its subwords.
        trials: The folder of all trials.
        benchmark: What it is.
        variant: The reader.
        encoder: Its pretrained encoder.
        tokenizer: Where the subwords come from.
        tagging: How words were found and tagged.
        about: The study; where it has a search, the variant's training is tuned first.
        settings: What all studies share.
        costs: What `prepare` found; a variant that it left out is not trained.
        benchmarks: Every benchmark's parameters.
        engine: Where its trials are trained and asked.
        tags: Its words, for readers of words.
        start: What the trials of the variant that it starts from came to; None where that was not run.
        others: Tables of other benchmarks that it is trained on, as ``<benchmark>.<table>``.

    Returns:
        What each trial came to, failures among them, to be asked as well as to be trained, and what the search found,
        if there is one; and what the trials that did not fail answered.

    Raises:
        CoattendError: If it starts from a variant that was not run, or a search would choose on dev.
    """
    from coattend.answering.recipe import keep_recipes
    from coattend.training.fan_out import train_seeds
    from coattend.training.plans import BenchmarkTables, plans_of
    from coattend.training.predict import predict_each
    from coattend.training.search import tune

    named = {"benchmark": benchmark.name, "variant": variant.name, "trained_on": variant.trained_on(benchmark.name)}
    named["encoder"] = variant.encoder if tags is None else "recurrent"
    if variant.name in costs["left_out"]:
        return named | {"task": None, "trials": []}, PREDICTIONS.empty_table()
    variant = variant.with_seeds(settings.seeds)
    begun = (start or NO_START)["trials"]
    if start is not NO_START and not begun:
        raise CoattendError(
            "begins with trials of a variant that was not run here",
            where=f"{variant.name} on {benchmark.name}",
            cure="Run that variant on this benchmark too, or raise the budget",
        )
    starts = {one["seed"]: one["trial_id"] for one in begun}
    own = BenchmarkTables(benchmark, questions, passages, tokens, tags)
    trained, asked = plans_of(own, BenchmarkTables.gather(others), variant, encoder, tokenizer, starts=starts)
    found: dict[str, Any] = {}
    if about.search is not None:
        trained, found["search"] = tune(trained, trials, about.search, processes=settings.processes, engine=engine)
    outcomes = train_seeds(trained, trials, processes=settings.processes, engine=engine)
    outcome = named | {"task": asked.source.task, "trials": outcomes} | found
    if trained.benchmark == benchmark.name:
        keep_recipes(trained, outcome, trials, benchmark, tagging, benchmarks)
    answers, outcomes = predict_each(asked, outcome, trials, engine=engine)
    return outcome | {"trials": outcomes}, answers


def analyse(
    about: StudyParameters,
    variants: dict[str, Any],
    taggings: dict[str, Any],
    settings: StudySettings,
    benchmark: BenchmarkParameters,
    questions: pads.Dataset,
    passages: pads.Dataset,
    **parts: Any,
) -> tuple[pa.Table, dict[str, Any]]:
    """Look at a benchmark's answers more closely: where variants do better, and what the study shows beside scores.

    Args:
        about: The study.
        variants: Its variants as readers' entries.
        taggings: All tagging profiles.
        settings: What all studies share.
        benchmark: What is asked.
        questions: Its questions.
        passages: Its passages.
        parts: For each variant ``<variant>.outcome`` and ``<variant>.answers``, and ``<tagging>.tags`` for each tagging
            that they read.

    Returns:
        The scores in groups of questions, and by the name of what is shown what was found.
    """
    from coattend.evaluation.study_analyses import Material, analyse, breakdown_table
    from coattend.text.tagset import tagset

    tags = {
        name: (parts[f"{name}.tags"], tagset(TaggingParameters.model_validate(one).tagset).names)
        for name, one in taggings.items()
        if f"{name}.tags" in parts
    }
    about = about.with_example(benchmark.name, settings.question)
    read = {name: ReaderParameters.model_validate(variants[name]).tagging for name in about.variants}
    material = Material(benchmark, questions, passages, tags, read)
    runs = material.runs({name: (parts.get(f"{name}.outcome"), parts.get(f"{name}.answers")) for name in read})
    return breakdown_table(about, material, runs), analyse(about, material, runs)


def tabulate(
    about: StudyParameters, costs: dict[str, Any], **parts: Any
) -> tuple[dict[str, Any], pa.Table, str, str, str, str, Any, dict[str, Any]]:
    """Put a study's variants side by side, and beside what the paper printed.

    Args:
        about: The study.
        costs: What `prepare` found.
        parts: For each benchmark ``<benchmark>.questions``, ``<benchmark>.breakdowns`` and ``<benchmark>.analyses``,
            and for each of its variants ``<benchmark>.<variant>.outcome`` and ``<benchmark>.<variant>.answers``; None
            where it was not run.

    Returns:
        The results as data, their rows as a table, these as HTML, Markdown, CSV and LaTeX, a chart of the scores, and
        the page's figures and those of all breakdowns by their names.
    """
    from coattend.reporting import html_page, markdown_page, study_figures, study_page, study_table

    results = study_table.results_of(about, parts) | {"left_out": costs["left_out"]}
    rows = study_table.rows_of(results)
    title, sections = results["title"], study_page.sections(results)
    pages = html_page.page(title, sections), markdown_page.write(title, sections)
    drawn = study_figures.scores(study_table.asked_rows(results)), study_page.figures(results, sections)
    return results, rows, *pages, study_page.csv(rows), study_page.latex(results), *drawn


def finish(findings: dict[str, Any], **pages: str) -> None:
    """End the run well only if no trial failed.

    Args:
        findings: What the study found.
        pages: What is drawn of it before its end.

    Raises:
        CoattendError: If some did, with the reason of each; another run trains these alone.
    """
    if findings["failures"]:
        told = [
            f"{one['variant']} on {one['benchmark']}, seed {one['seed']}: {one['failure']}"
            for one in findings["failures"]
        ]
        raise CoattendError(
            f"{len(told)} trials failed ({'; '.join(told)})",
            where=f"study {findings['name']}",
            cure="The table shows the others; the same command again trains these alone",
        )
