"""A study's page, its exports as LaTeX and as figures by name, and the page of all studies."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, starmap

from plotly.graph_objects import Figure

from coattend import readers
from coattend.config.benchmark import METRICS
from coattend.config.source import run_command
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import TrialRecord
from coattend.evaluation.runs import finished
from coattend.reports import provenance, tables
from coattend.reports.records import StudyFindings, StudyRow
from coattend.reports.render import Section, markdown_page
from coattend.reports.sections import (
    INTERVAL_TEXT,
    divided_dev,
    encoder_notes,
    encoders_of,
    partial_scoring,
    selection_notes,
    training_warnings,
    unmonitored_trials,
)
from coattend.reports.study import analyses, sections
from coattend.reports.study.boundary_words import boundary_section
from coattend.reports.study.costs import cost_section
from coattend.reports.study.paper_numbers import encoder_label, printed_cell
from coattend.reports.study.table import ALPHA, rows_in_question, title_of, trials_by_training_benchmark
from coattend.reports.study.time_to_score import time_sections
from coattend.reports.tables import METRIC_TITLES, NO_VALUE, Cell, Row, Table, TableRow, estimate_cell, noted_cell

PROTOCOLS = {
    "finetuned": "Protocol: finetuned, every weight is trained.",
    "frozen": "Protocol: frozen, interaction and head alone are trained.",
}


def study_sections(findings: StudyFindings) -> list[Section]:
    """Write the sections of a study's page."""
    shows = findings["shows"]
    # Sections follow the order of a paper: scores, how they came about, analyses, then what is missing.
    requested: list[Section | None] = [
        Section(
            findings["source"],
            tuple(_summary(findings)),
            tuple(score_tables(findings)),
            folded=(*_seed_tables(findings), *_code_tables(findings)),
        ),
        analyses.average_section(findings),
        sections.search_section(findings),
        *(sections.line_sections(findings) if "lines" in shows else ()),
        *(time_sections(findings) if "time_to_score" in shows else ()),
        cost_section(findings),
        *(sections.training_sections(findings) if "curve" in shows else ()),
        *analyses.breakdown_sections(findings, (name for name in shows if name in analyses.BREAKDOWN_TITLES)),
        boundary_section(findings),
        analyses.ensemble_section(findings),
        analyses.example_section(findings),
        analyses.reranking_section(findings),
        sections.attention_section(findings) if "attention" in shows else None,
        analyses.calibration_section(findings),
        _other_questions(findings),
        sections.unmeasured_section(findings),
        sections.cited_section(findings),
        sections.left_out_section(findings),
        _failures(findings),
        Section("What to keep in mind", (*_warnings(findings), *findings["notes"])),
    ]
    return [section for section in requested if section is not None]


def recorded_page(findings: StudyFindings) -> str:
    """Write a study's page as Markdown from the findings of its records, without what needs more than these hold."""
    origin = (
        f"It is written from the records of the study, docs/results/records/{findings['name']}, which hold marks and "
        "numbers. Texts, attention and figures are on the page that the study's pipeline writes where it trains."
    )
    sections = [replace(section, figures=()) for section in study_sections(findings)]
    filled = [section for section in sections if section.text or section.tables or section.folded]
    return markdown_page(findings["title"], [*filled, Section("Where this page comes from", (origin,))])


def score_tables(findings: StudyFindings, *, others: bool = False) -> Iterator[Table]:
    """List the variants' scores, a table for each benchmark, split, group of questions and metric.

    Args:
        findings: Those of the study.
        others: List the groups of questions that the study does not ask about, in place of those that it does. A study
            of all questions of a benchmark asks about each of its subsets, too.
    """
    asked = {(row["benchmark"], row["group"]) for row in rows_in_question(findings)}
    rows_by_table: dict[tuple[str, str, str, str], list[StudyRow]] = {}
    for row in findings["rows"]:
        benchmark = row["benchmark"]
        if others == bool(asked & {(benchmark, row["group"]), (benchmark, EVERYTHING)}):
            continue
        rows_by_table.setdefault((row["benchmark"], row["split"], row["group"], row["metric"]), []).append(row)
    for (benchmark, split, group, metric), rows in rows_by_table.items():
        encoders = list(dict.fromkeys(encoder_label(score) for row in rows for score in row["printed"]))
        questions = f"{rows[0]['questions']:,} questions"
        caption = f"{benchmark}, {tables.format_questions(split, group)}: {METRIC_TITLES[metric]}, {questions}"
        printed = (f"Printed, {encoder}" for encoder in encoders)
        columns = tables.cells("Variant", METRIC_TITLES[metric], "Beside its baseline", *printed)
        trivial = _trivial_rows(findings, (benchmark, split, group, metric), encoders)
        yield Table(caption, columns, (*trivial, *(_score_row(row, encoders) for row in rows)))


