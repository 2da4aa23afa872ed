"""Sections of a study about its trainings: tuning, scores along an axis, curves; and what was not measured."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product, starmap
from statistics import mean

from coattend.config.source import run_command
from coattend.config.study import QUANTITIES
from coattend.evaluation.records import CurvePoint, SearchResult, TrialRecord, TriedConfiguration
from coattend.evaluation.runs import curve_questions, finished, side_by_side
from coattend.reports import tables
from coattend.reports.figures import training_curves
from coattend.reports.records import Numbers, SearchSpace, StudyFindings, StudyRow
from coattend.reports.render import Section
from coattend.reports.sections import curve_text
from coattend.reports.study import paper_numbers
from coattend.reports.study.costs import COSTS
from coattend.reports.study.figures import LinePoint, line_figure
from coattend.reports.study.table import rows_in_question, title_of, trials_by_training_benchmark
from coattend.reports.tables import METRIC_TITLES, NO_VALUE, Cell, Table, TableRow, noted_cell

_ATTENTION_TEXT = (
    "What readers look at, question by question, has a page of its own. Attention is no explanation: unless "
    "attention.occlusion is false, the page tells how well each map agrees with what hiding each word of the "
    "passage does to the answer. Other trials are drawn by "
)


def search_section(findings: StudyFindings) -> Section | None:
    """Write a section about hyper-parameter search, if the study has one and a variant was run."""
    # Findings of earlier versions have no searches.
    searches = {benchmark: results for benchmark, results in findings.get("searches", {}).items() if results}
    search = findings.get("search")
    if not searches or search is None:
        return None
    values = " and ".join(f"{field} ({_format_space(space)})" for field, space in search["space"].items())
    text = (
        f"Every variant was trained in {search['trials']} configurations with the first seed: the configured one, and "
        f"others that are spread evenly over {values}. The best by its score on the held-out questions, which are a "
        "part of the training set, was then trained with all seeds. Dev had no part in it.",
        "The held-out score of the best of several is too good, since it was chosen by that score: compare variants by "
        "the scores above.",
    )
    best, all_configurations = [], []
    # Benchmarks are searched separately.
    for benchmark, results in searches.items():
        titled = [(title_of(findings, variant), result) for variant, result in results.items()]
        best.append(Table.of(f"{benchmark}: what was chosen", starmap(_best_row, titled)))
        rows = chain.from_iterable(starmap(_configuration_rows, titled))
        all_configurations.append(Table.of(f"{benchmark}: all that was tried", rows))
    return Section("How training was tuned", text, tuple(best), tuple(all_configurations))


def _format_space(space: SearchSpace) -> str:
    if space["choices"] is not None:
        return ", ".join(map(tables.format_setting, space["choices"]))
    return f"{space['low']:g} to {space['high']:g}{', by ratios' if space['log'] else ''}"


def _best_row(title: str, search: SearchResult) -> TableRow:
    configured, best = search["tried"][0], search["tried"][search["chosen"]]
    failed = sum(configuration["held_out"] is None for configuration in search["tried"])
    # The configured value is only worth a note where another one was chosen.
    fields = {
        field: noted_cell(
            tables.format_setting(value), "" if before == value else f"configured {tables.format_setting(before)}"
        )
        for (field, value), before in zip(best["values"].items(), configured["values"].values(), strict=True)
    }
    return {
        "Variant": title,
        **fields,
        "Held-out, %": _held_out_percent(best),
        "As configured, %": _held_out_percent(configured),
        "Configurations tried": noted_cell(str(len(search["tried"])), f"{failed} failed" if failed else ""),
    }


def _configuration_rows(title: str, search: SearchResult) -> Iterator[TableRow]:
    for index, configuration in enumerate(search["tried"]):
        notes = ("configured" if index == 0 else "", "chosen" if index == search["chosen"] else "")
        yield {
            "Variant": noted_cell(title, *notes),
            **{field: tables.format_setting(value) for field, value in configuration["values"].items()},
            "Held-out, %": noted_cell(_held_out_percent(configuration), configuration["failure"] or ""),
            "Trial": configuration["trial_id"],
        }


def _held_out_percent(tried: TriedConfiguration) -> str:
    return NO_VALUE if tried["held_out"] is None else f"{100 * tried['held_out']:.1f}"


def line_sections(findings: StudyFindings) -> Iterator[Section]:
    """Write a section with scores along the study's axis for each benchmark, split and group of questions."""
    axis = findings["axis"] or ""
    points: dict[tuple[str, str], list[LinePoint]] = {}
    for row in rows_in_question(findings):
        key = (row["benchmark"], tables.format_questions(row["split"], row["group"]))
        for point in _line_points(row, findings):
            points.setdefault(key, []).append(point)
    for (benchmark, questions), drawn in points.items():
        title = f"Score by {axis}: {benchmark}, {questions}"
        caption = f"{title}. Bars hold 95 % intervals over groups of questions."
        yield Section(title, figures=((caption, line_figure(drawn, axis)),))


