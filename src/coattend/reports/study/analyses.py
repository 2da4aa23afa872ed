"""Sections of a study's analyses: breakdowns, answer boundaries, calibration, ensembles, examples and re-ranking."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from coattend.evaluation.records import (
    BoundaryCounts,
    BreakdownRow,
    Calibration,
    EnsembleRow,
    Example,
    Reranked,
)
from coattend.reports.figures import risk_coverage_curves
from coattend.reports.records import StudyFindings, StudyRow
from coattend.reports.render import Section
from coattend.reports.sections import CALIBRATION_TEXT, calibration_table, reliability_table
from coattend.reports.study.figures import TagCounts, boundary_figure, breakdown_figure, question_counts
from coattend.reports.tables import METRIC_TITLES, NO_VALUE, Cell, Row, Table, estimate_cell, format_questions, heads

BREAKDOWN_TITLES = {
    "by_question_type": "By question word",
    "by_question_length": "By length of the question, in words",
    "by_document_length": "By length of the passage, in words",
    "by_answer_length": "By length of the answer, in words",
    "by_answer_frequency": "By rank of the answer among the candidates, the most frequent first",
    "by_answer_pos": "By part of speech of the answer",
    "by_annotation": "By annotated type",
    "by_subset": "By subset",
}

_BREAKDOWN_NOTES = {
    "by_answer_pos": (
        "An answer's part of speech is that of its first word that is no article, preposition or the like.",
    )
}

_BOUNDARY_TITLES = {"predicted": "Boundary words", "wrong": "Boundary words with a wrong part of speech"}
_BOUNDARY_QUANTITIES = {"predicted": "boundary_pos", "wrong": "boundary_pos_wrong"}
_BOUNDARY_TEXT = (
    "Counts of the first and the last word of each answer, a one-word answer's twice, as means over seeds; the "
    "gold answer is a question's first. Wrong: another word with another part of speech, by the gold word's."
)

_ANSWERABILITY_TEXT = (
    "Answerability AUROC: of a question without an answer and one with, how often the reader rather says of the first "
    "that it has none, whatever the threshold from which it says so; guessing has 50."
)

_ENSEMBLE_TEXT = (
    "All trials together, the best 70 % of them by their held-out scores, from four trials on, and a greedy "
    "choice. Options and words are chosen by the mean of probabilities, spans by the most votes. The greedy choice "
    "is made on dev, so that its gain there is too good."
)


def breakdown_sections(name: str, findings: StudyFindings) -> Iterator[Section]:
    """Write a section for each benchmark and split of a breakdown.

    Args:
        name: One of `BREAKDOWN_TITLES`.
        findings: The study's findings.
    """
    rows = [row for row in findings["breakdowns"] if row["breakdown"] == name]
    for benchmark, split in dict.fromkeys((row["benchmark"], row["split"]) for row in rows):
        section_rows = [row for row in rows if (row["benchmark"], row["split"]) == (benchmark, split)]
        title = f"{BREAKDOWN_TITLES[name]}: {', '.join((benchmark, split, *findings['homes'][benchmark]))}"
        figure = (f"{title}. Bars hold 95 % of a bootstrap over passages.", breakdown_figure(section_rows))
        table = _breakdown_table(section_rows)
        yield Section(title, _BREAKDOWN_NOTES.get(name, ()), folded=(table,), figures=(figure,))


def requested_breakdowns(findings: StudyFindings) -> Iterator[Section]:
    """Write the sections of breakdowns that the study's page shows."""
    for name in findings["shows"]:
        if name in BREAKDOWN_TITLES:
            yield from breakdown_sections(name, findings)


def unrequested_breakdowns(findings: StudyFindings) -> Iterator[Section]:
    """Write the sections of breakdowns that the study's page does not show."""
    for name in BREAKDOWN_TITLES:
        if name not in findings["shows"]:
            yield from breakdown_sections(name, findings)


