"""Nodes of a study's pipeline."""

from pathlib import Path
from typing import Any

from coattend.config import (
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
from coattend.errors import CoattendError
from coattend.pipelines.annotations import Dataset, Table
from coattend.reports.records import StudyFindings

FRESH_READERS: dict[str, Any] = {"trials": []}
"""Stands for the outcome of the variant that a variant starts from, if it starts from fresh readers."""


def prepare(
    study: StudyParameters,
    settings: StudySettings,
    variants: dict[str, object],
    encoders: dict[str, object],
    tokenizers: dict[str, object],
    taggings: dict[str, object],
    trials: Path,
    **tables: Any,
) -> dict[str, Any]:
    """Estimate the cost of a study and the smallest difference that it can show, and keep within its budget.

    Args:
        study: The study.
        settings: Settings that all studies share.
        variants: Its variants as readers' entries.
        encoders: All encoders.
        tokenizers: All tokenizer profiles.
        taggings: All tagging profiles.
        trials: The folder of all trials.
        tables: Tables and parameters of its benchmarks, as ``<benchmark>.<table>``.

    Returns:
        The costs by benchmark and variant, and the variants that are left out for the budget.
    """
    from coattend.readers import encoder_of
    from coattend.training.study_cost import estimate
    from coattend.training.study_variant import VariantSetup
    from coattend.trials.experiment import BenchmarkTables

    def tables_of(benchmark: str, variant: ReaderParameters) -> BenchmarkTables:
        profile = EncoderParameters.model_validate(encoders[variant.encoder]).tokenizer
        reads_words = encoder_of(variant.reader) == "recurrent"
        return BenchmarkTables(
            BenchmarkParameters.model_validate(tables[f"{benchmark}.benchmark"]),
            tables[f"{benchmark}.questions"],
            tables[f"{benchmark}.passages"],
            tables[f"{benchmark}.{variant.tagging}.{profile}.tokens"],
            tables[f"{benchmark}.{variant.tagging}.tags"] if reads_words else None,
        )

    experiments = {}
    for name in study.variants:
        variant = ReaderParameters.model_validate(variants[name]).with_seeds(settings.seeds)
        encoder = EncoderParameters.model_validate(encoders[variant.encoder])
        tokenizer = TokenizerParameters.model_validate(tokenizers[encoder.tokenizer])
        tagging = TaggingParameters.model_validate(taggings[variant.tagging])
        for benchmark in study.benchmarks_of(name):
            others = [other for other in variant.training.get("train_on", {}) if other != benchmark]
            additional = [tables_of(other, variant) for other in others]
            setup = VariantSetup(tables_of(benchmark, variant), additional, variant, encoder, tokenizer, tagging)
            experiments[benchmark, name] = setup.experiments()
    return estimate(study, experiments, trials, hours=study.budget_hours or settings.budget_hours)


def run_variant(
    benchmark: BenchmarkParameters,
    variant: ReaderParameters,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
    tagging: TaggingParameters,
    study: StudyParameters,
    settings: StudySettings,
    costs: dict[str, Any],
    trials: Path,
    engine: EngineParameters = LOCAL,
    start: dict[str, Any] | None = FRESH_READERS,
    **tables: Any,
) -> tuple[dict[str, Any], Table]:
    """Train a variant's trials, or load their outcomes, and predict the answers to every split but train.

    Args:
        benchmark: The benchmark's parameters.
        variant: The variant as a reader's entry.
        encoder: Its pretrained encoder.
        tokenizer: The tokenizer of the tables' subwords.
        tagging: The tagging profile of the tables' words.
        study: The study; if it has a search, the variant's training is tuned first.
        settings: Settings that all studies share.
        costs: The result of `prepare`; a variant that it left out is not trained.
        trials: The folder of all trials.
        engine: Where to train and to predict.
        start: The outcome of the variant that this one starts from; None if that was not run.
        tables: The benchmark's ``questions``, ``passages``, ``tokens`` and, for readers of words, ``tags``; tables and
            parameters of other benchmarks that it is trained on, as ``<benchmark>.<table>``.

    Returns:
        The outcome of each trial, failures included, with the record of the search if there is one; and the predictions
        of the trials that did not fail.

    Raises:
        CoattendError: If it starts from a variant that was not run, or a search would choose on dev.
    """
    from coattend.schemas import PREDICTIONS
    from coattend.training.study_variant import VariantSetup, record_of, train_variant
    from coattend.trials.experiment import BenchmarkTables

    if variant.name in costs["left_out"]:
        record = record_of(variant, benchmark.name, reads_words="tags" in tables)
        return record | {"task": None, "trials": []}, PREDICTIONS.empty_table()
    # Names of the benchmark's own tables have no prefix.
    benchmark_tables = {name: table for name, table in tables.items() if "." not in name}
    additional = BenchmarkTables.gather({name: table for name, table in tables.items() if "." in name})
    setup = VariantSetup(
        BenchmarkTables(benchmark, **benchmark_tables),
        additional,
        variant.with_seeds(settings.seeds),
        encoder,
        tokenizer,
        tagging,
    )
    parents = None if start is FRESH_READERS else (start or FRESH_READERS)["trials"]
    return train_variant(
        setup, trials, parents=parents, search=study.search, processes=settings.processes, engine=engine
    )


def analyse(
    study: StudyParameters,
    variants: dict[str, object],
    taggings: dict[str, object],
    settings: StudySettings,
    benchmark: BenchmarkParameters,
    questions: Dataset,
    passages: Dataset,
    **parts: Any,
) -> tuple[Table, dict[str, Any]]:
    """Analyse a benchmark's answers: scores of groups of questions, and the study's further analyses.

    Args:
        study: The study.
        variants: Its variants as readers' entries.
        taggings: All tagging profiles.
        settings: Settings that all studies share.
        benchmark: The benchmark's parameters.
        questions: Its questions.
        passages: Its passages.
        parts: For each variant ``<variant>.outcome`` and ``<variant>.answers``, and ``<tagging>.tags`` for each tagging
            that they read.

    Returns:
        The scores in groups of questions, and the result of each analysis by its name.
    """
    from coattend.evaluation.study_analysis import Material, analyse, breakdown_table
    from coattend.text.tagset import tagset

    tags = {
        name: (parts[f"{name}.tags"], tagset(TaggingParameters.model_validate(tagging).tagset).names)
        for name, tagging in taggings.items()
        if f"{name}.tags" in parts
    }
    study = study.with_example(benchmark.name, settings.question)
    tagging_by_variant = {name: ReaderParameters.model_validate(variants[name]).tagging for name in study.variants}
    material = Material(benchmark, questions, passages, tags, tagging_by_variant)
    runs = material.runs(
        {name: (parts.get(f"{name}.outcome"), parts.get(f"{name}.answers")) for name in tagging_by_variant}
    )
    return breakdown_table(study, material, runs), analyse(study, material, runs)


def tabulate(
    study: StudyParameters, costs: dict[str, Any], **parts: Any
) -> tuple[StudyFindings, Table, str, str, str, str, Any, dict[str, Any]]:
    """Put a study's variants side by side, and beside what the paper printed.

    Args:
        study: The study.
        costs: The result of `prepare`.
        parts: For each benchmark ``<benchmark>.questions``, ``<benchmark>.breakdowns`` and ``<benchmark>.analyses``,
            and for each of its variants ``<benchmark>.<variant>.outcome`` and ``<benchmark>.<variant>.answers``; None
            where it was not run.

    Returns:
        The results as data, their rows as a table, these as HTML, Markdown, CSV and LaTeX, a chart of the scores, and
        the page's figures and those of all breakdowns by their names.
    """
    from coattend.reports.render import html_page, markdown_page
    from coattend.reports.study.figures import score_figure
    from coattend.reports.study.page import latex_tables, named_figures, study_sections
    from coattend.reports.study.table import arrow_table, rows_in_question, study_findings
    from coattend.reports.tables import to_csv

    findings = study_findings(study, parts)
    findings["left_out"] = costs["left_out"]
    rows, title, sections = arrow_table(findings), findings["title"], study_sections(findings)
    return (
        findings,
        rows,
        html_page(title, sections),
        markdown_page(title, sections),
        to_csv(rows),
        latex_tables(findings),
        score_figure(rows_in_question(findings)),
        named_figures(findings, sections),
    )


def finish(findings: StudyFindings, **pages: str) -> None:
    """Fail the run if a trial failed, after everything is drawn.

    Args:
        findings: The study's findings.
        pages: Pages that are drawn before its end.

    Raises:
        CoattendError: If trials failed, with the reason of each; another run trains these alone.
    """
    if findings["failures"]:
        failures = [
            f"{failure['variant']} on {failure['benchmark']}, seed {failure['seed']}: {failure['failure']}"
            for failure in findings["failures"]
        ]
        raise CoattendError(
            f"{len(failures)} trials failed ({'; '.join(failures)})",
            where=f"study {findings['name']}",
            cure="The table shows the others; the same command again trains these alone",
        )