def _other_questions(findings: StudyFindings) -> Section | None:
    """Write a section of the scores on questions that the study does not ask about, if there are any."""
    text = (
        "These are scores on questions of kinds that the study does not ask about, and on those of all kinds together. "
        "If variants were trained on one kind alone, they have never seen another."
    )
    others = tuple(score_tables(findings, others=True))
    return Section("Scores on other questions", (text,), folded=others) if others else None


def _trivial_rows(findings: StudyFindings, scored: tuple[str, str, str, str], encoders: Iterable[str]) -> Iterator[Row]:
    """List what baselines that learn nothing score, where the study asks for them."""
    benchmark, *questions = scored
    for score in findings["analyses"].get(benchmark, {}).get("trivial_baselines", []):
        if [score["split"], score["group"], score["metric"]] == questions:
            nothing = noted_cell(NO_VALUE, "it learns nothing")
            printed = (NO_VALUE for _ in encoders)
            yield tables.cells(score["name"].capitalize(), f"{score['score']:.1f}", nothing, *printed)


def _score_row(row: StudyRow, encoders: Iterable[str]) -> Row:
    std = "" if row["spread"] is None else f"± {row['spread']:.1f} over {row['trials']} seeds"
    # Each encoder of the paper has a column.
    printed = {encoder_label(score): printed_cell(score) for score in row["printed"]}
    columns = (printed.get(encoder, NO_VALUE) for encoder in encoders)
    return tables.cells(row["title"], estimate_cell(row, std), _difference_cell(row), *columns)


def _difference_cell(row: StudyRow) -> Cell:
    if row["difference"] is None:
        return noted_cell(NO_VALUE, "the baseline" if row["baseline"] is None else "")
    p_corrected = row.get("p_corrected")
    return estimate_cell(
        {"mean": row["difference"], "low": row["difference_low"], "high": row["difference_high"]},
        "" if p_corrected is None else f"p {tables.format_p_value(p_corrected)}",
        row.get("verdict") or "",
        sign="+",
    )


def _seed_tables(findings: StudyFindings) -> tuple[Table, ...]:
    """List the differences from the baseline seed by seed, if there are any."""
    rows: list[TableRow] = [
        {
            "Variant": row["title"],
            "Where": f"{row['benchmark']}, {tables.format_questions(row['split'], row['group'])}, "
            f"{METRIC_TITLES[row['metric']]}",
            "Seed": str(difference["seed"]),
            "Beside its baseline": estimate_cell(difference, sign="+"),
            "McNemar's p": tables.format_p_value(difference["mcnemar_p"]),
        }
        for row in rows_in_question(findings)
        for difference in row["by_seed"]
    ]
    return (Table.of("Seed by seed", rows),) if rows else ()


def _code_tables(findings: StudyFindings) -> tuple[Table, ...]:
    """List the commits and the machines that trained each variant, if there are several."""
    rows: list[dict[str, str]] = [
        {
            "Variant": title_of(findings, variant),
            "Trained on": benchmark,
            "Commit": ", ".join(provenance.commits(trials)) or tables.NO_VALUE,
            "Machine": "; ".join(provenance.machines(trials)) or tables.NO_VALUE,
        }
        for benchmark, by_variant in trials_by_training_benchmark(findings).items()
        for variant, trials in by_variant.items()
    ]
    several = [column for column in ("Commit", "Machine") if len({row[column] for row in rows} - {tables.NO_VALUE}) > 1]
    if not several:
        return ()
    caption = " and ".join({"Commit": "code", "Machine": "machine"}[column] for column in several).capitalize()
    shown = [{column: row[column] for column in ("Variant", "Trained on", *several)} for row in rows]
    return (Table.of(f"{caption} that trained them", shown, aligned=False),)


def _selection(findings: StudyFindings) -> Iterator[str]:
    """Say on which benchmarks variants chose on what they are scored on."""
    for benchmark, by_variant in findings["trials"].items():
        titled = {title_of(findings, variant): trials for variant, trials in by_variant.items()}
        other_benchmarks = findings.get("trained_on", {}).get(benchmark, {})
        trained_on = {title_of(findings, variant): name for variant, name in other_benchmarks.items()}
        yield from selection_notes(titled, benchmark, trained_on)


def _sizes(findings: StudyFindings) -> Iterator[str]:
    """Say how many questions of each benchmark the variants were trained on, and how."""
    trained_on: dict[str, dict[str, list[TrialRecord]]] = {}
    for benchmark, by_variant in findings["trials"].items():
        homes = findings["trained_on"].get(benchmark, {})
        for variant, trials in by_variant.items():
            by_title = trained_on.setdefault(homes.get(variant, benchmark), {})
            by_title.setdefault(title_of(findings, variant), []).extend(trials)
    for benchmark, by_title in trained_on.items():
        yield from provenance.size_sentence(benchmark, chain.from_iterable(by_title.values()))
        yield from provenance.training_sentence(benchmark, by_title)