def _breakdown_table(rows: Sequence[BreakdownRow]) -> Table:
    variants = dict.fromkeys(row["title"] for row in rows)
    metrics = dict.fromkeys(row["metric"] for row in rows)
    columns = [(title, metric) for title in variants for metric in metrics]
    by_column = {(row["group"], row["title"], row["metric"]): row for row in rows}
    body = tuple(
        (
            Cell(group, (f"{count} questions",)),
            *(_estimate_or_nothing(by_column.get((group, title, metric))) for title, metric in columns),
        )
        for group, count in question_counts(rows).items()
    )
    titles = heads("Group", *(f"{title}, {METRIC_TITLES[metric]}" for title, metric in columns))
    return Table("As a table", titles, body)


def _estimate_or_nothing(row: BreakdownRow | None) -> Cell:
    return Cell(NO_VALUE) if row is None else estimate_cell(row)


def boundary_section(findings: StudyFindings) -> Section | None:
    """Write a section about the words at which answers begin and end, if they were counted."""
    by_benchmark = {name: analyses.get("boundary_pos", {}) for name, analyses in findings["analyses"].items()}
    counted = {
        benchmark: by_variant
        for benchmark, by_variant in by_benchmark.items()
        if any(counts["gold"] for counts in by_variant.values())
    }
    if not counted:
        return None
    tables, figures = [], []
    for benchmark, by_variant in counted.items():
        predicted = _counts_by_column(findings, by_variant, "predicted")
        wrong = {findings["variants"][name]["title"]: counts["wrong"] for name, counts in by_variant.items()}
        caption = f"Parts of speech of boundary words: {benchmark}. The share of each among the gold, the predicted and"
        figures.append((f"{caption} the wrongly predicted words.", boundary_figure(predicted, wrong)))
        tables += [_boundary_table(findings, benchmark, by_variant, quantity) for quantity in _BOUNDARY_TITLES]
    title = "Words at which answers begin and end"
    return Section(title, (_BOUNDARY_TEXT,), tuple(tables), figures=tuple(figures))


def _counts_by_column(
    findings: StudyFindings, by_variant: Mapping[str, BoundaryCounts], quantity: str
) -> dict[str, TagCounts]:
    """Collect the counts of gold answers and of each variant, by column title."""
    columns: dict[str, TagCounts] = {}
    for name, counts in by_variant.items():
        title = findings["variants"][name]["title"]
        # Variants that read the same tags share their gold counts, which are listed once.
        if counts["gold"] not in columns.values():
            columns["Gold" if not columns else f"Gold, as for {title}"] = counts["gold"]
        columns[title] = counts["predicted"] if quantity == "predicted" else counts["wrong"]
    return columns


def _boundary_table(
    findings: StudyFindings, benchmark: str, by_variant: Mapping[str, BoundaryCounts], quantity: str
) -> Table:
    columns = _counts_by_column(findings, by_variant, quantity)
    for name in by_variant:
        printed = _printed_counts(findings, name, _BOUNDARY_QUANTITIES[quantity])
        if printed:
            columns[f"{findings['variants'][name]['title']}, printed"] = printed
    # Tags keep the order of the first column, the most frequent first.
    tags = dict.fromkeys(tag for counts in columns.values() for tag in counts)
    rows = tuple(
        (Cell(tag), *(Cell(f"{counts[tag]:,.0f}" if tag in counts else NO_VALUE) for counts in columns.values()))
        for tag in tags
    )
    return Table(f"{_BOUNDARY_TITLES[quantity]}, {benchmark}", heads("Tag", *columns), rows)


def _printed_counts(findings: StudyFindings, variant: str, quantity: str) -> TagCounts:
    """Find the first counts that the paper prints for a variant; empty if it prints none."""
    blocks = (block["numbers"].get(variant, {}) for block in findings["printed"])
    counts: TagCounts = next((numbers[quantity] for numbers in blocks if quantity in numbers), {})
    return counts


