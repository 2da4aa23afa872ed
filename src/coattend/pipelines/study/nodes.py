"""Nodes of a study's pipeline."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coattend.config import (
    BenchmarkParameters,
    EngineParameters,
    ReaderParameters,
    StudyParameters,
    StudySettings,
    TaggingParameters,
)
from coattend.config.entries import TextProfiles
from coattend.errors import CoattendError
from coattend.evaluation.records import Analyses, StudyCosts, VariantOutcome
from coattend.pipelines.annotations import Dataset, Table, Variant
from coattend.pipelines.training.pipeline import tables_of
from coattend.readers import encoder_of
from coattend.reports.records import StudyFindings

NONE_NEEDED: VariantOutcome = {"variant": "", "task": "", "trials": []}
"""Stands for the outcome of the variant that a variant starts from or learns from, if it needs none."""


def prepare(
    study: StudyParameters,
    settings: StudySettings,
    variants: Mapping[str, object],
    profiles: Mapping[str, Mapping[str, object]],
    trials: Path,
    **tables: Any,
) -> StudyCosts:
    """Estimate the cost of a study and the smallest difference that it can show, and keep within its budget. ``tables``
    are those of its benchmarks by their names in the catalog, and the benchmarks' parameters as
    ``<benchmark>.benchmark``."""
    from coattend.training.study_cost import estimate

    experiments = {}
    for name in study.variants:
        entry = ReaderParameters.model_validate(variants[name])
        for benchmark in study.benchmarks_of(name):
            variant = _variant(entry, benchmark, settings, profiles, tables)
            experiments[benchmark, name] = variant.experiments()
    return estimate(study, experiments, trials, hours=study.budget_hours or settings.budget_hours)


def run_variant(
    variant: ReaderParameters,
    benchmark: BenchmarkParameters,
    study: StudyParameters,
    settings: StudySettings,
    profiles: Mapping[str, Mapping[str, object]],
    costs: StudyCosts,
    trials: Path,
    start: VariantOutcome | None = NONE_NEEDED,
    teacher: VariantOutcome | None = NONE_NEEDED,
    **tables: Any,
) -> tuple[VariantOutcome, Table]:
    """Train a variant's trials, or load their outcomes, and predict the answers to every split but train.

    A variant that the ``costs`` leave out is not trained. If the study has a search, the training is tuned first, and
    the outcome has the record of it. ``start`` is the outcome of the variant that this one starts from, and ``teacher``
    that of the one it learns from, None if that was not run, which is an error; ``tables`` are those of all benchmarks
    that it is trained on, as for `prepare`. Trials that failed have no predictions.
    """
    from coattend.schemas import PREDICTIONS
    from coattend.training.study_variant import TRAINING_SAMPLE, train_variant, untrained_outcome

    if variant.name in costs["left_out"]:
        return untrained_outcome(variant.on(benchmark), benchmark.name), PREDICTIONS.empty_table()
    return train_variant(
        _variant(variant, benchmark.name, settings, profiles, tables | {f"{benchmark.name}.benchmark": benchmark}),
        trials,
        parents=None if start is NONE_NEEDED else (start or NONE_NEEDED)["trials"],
        teachers=None if teacher is NONE_NEEDED else (teacher or NONE_NEEDED)["trials"],
        search=study.search,
        processes=settings.processes,
        engine=EngineParameters.model_validate(profiles["engine"]),
        training_sample=TRAINING_SAMPLE if "training_score" in study.shows else None,
    )


def _variant(
    entry: ReaderParameters,
    benchmark: str,
    settings: StudySettings,
    profiles: Mapping[str, Mapping[str, object]],
    tables: Mapping[str, Any],
) -> Variant:
    """Gather a variant's profiles, and its tables of a benchmark and of others that it is trained on."""
    from coattend.training.study_variant import Variant
    from coattend.trials.experiment import BenchmarkTables, ReaderSetup

    entry = entry.on(BenchmarkParameters.model_validate(tables[f"{benchmark}.benchmark"]))
    setup = ReaderSetup.resolve(entry.with_seeds(settings.seeds), profiles)
    reads_words = encoder_of(entry.reader) == "recurrent"
    text_profiles = TextProfiles(entry.tagging, entry.encoder, setup.encoder.tokenizer, reads_words)

    def tables_on(name: str) -> BenchmarkTables:
        texts = {argument: tables[table] for argument, table in tables_of(name, text_profiles).items()}
        texts["benchmark"] = BenchmarkParameters.model_validate(tables[f"{name}.benchmark"])
        return BenchmarkTables(**{"tags": None} | texts)

    additional = [tables_on(name) for name in entry.training.get("train_on", {}) if name != benchmark]
    return Variant(setup, tables_on(benchmark), additional)