def _summary(findings: StudyFindings) -> Iterator[str]:
    yield from _selection(findings)
    seeds = f"Seed{'s' * (len(findings['seeds']) > 1)} {', '.join(map(str, findings['seeds']))}"
    yield f"{seeds}. {PROTOCOLS[findings['protocol']]} {_encoders(findings)}".strip()
    trials = [trial for by_variant in findings["trials"].values() for trials in by_variant.values() for trial in trials]
    yield from _sizes(findings)
    yield from provenance.machine_sentences(trials)
    yield from provenance.commit_sentence(trials)
    yield from provenance.version_sentence(
        {name: measured.get("benchmark_version") for name, measured in findings["analyses"].items()}
    )
    for name, measured in findings["analyses"].items():
        yield from divided_dev(name, measured.get("train_from_dev"))
    shared = ", ".join(f"{name} {value}" for name, value in findings.get("options", {}).items())
    if shared:
        yield f"Every variant has other options here than in its paper: {shared}."
    yield from _changed_options(findings)
    metric = findings.get("metric")
    if metric:
        yield f"Judged, where it is scored so, by: {METRIC_TITLES[metric]}."
    if not findings["rows"]:
        yield "Nothing was scored: no trial was finished, or the answer to no question is known."
    clear, tested = clear_differences(findings)
    if tested:
        yield (
            f"Differences clear after a correction for their number (Holm, 5 %): {clear} of {tested}. {INTERVAL_TEXT}"
        )


def _changed_options(findings: StudyFindings) -> Iterator[str]:
    """Say which options of readers are neither their own nor the study's: an environment has changed them."""
    search = findings.get("search")
    studied = {*findings.get("options", {}), *(search["space"] if search else ())}
    changed: dict[str, dict[str, None]] = {}
    for by_variant in findings["trials"].values():
        for variant, trials in by_variant.items():
            for trial in (trial for trial in finished(trials) if trial.get("variant") in readers.names()):
                named = dict(findings.get("base", {}))
                if (described := findings["variants"].get(variant)) is not None:
                    named |= described.get("change", {})
                options = {
                    option: named[option] for option in readers.option_names(trial["variant"]) if option in named
                }
                own = readers.completed(trial["variant"], trial["head"], options)
                text = ", ".join(
                    f"{option} {value} in place of {own.get(option)}"
                    for option, value in trial.get("options", {}).items()
                    if option not in studied and own.get(option) != value
                )
                changed.setdefault(text, {})[title_of(findings, variant)] = None
    everyone = len({title for titles in changed.values() for title in titles})
    for text, titles in changed.items():
        if text:
            whose = "every variant" if len(titles) == everyone else ", ".join(titles)
            yield f"Set by the environment, of {whose}: {text}."


def clear_differences(findings: StudyFindings) -> tuple[int, int]:
    """Count the differences that are clear after the correction, and all that were tested."""
    p_values = [p for row in findings["rows"] if (p := row.get("p_corrected")) is not None]
    return sum(p < ALPHA for p in p_values), len(p_values)


def _encoders(findings: StudyFindings) -> str:
    """Name the encoders that the variants were measured with, and of several whose they are."""
    # A dictionary keeps the order of the variants and each title once.
    titles: dict[str, dict[str, None]] = {}
    for row in findings["rows"]:
        if row["encoder"]:
            titles.setdefault(row["encoder"], {})[row["title"]] = None
    if len(titles) < 2:
        return "".join(f"Encoder: {encoder}." for encoder in titles)
    described = "; ".join(f"{encoder} ({', '.join(variants)})" for encoder, variants in titles.items())
    return f"Encoders: {described}."


def _failures(findings: StudyFindings) -> Section | None:
    rows = [
        {
            "Variant": failure["variant"],
            "Benchmark": failure["benchmark"],
            "Seed": str(failure["seed"]),
            "Why": failure["failure"],
        }
        for failure in findings["failures"]
    ]
    table = Table.of("", rows, aligned=False)
    return Section("Failed", ("Another run trains these alone.",), (table,)) if rows else None