def calibration_section(findings: StudyFindings) -> Section | None:
    """Write a section about calibration, if any variant keeps scores."""
    text: list[str] = []
    tables, folded, figures = [], [], []
    for benchmark, analyses in findings["analyses"].items():
        by_questions = _calibrations_by_questions(findings, analyses.get("calibration", {}))
        # Readers that choose from all words keep no scores.
        calibrated = _with_measure(by_questions, "ece")
        for questions, variants in calibrated.items():
            tables.append(calibration_table(f"Calibration: {benchmark}, {questions}", "Variant", variants))
            folded.append(reliability_table(f"{benchmark}, {questions}", "Variant", variants))
        if calibrated:
            text += CALIBRATION_TEXT
            figures.append((f"Risk against coverage: {benchmark}.", risk_coverage_curves(calibrated)))
        for questions, variants in _with_measure(by_questions, "answerability_auroc").items():
            text.append(_ANSWERABILITY_TEXT)
            tables.append(_answerability_table(f"{benchmark}, {questions}", variants))
    if not tables:
        return None
    return Section("Calibration", tuple(dict.fromkeys(text)), tuple(tables), tuple(folded), tuple(figures))


def _calibrations_by_questions(
    findings: StudyFindings, by_variant: Mapping[str, Mapping[str, Calibration]]
) -> dict[str, dict[str, Calibration]]:
    """Arrange calibrations by questions, then by the variant's title."""
    by_questions: dict[str, dict[str, Calibration]] = {}
    for name, splits in by_variant.items():
        for split, calibration in splits.items():
            questions = format_questions(split, calibration["group"])
            by_questions.setdefault(questions, {})[findings["variants"][name]["title"]] = calibration
    return by_questions


def _with_measure(
    by_questions: Mapping[str, Mapping[str, Calibration]], measure: str
) -> dict[str, dict[str, Calibration]]:
    """Select the variants that have a measure."""
    selected: dict[str, dict[str, Calibration]] = {}
    for questions, variants in by_questions.items():
        for title, calibration in variants.items():
            if calibration.get(measure) is not None:
                selected.setdefault(questions, {})[title] = calibration
    return selected


def _answerability_table(questions: str, calibrations: Mapping[str, Calibration]) -> Table:
    title = METRIC_TITLES["answerability_auroc"]
    rows = tuple(heads(name, f"{calibration['answerability_auroc']:.1f}") for name, calibration in calibrations.items())
    return Table(f"{title}: {questions}", heads("Variant", title), rows)


def ensemble_section(findings: StudyFindings) -> Section | None:
    """Write a section about trials of one variant that answer together."""
    tables = [
        table
        for benchmark, analyses in findings["analyses"].items()
        for table in _ensemble_tables(findings, benchmark, analyses.get("ensemble", {}))
    ]
    return Section("Ensembles", (_ENSEMBLE_TEXT,), tuple(tables)) if tables else None


def _ensemble_tables(
    findings: StudyFindings, benchmark: str, by_variant: Mapping[str, Sequence[EnsembleRow]]
) -> Iterator[Table]:
    rows = [row for variant_rows in by_variant.values() for row in variant_rows]
    methods = list(dict.fromkeys(row["how"] for row in rows))
    columns = heads("Variant", "One trial, mean", *(method.capitalize() for method in methods), "Printed")
    # One table for each group of questions and metric, with a column for each way to combine trials.
    for split, group, metric in dict.fromkeys((row["split"], row["group"], row["metric"]) for row in rows):
        key = {"split": split, "group": group, "metric": metric}
        body = []
        for name, variant_rows in by_variant.items():
            single: StudyRow | None = _first(findings["rows"], key | {"benchmark": benchmark, "variant": name})
            body.append(
                (
                    Cell(findings["variants"][name]["title"]),
                    Cell(NO_VALUE if single is None else f"{single['mean']:.1f}"),
                    *(_ensemble_cell(_first(variant_rows, key | {"how": method})) for method in methods),
                    Cell(_printed_ensemble(single)),
                )
            )
        caption = f"{benchmark}, {format_questions(split, group)}: {METRIC_TITLES[metric]}"
        yield Table(caption, columns, tuple(body))