def _line_points(row: StudyRow, findings: StudyFindings) -> Iterator[LinePoint]:
    """Make a point of a row for each line that its variant belongs to."""
    variant, trials = findings["variants"][row["variant"]], findings["trials"][row["benchmark"]][row["variant"]]
    for series in variant.get("series", ()):
        at = variant["at"]
        # A learning curve's points stand at the number of questions that were trained on.
        position = mean(trial["questions"] for trial in finished(trials)) if at == "questions" else at
        yield {"series": series, "at": float(position or 0), "row": row}


def training_sections(findings: StudyFindings) -> Iterator[Section]:
    """Write a section with training curves for each benchmark, and a table of their points beside printed ones."""
    for benchmark, by_variant in trials_by_training_benchmark(findings).items():
        trials_by_title = {title_of(findings, name): finished(trials) for name, trials in by_variant.items()}
        drawn = [trial for trials in trials_by_title.values() for trial in trials if trial.get("curve")]
        if not drawn:
            continue
        text = (curve_text(drawn), "The losses of variants with different objectives are different quantities.")
        # Only scores of spans are F1; the curves of all other tasks are accuracies.
        spans = any(row["metric"] == "f1" for row in findings["rows"] if row["benchmark"] == benchmark)
        figure = (f"Training curves, {benchmark}.", training_curves(trials_by_title, "span" if spans else "options"))
        table = _step_table(findings, benchmark, by_variant)
        yield Section(f"Training on {benchmark}", text, folded=(table,), figures=(figure,))


def _step_table(findings: StudyFindings, benchmark: str, by_variant: Mapping[str, Sequence[TrialRecord]]) -> Table:
    """List scores by step beside those that the paper prints.

    Trainings have unlike numbers of steps: each stands at the percentage of its own that was done.
    """
    curves = {
        name: [trial["curve"] for trial in trials]
        for name, records in by_variant.items()
        if (trials := finished(records))
    }
    all_curves = [curve for variant_curves in curves.values() for curve in variant_curves if curve]
    # Trainings for spans have no held-out loss, nor have those of early versions.
    held_out_loss = all(any(point.get("held_out_loss") is not None for point in curve) for curve in all_curves)
    # A column maps percentages of the steps to cells.
    columns = [
        (title_of(findings, name), _measured_steps(variant_curves, held_out_loss=held_out_loss))
        for name, variant_curves in curves.items()
    ]
    printed = [(f"{title_of(findings, name)}, printed", _printed_steps(findings, benchmark, name)) for name in curves]
    columns += [(title, column) for title, column in printed if column]
    percentages = sorted({percent for _, column in columns for percent in column})
    questions = curve_questions(trial for records in by_variant.values() for trial in finished(records))
    score = "Score on dev" if questions == "dev" else "Held-out score"
    caption = f"{score} and {'loss' if held_out_loss else 'training loss'} by step"
    return Table.of_columns(caption, "Part of the steps", columns, {p: f"{p} %" for p in percentages})