def _warnings(findings: StudyFindings) -> Iterator[str]:
    """Say which questions were not scored, and what looks wrong with trials."""
    # A trial that is scored on several benchmarks is named once, by the one it was trained on.
    other_benchmarks = findings.get("trained_on", {})
    trials_by_name = {
        f"{title_of(findings, variant)} on {other_benchmarks.get(benchmark, {}).get(variant, benchmark)}": trials
        for benchmark, by_variant in findings["trials"].items()
        for variant, trials in by_variant.items()
    }
    for benchmark, results in findings["analyses"].items():
        if findings["trials"].get(benchmark):
            yield from partial_scoring(benchmark, results.get("scored", 1))
    yield from training_warnings(trials_by_name)
    yield from _encoder_notes(findings)
    yield from unmonitored_trials(trial for trials in trials_by_name.values() for trial in trials)


def _encoder_notes(findings: StudyFindings) -> Iterator[str]:
    """Say, each once, what to keep in mind about the encoders of a study."""
    of_spans = {row["benchmark"] for row in findings["rows"] if row["metric"] in METRICS["span"]}
    notes: dict[str, None] = {}
    for benchmark, by_variant in findings["trials"].items():
        encoders = encoders_of(chain.from_iterable(by_variant.values()))
        notes |= dict.fromkeys(encoder_notes(encoders, spans=benchmark in of_spans))
    yield from notes


def latex_tables(findings: StudyFindings) -> str:
    """Write a study's tables as LaTeX for the package booktabs, and on top, as in captions, what was chosen on dev."""
    unmeasured, notes = sections.unmeasured_table(findings), tuple(_selection(findings))
    scores = (
        replace(table, caption=". ".join((table.caption, *notes)).rstrip(".")) for table in score_tables(findings)
    )
    latex = map(tables.to_latex, (*scores, *([unmeasured] if unmeasured else [])))
    return "\n".join((*(f"% {note}" for note in notes), *latex))


def named_figures(findings: StudyFindings, page: Iterable[Section]) -> dict[str, Figure]:
    """Collect the figures of a page and of all other breakdowns by the first sentences of their captions."""
    # Breakdowns that the page does not show have figures as well.
    unrequested = [name for name in analyses.BREAKDOWN_TITLES if name not in findings["shows"]]
    all_sections = [*analyses.breakdown_sections(findings, unrequested), *page]
    drawn = ((caption.partition(". ")[0], figure) for section in all_sections for caption, figure in section.figures)
    return {re.sub(r"\W+", "_", title.lower()).strip("_"): figure for title, figure in drawn}


def overview_sections(findings: Mapping[str, StudyFindings | None]) -> list[Section]:
    """Write the sections of all studies, an overview first; a study without findings was not run."""
    by_study = {name: study for name, study in findings.items() if study is not None}
    not_run = [name for name, study in findings.items() if study is None]
    text = [f"{len(by_study)} of {len(findings)} studies were run."]
    chosen = [study["title"] for study in by_study.values() if any(_selection(study))]
    if chosen:
        text.insert(0, f"Scores on dev are too good where it also chose the checkpoints: {', '.join(chosen)}.")
    if not_run:
        text.append(f"Each is a pipeline: {run_command(pipelines=f'study_{not_run[0]}', with_params=False)}.")
    # Studies that were not run are folded away, with the command that runs them.
    missing = Table.of("Not run", [{"Studies": ", ".join(not_run)}] if not_run else [])
    tables = (Table.of("", starmap(_overview_row, by_study.items())),) if by_study else ()
    overview = Section("In short", tuple(text), tables, (missing,))
    return [overview, *chain.from_iterable(map(_part_of_overview, by_study.values()))]


def _overview_row(name: str, study: StudyFindings) -> TableRow:
    clear, tested = clear_differences(study)
    return {
        "Study": Cell(study["title"], (name,)),
        "Source": study["source"],
        "Benchmarks": ", ".join(study["benchmarks"]),
        "Protocol": study["protocol"],
        "Checkpoints": "chosen on dev" if any(_selection(study)) else "held out",
        "Encoders": ", ".join(dict.fromkeys(row["encoder"] for row in study["rows"] if row["encoder"])) or NO_VALUE,
        "Seeds": str(len(study["seeds"])),
        "Variants": str(len(study["variants"])),
        "Clear differences": f"{clear} of {tested}" if tested else NO_VALUE,
        "Trials failed": str(len(study["failures"])),
    }


def _part_of_overview(study: StudyFindings) -> Iterator[Section]:
    """Title a study's first section with the study's name, and tell in the others which study they belong to."""
    first, *following = study_sections(study)
    own_page = ("Its own page", f"studies/{study['name']}/index.html")
    text = (f"{study['source']} ({study['name']}).", *first.text)
    yield replace(first, title=study["title"], text=text, links=(*first.links, own_page))
    # Links are relative to the folder of the page of all studies.
    for section in following:
        links = tuple((description, f"studies/{study['name']}/{address}") for description, address in section.links)
        yield replace(section, title=f"{section.title} ({study['source']})", links=links)
