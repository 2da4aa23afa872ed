"""Sections of a study's analyses: averages, breakdowns, calibration, ensembles, examples and re-ranking."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from statistics import mean

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import (
    BreakdownRow,
    Calibration,
    EnsembleRow,
    Example,
    SplitAverage,
)
from coattend.evaluation.reranking.records import Reranked
from coattend.reports.figures import risk_coverage_curves
from coattend.reports.records import Numbers, StudyFindings, StudyRow
from coattend.reports.render import Section
from coattend.reports.sections import CALIBRATION_TEXT, calibration_table, reliability_table
from coattend.reports.study.figures import breakdown_figure, question_counts
from coattend.reports.study.paper_numbers import SCORES, as_mapping, printed_numbers, printed_scores
from coattend.reports.study.table import baseline_of, title_of
from coattend.reports.tables import (
    METRIC_TITLES,
    NO_VALUE,
    Cell,
    Table,
    TableRow,
    estimate_cell,
    format_p_value,
    format_questions,
    noted_cell,
)

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

_AVERAGE_TEXT = (
    "Each split counts alike, however many questions it has. The gain is over the variant's baseline; brackets hold "
    "95 % over groups of questions."
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


def average_section(findings: StudyFindings) -> Section | None:
    """Write a section about scores averaged over splits, if the study asks for them."""
    tables = []
    for benchmark, analyses in findings["analyses"].items():
        averages = analyses.get("average", {})
        for metric in dict.fromkeys(row["metric"] for rows in averages.values() for row in rows):
            by_variant = {name: row for name, rows in averages.items() for row in rows if row["metric"] == metric}
            tables.append(_average_table(findings, benchmark, metric, by_variant))
    return Section("Averages over splits", (_AVERAGE_TEXT,), tuple(tables)) if tables else None


def _average_table(
    findings: StudyFindings, benchmark: str, metric: str, by_variant: Mapping[str, SplitAverage]
) -> Table:
    scores = printed_scores(findings["printed"], findings["benchmarks"])
    printed_splits = {key.split for key in scores if key.benchmark == benchmark and key.group == EVERYTHING}
    # A mean over fewer splits than the paper's is another quantity.
    splits = sorted(printed_splits) or sorted({split for row in by_variant.values() for split in row["splits"]})
    # Column title to the printed numbers of its quantity, by variant; columns without any are left out.
    printed = {
        f"{title}, {block['encoder']}": {
            name: _printed_number(printed_numbers(block, name, benchmark), quantity, metric) for name in by_variant
        }
        for block in findings["printed"]
        for title, quantity in (("Printed", "average"), ("Printed gain", "average_gain"))
        if not block["ensemble"]
    }
    columns = {title: column for title, column in printed.items() if set(column.values()) != {NO_VALUE}}
    rows: list[TableRow] = []
    for name, row in by_variant.items():
        measured = splits == sorted(row["splits"])
        note = "" if measured else f"scored: {', '.join(row['splits'])}"
        gain = row["gain"] if measured else None
        alone = "the baseline" if baseline_of(findings, name) == name else "not run beside its baseline"
        rows.append(
            {
                "Variant": title_of(findings, name),
                f"Mean of {' and '.join(splits)}": noted_cell(f"{row['mean']:.1f}" if measured else NO_VALUE, note),
                "Gain": noted_cell(NO_VALUE, note or alone) if gain is None else estimate_cell(gain, sign="+"),
                **{title: column[name] for title, column in columns.items()},
            }
        )
    return Table.of(f"{benchmark}: {METRIC_TITLES[metric]}", rows)


def _printed_number(numbers: Mapping[str, Numbers], quantity: str, metric: str) -> str:
    """Format a printed quantity, or what it is by a metric; a bare number is an accuracy."""
    number = numbers.get(quantity)
    value = number.get(SCORES[metric]) if isinstance(number, Mapping) else number if metric == "accuracy" else None
    return f"{value:g}" if isinstance(value, int | float) else NO_VALUE


def breakdown_sections(findings: StudyFindings, names: Iterable[str]) -> Iterator[Section]:
    """Write a section for each benchmark and split of some breakdowns, named as in `BREAKDOWN_TITLES`."""
    rows_by_section: dict[tuple[str, str, str], list[BreakdownRow]] = {}
    for row in findings["breakdowns"]:
        rows_by_section.setdefault((row["breakdown"], row["benchmark"], row["split"]), []).append(row)
    for name in names:
        for (breakdown, benchmark, split), rows in rows_by_section.items():
            if breakdown == name:
                title = f"{BREAKDOWN_TITLES[name]}: {', '.join((benchmark, split, *findings['homes'][benchmark]))}"
                figure = (f"{title}. Bars hold 95 % intervals over groups of questions.", breakdown_figure(rows))
                folded = (_breakdown_table(rows),)
                yield Section(title, _BREAKDOWN_NOTES.get(name, ()), folded=folded, figures=(figure,))


def _breakdown_table(rows: Sequence[BreakdownRow]) -> Table:
    titles, metrics = (dict.fromkeys(row[field] for row in rows) for field in ("title", "metric"))
    columns = (
        (
            f"{title}, {METRIC_TITLES[metric]}",
            {row["group"]: estimate_cell(row) for row in rows if (row["title"], row["metric"]) == (title, metric)},
        )
        for title, metric in product(titles, metrics)
    )
    groups = {group: Cell(group, (f"{count} questions",)) for group, count in question_counts(rows).items()}
    return Table.of_columns("As a table", "Group", columns, groups)


def calibration_section(findings: StudyFindings) -> Section | None:
    """Write a section about calibration, if any variant keeps scores."""
    text: list[str] = []
    tables, folded, figures = [], [], []
    for benchmark, analyses in findings["analyses"].items():
        by_variant = analyses.get("calibration", {})
        # Readers that choose from all words keep no scores.
        calibrated = _calibrations(findings, by_variant, "ece")
        for questions, variants in calibrated.items():
            tables.append(calibration_table(f"Calibration: {benchmark}, {questions}", "Variant", variants))
            folded.append(reliability_table(f"{benchmark}, {questions}", "Variant", variants))
        if calibrated:
            text += CALIBRATION_TEXT
        # Records of trials keep no curves.
        calibrations = [calibration for variants in calibrated.values() for calibration in variants.values()]
        if calibrations and all("risk_coverage" in calibration for calibration in calibrations):
            figures.append((f"Risk against coverage: {benchmark}.", risk_coverage_curves(calibrated)))
        for questions, variants in _calibrations(findings, by_variant, "answerability_auroc").items():
            text.append(_ANSWERABILITY_TEXT)
            title = METRIC_TITLES["answerability_auroc"]
            areas = {name: f"{calibration['answerability_auroc']:.1f}" for name, calibration in variants.items()}
            tables.append(Table.of_columns(f"{title}: {benchmark}, {questions}", "Variant", [(title, areas)]))
    if not tables:
        return None
    return Section("Calibration", tuple(dict.fromkeys(text)), tuple(tables), tuple(folded), tuple(figures))


def _calibrations(
    findings: StudyFindings, by_variant: Mapping[str, Mapping[str, Calibration]], measure: str
) -> dict[str, dict[str, Calibration]]:
    """Arrange the calibrations that have a measure by questions, then by the variant's title."""
    by_questions: dict[str, dict[str, Calibration]] = {}
    for name, splits in by_variant.items():
        for split, calibration in splits.items():
            if calibration.get(measure) is not None:
                questions = format_questions(split, calibration["group"])
                by_questions.setdefault(questions, {})[title_of(findings, name)] = calibration
    return by_questions