def _measured_steps(curves: Sequence[Sequence[CurvePoint]], *, held_out_loss: bool) -> dict[int, Cell | str]:
    """Average a variant's trials at the steps at which questions were scored, by percentage of its steps."""
    points = [point for curve in curves for point in curve]
    last_step = max((point["step"] for point in points), default=0)
    # All other points are in the figure alone.
    scored_steps = {point["step"] for point in points if point.get("held_out") is not None}
    by_percent: dict[int, list[CurvePoint]] = {}
    for point in points:
        if point["step"] in scored_steps:
            by_percent.setdefault(round(100 * point["step"] / last_step), []).append(point)
    return {percent: _point_cell(by_percent[percent], held_out_loss=held_out_loss) for percent in by_percent}


def _point_cell(points: Sequence[CurvePoint], *, held_out_loss: bool) -> Cell:
    scores = [100 * score for point in points if (score := point.get("held_out")) is not None]
    losses = [
        loss
        for point in points
        if (loss := point.get("held_out_loss") if held_out_loss else point.get("loss")) is not None
    ]
    loss_note = f"loss {mean(losses):.3f}" if losses else ""
    return noted_cell(f"{mean(scores):.1f}" if scores else NO_VALUE, loss_note, f"step {points[0]['step']}")


def _printed_steps(findings: StudyFindings, benchmark: str, variant: str) -> dict[int, Cell | str]:
    """Read what the paper prints step by step, by percentage of its steps."""
    steps: dict[int, Numbers] = {}
    for block in findings["printed"]:
        for number in paper_numbers.printed_numbers(block, variant, benchmark).values():
            steps |= paper_numbers.numbers_by_step(number)
    return {round(100 * step / max(steps)): _printed_cell(number, step) for step, number in steps.items()}


def _printed_cell(number: Numbers, step: int) -> Cell:
    # As in training, the last metric decides.
    *_, score = paper_numbers.scores_by_metric(number).values()
    loss = paper_numbers.as_mapping(number).get("loss")
    return noted_cell(f"{score:g}", "" if loss is None else f"loss {loss:g}", f"step {step}")


def attention_section(findings: StudyFindings) -> Section:
    """Link to the attention pages of the benchmarks."""
    pairs = {name: side_by_side(trials, findings["baseline"]) for name, trials in findings["trials"].items()}
    links = [
        (f"{benchmark}: {' beside '.join(title_of(findings, name) for name in pair)}", f"{benchmark}_attention.html")
        for benchmark, pair in pairs.items()
        if pair
    ]
    # Two of the study's trials are an example of any others.
    example = next((pair for pair in pairs.values() if len(pair) == 2), {})
    left, right = [trial["trial_id"] for trial in example.values()] or ["<trial>", "<trial>"]
    command = run_command(pipelines="attention", with_params=False)
    text = f"{_ATTENTION_TEXT}{command} --params attention.left={left},attention.right={right}."
    return Section("Attention", (text,), links=tuple(links))


def unmeasured_section(findings: StudyFindings) -> Section | None:
    """Write a section if the paper prints more than was measured."""
    text = "The paper prints these where the study has no result: nothing here was compared with them."
    table = unmeasured_table(findings)
    return None if table is None else Section("Not measured here", (text,), (table,))


def unmeasured_table(findings: StudyFindings) -> Table | None:
    """List the printed numbers of splits and variants without a result; None if there are none."""
    rows = [*_unmeasured_scores(findings), *_unmeasured_quantities(findings)]
    return Table.of("Printed, not measured here", rows, quiet=True) if rows else None


def _unmeasured_scores(findings: StudyFindings) -> Iterator[TableRow]:
    # Printed scores beside a measured one are in the table of scores.
    measured = {
        paper_numbers.ScoreKey(row["variant"], row["benchmark"], row["split"], row["group"], row["metric"])
        for row in findings["rows"]
    }
    for key, scores in paper_numbers.printed_scores(findings["printed"], findings["benchmarks"]).items():
        for score in scores if key not in measured else ():
            yield {
                "Variant": title_of(findings, key.variant),
                "Benchmark": key.benchmark,
                "Where": tables.format_questions(key.split, key.group),
                "What": METRIC_TITLES[key.metric],
                "Printed": paper_numbers.printed_cell(score),
                "Encoder": paper_numbers.encoder_label(score),
            }