def analyse(
    study: StudyParameters,
    variants: Mapping[str, object],
    taggings: Mapping[str, object],
    settings: StudySettings,
    benchmark: BenchmarkParameters,
    questions: Dataset,
    passages: Dataset,
    **parts: Any,
) -> tuple[Table, Analyses]:
    """Analyse a benchmark's answers: scores of groups of questions, and the study's further analyses by name. ``parts``
    are ``<variant>.outcome`` and ``<variant>.answers`` of each variant, and ``<tagging>.tags`` of each of their
    taggings."""
    from coattend.data.profile.baselines import trivial_scores
    from coattend.evaluation.study_analysis import Material, analyse, breakdown_table
    from coattend.text.tagset import tagset

    tags = {
        name: (parts[f"{name}.tags"], tagset(TaggingParameters.model_validate(tagging).tagset).names)
        for name, tagging in taggings.items()
        if f"{name}.tags" in parts
    }
    study = study.with_example(benchmark.name, settings.question)
    readers = {name: ReaderParameters.model_validate(variants[name]) for name in study.variants}
    tagging_by_variant = {name: reader.on(benchmark).tagging for name, reader in readers.items()}
    material = Material(benchmark, questions, passages, tags, tagging_by_variant)
    runs = material.runs(
        {name: (parts.get(f"{name}.outcome"), parts.get(f"{name}.answers")) for name in tagging_by_variant}
    )
    analyses = analyse(study, material, runs)
    if "trivial_baselines" in study.shows and runs:
        texts = passages.to_table(columns=["passage_id", "text"])
        analyses["trivial_baselines"] = trivial_scores(benchmark, questions.to_table(), texts, task=runs[0].task)
    return breakdown_table(study, material, runs), analyses


def tabulate(
    study: StudyParameters, costs: StudyCosts, **parts: Any
) -> tuple[StudyFindings, Table, str, str, str, str, Any, dict[str, Any]]:
    """Put a study's variants side by side, and beside what the paper printed.

    ``parts`` are ``<benchmark>.questions``, ``.breakdowns`` and ``.analyses``, and ``<benchmark>.<variant>.outcome``
    and ``.answers``, None where it was not run. Returns the results as data, their rows as a table, these as HTML,
    Markdown, CSV and LaTeX, a chart of the scores, and the page's figures and those of all breakdowns by their names.
    """
    from coattend.reports.navigation import page_links
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
        html_page(title, sections, links=page_links("../../", experiment=f"study_{findings['name']}")),
        markdown_page(title, sections),
        to_csv(rows),
        latex_tables(findings),
        score_figure(rows_in_question(findings)),
        named_figures(findings, sections),
    )


def record(
    study: StudyParameters,
    settings: StudySettings,
    findings: StudyFindings | None,
    trials: Path,
    earlier: Path,
    **parts: Any,
) -> tuple[dict[str, Any], str]:
    """Record a study's trials for version control, and write the study's page from these records.

    ``earlier`` is the folder of what all studies have recorded so far: variants that were not run here stay recorded.
    ``parts`` are ``<benchmark>.questions``, and ``<benchmark>.<variant>.outcome`` and ``.answers``, None where it was
    not run.
    """
    from coattend.reports.study.earlier_records import with_earlier_records
    from coattend.reports.study.page import recorded_page
    from coattend.reports.study.trial_records import read_records, recorded_findings, study_records

    if findings is None:
        raise CoattendError(
            "has no findings to record", where=f"study {study.name}", cure="Run its whole pipeline first"
        )
    records = study_records(study, findings, parts, trials, commit=settings.commit)
    records = with_earlier_records(records, read_records(earlier / study.name))
    return records, recorded_page(recorded_findings(records))


def finish(findings: StudyFindings, **pages: str) -> None:
    """Fail the run if a trial failed, with the reason of each, after everything is drawn: it waits for the pages."""
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