def ensemble_section(findings: StudyFindings) -> Section | None:
    """Write a section about trials of one variant that answer together."""
    tables: list[Table] = []
    for benchmark, analyses in findings["analyses"].items():
        tables += _ensemble_tables(findings, benchmark, analyses.get("ensemble", {}))
    return Section("Ensembles", (_ENSEMBLE_TEXT,), tuple(tables)) if tables else None


def _ensemble_tables(
    findings: StudyFindings, benchmark: str, by_variant: Mapping[str, Sequence[EnsembleRow]]
) -> Iterator[Table]:
    """List the ensembles of each group of questions and metric, with a column for each way to combine trials."""
    ensemble_rows = [row for variant_rows in by_variant.values() for row in variant_rows]
    methods = dict.fromkeys(row["how"] for row in ensemble_rows)
    scores = {(row["benchmark"], row["variant"], *_questions_and_metric(row)): row for row in findings["rows"]}
    for questions in dict.fromkeys(map(_questions_and_metric, ensemble_rows)):
        rows: list[Mapping[str, Cell | str]] = []
        for name, variant_rows in by_variant.items():
            single = scores.get((benchmark, name, *questions))
            printed = [score["value"] for score in single["printed"] if score["ensemble"]] if single else []
            by_method = {row["how"]: row for row in variant_rows if _questions_and_metric(row) == questions}
            rows.append(
                {
                    "Variant": title_of(findings, name),
                    "One trial, mean": NO_VALUE if single is None else f"{single['mean']:.1f}",
                    **{method.capitalize(): _ensemble_cell(by_method.get(method)) for method in methods},
                    "Printed": f"{printed[0]:g}" if printed else NO_VALUE,
                }
            )
        split, group, metric = questions
        yield Table.of(f"{benchmark}, {format_questions(split, group)}: {METRIC_TITLES[metric]}", rows)