def _unmeasured_quantities(findings: StudyFindings) -> Iterator[TableRow]:
    for block in findings["printed"]:
        for variant in block["numbers"]:
            measured = _measured_quantities(findings, variant, ensemble=block["ensemble"])
            # Quantities without a benchmark stand beside the benchmarks' numbers.
            for benchmark, (name, title) in product(("", *findings["benchmarks"]), QUANTITIES.items()):
                quantity = paper_numbers.printed_numbers(block, variant, benchmark).get(name)
                if quantity is None or (benchmark, name) in measured:
                    continue
                # Counts are printed by part of speech.
                parts = {f"{title}, {tag}": count for tag, count in paper_numbers.as_mapping(quantity).items()} or {
                    title: quantity
                }
                for part, value in parts.items():
                    yield {
                        "Variant": title_of(findings, variant),
                        "Benchmark": benchmark or NO_VALUE,
                        "Where": NO_VALUE,
                        "What": part,
                        "Printed": f"{value:g}",
                        "Encoder": paper_numbers.encoder_label(block),
                    }


def _measured_quantities(findings: StudyFindings, variant: str, *, ensemble: bool) -> set[tuple[str, str]]:
    """Collect (benchmark or nothing, quantity) of the numbers that other tables of the page compare."""
    counted = any(variant in analyses.get("boundary_pos", {}) for analyses in findings["analyses"].values())
    # Counted parts of speech stand beside the printed ones, for all quantities of a variant.
    boundaries = ("boundary_pos", "boundary_pos_wrong", "corrected_pos_percent", "corrected_answers_percent")
    measured = {("", name) for name in boundaries if counted}
    averaged = [name for name, analyses in findings["analyses"].items() if variant in analyses.get("average", {})]
    ranked = [name for name, analyses in findings["analyses"].items() if variant in analyses.get("reranking", {})]
    if not ensemble:
        measured |= {*product(averaged, ("average", "average_gain")), *product(ranked, ("reranked",))}
    if ensemble or not COSTS & set(findings["shows"]):
        return measured
    trained = trials_by_training_benchmark(findings)
    timed = [benchmark for benchmark, by_variant in trained.items() if finished(by_variant.get(variant, []))]
    if timed:
        measured.add(("", "parameters_millions"))
    return measured | set(product(timed, ("minutes_per_epoch", "peak_memory_gb", "training_score")))


def cited_section(findings: StudyFindings) -> Section | None:
    """List the systems that the paper only quotes, if there are any."""
    if not findings["cited"]:
        return None
    rows = (
        {
            "System": f"{system['name']}{system['mark'] or ''}",
            "Encoder": system["encoder"] or NO_VALUE,
            "Source": system["source"] or NO_VALUE,
            "Numbers": "; ".join(_flatten(system["numbers"])),
        }
        for system in findings["cited"]
    )
    table = Table.of("Systems", rows, aligned=False, quiet=True)
    text = "Numbers that the paper quotes from others. Nothing here was compared with them."
    return Section("Only cited", (text,), folded=(table,))


def _flatten(numbers: Numbers, path: str = "") -> Iterator[str]:
    """Write nested numbers one by one, each behind its path."""
    if isinstance(numbers, Mapping):
        for name, number in numbers.items():
            yield from _flatten(number, f"{path} {name}".strip())
    else:
        yield f"{path} {numbers:g}" if isinstance(numbers, int | float) else f"{path} {numbers}"


def left_out_section(findings: StudyFindings) -> Section | None:
    """Write a section of what the budget left no time for, and of the other variants that were not run."""
    left_out = findings.get("left_out", [])
    titles = ", ".join(title_of(findings, name) for name in left_out)
    text = [f"To keep within its budget, the study did not train: {titles}."] if titles else []
    for benchmark, by_variant in findings["trials"].items():
        missing = [
            variant["title"]
            for name, variant in findings["variants"].items()
            if benchmark in (variant.get("benchmarks") or findings["benchmarks"])
            and not variant.get("repeats")
            and name not in {*by_variant, *left_out}
        ]
        if missing:
            whose = ", ".join(f"“{title}”" for title in missing) if by_variant else "every variant"
            text.append(f"Not run on {benchmark}: {whose}.")
    return Section("Left out", tuple(text)) if text else None