def _first(rows: Iterable[Any], key: Mapping[str, str]) -> Any:
    """Find the first row with these values; None if there is none."""
    return next((row for row in rows if key.items() <= row.items()), None)


def _ensemble_cell(row: EnsembleRow | None) -> Cell:
    return Cell(NO_VALUE) if row is None else estimate_cell(row, f"seeds {', '.join(map(str, row['seeds']))}")


def _printed_ensemble(row: StudyRow | None) -> str:
    values = [score["value"] for score in row["printed"] if score["ensemble"]] if row else []
    return f"{values[0]:g}" if values else NO_VALUE


def example_section(findings: StudyFindings) -> Section | None:
    """Write a section about the answers to single questions.

    A question that one benchmark has is not reported as missing on the others.
    """
    examples = [
        (benchmark, example)
        for benchmark, analyses in findings["analyses"].items()
        for example in analyses.get("predictions", [])
    ]
    # A question may be named by its id or by its text.
    available = [example for _, example in examples if "missing" not in example]
    names = {name for example in available for name in (example["question_id"], example["question"])}
    text = tuple(
        f"“{example['question']}” is not among the questions of {benchmark}."
        for benchmark, example in examples
        if "missing" in example and example["question"] not in names
    )
    tables = tuple(table for table in (_example_table(findings, example) for example in available) if table.rows)
    return Section("What each variant answers", text, tables) if tables or text else None


def _example_table(findings: StudyFindings, example: Example) -> Table:
    # Several gold answers are alternatives; none means that there is no answer.
    gold = " / ".join(dict.fromkeys(example["gold"])) or "no answer"
    options = f" Options: {'; '.join(example['options'])}." if example["options"] else ""
    rows = tuple(
        heads(
            findings["variants"][name]["title"],
            "; ".join(dict.fromkeys(answer["answer"] or "no answer" for answer in by_seed.values())) or NO_VALUE,
            f"{sum(answer['right'] for answer in by_seed.values())} of {len(by_seed)}",
            _printed_answer(example, name),
        )
        for name, by_seed in example["answers"].items()
    )
    caption = f"{example['question']} Gold: {gold}.{options}"
    return Table(caption, heads("Variant", "Answer", "Right", "Printed"), rows, aligned=False)


def _printed_answer(example: Example, variant: str) -> str:
    """Find the answer that the paper prints, where options are numbered from 1."""
    printed, options = example["printed"].get(variant), example["options"]
    if isinstance(printed, int) and options:
        return options[printed - 1] if 0 < printed <= len(options) else NO_VALUE
    return NO_VALUE if printed is None else str(printed)


def reranking_section(findings: StudyFindings) -> Section | None:
    """Write a section about candidates that language models ranked again."""
    columns = heads("Variant", "Where", "Before", "After", "Right among the best", "Gained", "Lost")
    tables = []
    for benchmark, analyses in findings["analyses"].items():
        rows = tuple(
            row
            for name, reranked in analyses.get("reranking", {}).items()
            for row in _reranked_rows(findings["variants"][name]["title"], reranked)
        )
        if rows:
            tables.append(Table(f"{benchmark}, accuracy, mean over seeds", columns, rows))
    text = ("Weights are tuned on one half of dev and used on the other.",)
    return Section("Ranked again", text, tuple(tables)) if tables else None


def _reranked_rows(title: str, reranked: Reranked) -> Iterator[Row]:
    for split, by_group in reranked["splits"].items():
        for group, changes in by_group.items():
            seeds = changes["seeds"].values()
            means = (
                mean(seed["before"] for seed in seeds),
                mean(seed["after"] for seed in seeds),
                mean(seed["right_among_n_best"] for seed in seeds),
                mean(seed["gained"] for seed in seeds),
                mean(seed["lost"] for seed in seeds),
            )
            yield heads(title, format_questions(split, group), *(f"{value:.1f}" for value in means))