def _questions_and_metric(row: EnsembleRow | StudyRow) -> tuple[str, str, str]:
    return row["split"], row["group"], row["metric"]


def _ensemble_cell(row: EnsembleRow | None) -> Cell:
    return Cell(NO_VALUE) if row is None else estimate_cell(row, f"seeds {', '.join(map(str, row['seeds']))}")


def example_section(findings: StudyFindings) -> Section | None:
    """Write a section about the answers to single questions."""
    examples = [
        (benchmark, example)
        for benchmark, analyses in findings["analyses"].items()
        for example in analyses.get("predictions", [])
    ]
    # A question, named by its id or its text, that one benchmark has is not reported as missing on the others.
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
    rows = (
        {
            "Variant": title_of(findings, name),
            "Answer": "; ".join(dict.fromkeys(answer["answer"] or "no answer" for answer in by_seed.values()))
            or NO_VALUE,
            "Right": f"{sum(answer['right'] for answer in by_seed.values())} of {len(by_seed)}",
            "Printed": _printed_answer(example, name),
        }
        for name, by_seed in example["answers"].items()
    )
    return Table.of(f"{example['question']} Gold: {gold}.{options}", rows, aligned=False)


def _printed_answer(example: Example, variant: str) -> str:
    """Find the answer that the paper prints, where options are numbered from 1."""
    printed, options = example["printed"].get(variant), example["options"]
    if isinstance(printed, int) and options:
        return options[printed - 1] if 0 < printed <= len(options) else NO_VALUE
    return NO_VALUE if printed is None else str(printed)


def reranking_section(findings: StudyFindings) -> Section | None:
    """Write a section about candidates that language models ranked again."""
    tables = []
    for benchmark, analyses in findings["analyses"].items():
        reranked = analyses.get("reranking", {})
        rows: list[Mapping[str, Cell | str]] = []
        for name in reranked:
            blocks = (printed_numbers(block, name, benchmark).get("reranked", {}) for block in findings["printed"])
            printed = next((scores for scores in map(as_mapping, blocks) if scores), {})
            rows += _reranked_rows(title_of(findings, name), reranked[name], printed)
        if rows:
            tables.append(Table.of(f"{benchmark}, accuracy, mean over seeds", rows))
    text = (
        "Weights are tuned on one half of dev and used on the other. p is of the difference between before and after, "
        "over groups of questions, for each seed and without a correction.",
    )
    return Section("Ranked again", text, tuple(tables)) if tables else None


def _reranked_rows(
    title: str, reranked: Reranked, printed: Mapping[str, Numbers]
) -> Iterator[Mapping[str, Cell | str]]:
    for split, by_group in reranked["splits"].items():
        for group, changes in by_group.items():
            score = printed.get(split if group == EVERYTHING else f"{split}/{group}")
            seeds = changes["seeds"].values()
            yield {
                "Variant": title,
                "Where": format_questions(split, group),
                "Before": f"{mean(seed['before'] for seed in seeds):.1f}",
                "After": f"{mean(seed['after'] for seed in seeds):.1f}",
                "Printed, after": f"{score:g}" if isinstance(score, int | float) else NO_VALUE,
                "Right among the best": f"{mean(seed['right_among_n_best'] for seed in seeds):.1f}",
                "Gained": f"{mean(seed['gained'] for seed in seeds):.1f}",
                "Lost": f"{mean(seed['lost'] for seed in seeds):.1f}",
                "p of the seeds": _range_of_p([seed["p"] for seed in seeds]),
            }


def _range_of_p(values: Sequence[float | None]) -> str:
    """Write the p values of the seeds: the least and the greatest, if these differ."""
    known = [value for value in values if value is not None]
    if not known:
        return NO_VALUE
    least, greatest = map(format_p_value, (min(known), max(known)))
    return least if least == greatest else f"{least} to {greatest}"
