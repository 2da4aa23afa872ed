"""Sections of a study about its trainings: tuning, scores along an axis, costs, curves; and what was not measured."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from coattend.evaluation.records import CurvePoint, SearchResult, TrialRecord, TriedConfiguration
from coattend.evaluation.runs import finished, side_by_side
from coattend.reports.figures import training_curves
from coattend.reports.records import CitedSystem, Search, SearchSpace, StudyFindings, StudyRow
from coattend.reports.render import Section
from coattend.reports.study.figures import LinePoint, line_figure
from coattend.reports.study.paper_numbers import QUANTITIES, ScoreKey, encoder_label, printed_cell, printed_scores
from coattend.reports.study.table import rows_in_question, trials_by_training_benchmark
from coattend.reports.tables import METRIC_TITLES, NO_VALUE, Cell, Row, Table, format_questions, format_setting, heads

COSTS = {"parameters", "seconds_per_epoch"}
"""Names by which a study asks for the table of costs."""

_ATTENTION_TEXT = (
    "What readers look at, question by question, has a page of its own. Attention is no explanation: unless "
    "attention.occlusion is false, the page tells how well each map agrees with what hiding each word of the "
    "passage does to the answer. Other trials are drawn by "
    "kedro run --pipelines attention --params attention.left=<trial>,attention.right=<trial>."
)


def search_section(findings: StudyFindings) -> Section | None:
    """Write a section about hyper-parameter search, if the study has one and a variant was run."""
    # Findings of earlier versions have no searches.
    searches = {benchmark: results for benchmark, results in findings.get("searches", {}).items() if results}
    search = findings.get("search")
    if not searches or search is None:
        return None
    titles = {name: variant["title"] for name, variant in findings["variants"].items()}
    # Benchmarks are searched separately.
    chosen_tables = tuple(_chosen_table(benchmark, results, titles) for benchmark, results in searches.items())
    tried_tables = tuple(_tried_table(benchmark, results, titles) for benchmark, results in searches.items())
    return Section("How training was tuned", _search_text(search), chosen_tables, tried_tables)


def _search_text(search: Search) -> tuple[str, str]:
    values = " and ".join(f"{field} ({_format_space(space)})" for field, space in search["space"].items())
    return (
        f"Every variant was trained in {search['trials']} configurations with the first seed: the configured one, and "
        f"others that are spread evenly over {values}. The best by its score on the held-out questions, which are a "
        "part of the training set, was then trained with all seeds. Dev had no part in it.",
        "The held-out score of the best of several is too good, since it was chosen by that score: compare variants by "
        "the scores above.",
    )


def _format_space(space: SearchSpace) -> str:
    if space["choices"] is not None:
        return ", ".join(map(format_setting, space["choices"]))
    return f"{space['low']:g} to {space['high']:g}{', by ratios' if space['log'] else ''}"


def _chosen_table(benchmark: str, searches: Mapping[str, SearchResult], titles: Mapping[str, str]) -> Table:
    fields, rows = _searched_fields(searches), []
    for name, search in searches.items():
        configured, best = search["tried"][0], search["tried"][search["chosen"]]
        failed = sum(configuration["held_out"] is None for configuration in search["tried"])
        rows.append(
            (
                Cell(titles[name]),
                *(_field_cell(best, field, configured) for field in fields),
                Cell(_held_out_percent(best)),
                Cell(_held_out_percent(configured)),
                Cell(str(len(search["tried"])), (f"{failed} failed",) if failed else ()),
            )
        )
    columns = heads("Variant", *fields, "Held-out, %", "As configured, %", "Configurations tried")
    return Table(f"{benchmark}: what was chosen", columns, tuple(rows))


def _tried_table(benchmark: str, searches: Mapping[str, SearchResult], titles: Mapping[str, str]) -> Table:
    fields, rows = _searched_fields(searches), []
    for name, search in searches.items():
        for index, configuration in enumerate(search["tried"]):
            notes = ("configured",) * (index == 0) + ("chosen",) * (index == search["chosen"])
            rows.append(
                (
                    Cell(titles[name], notes),
                    *(_field_cell(configuration, field) for field in fields),
                    Cell(
                        _held_out_percent(configuration),
                        (configuration["failure"],) if configuration["failure"] else (),
                    ),
                    Cell(configuration["trial_id"]),
                )
            )
    return Table(f"{benchmark}: all that was tried", heads("Variant", *fields, "Held-out, %", "Trial"), tuple(rows))


def _searched_fields(searches: Mapping[str, SearchResult]) -> list[str]:
    return list(dict.fromkeys(field for search in searches.values() for field in search["tried"][0]["values"]))


def _field_cell(tried: TriedConfiguration, field: str, configured: TriedConfiguration | None = None) -> Cell:
    """Make a cell of a field's value, with a note of its configured value where that differs."""
    # The configured value is only worth a note where another one was chosen.
    value = tried["values"][field]
    before = value if configured is None else configured["values"][field]
    return Cell(format_setting(value), () if before == value else (f"configured {format_setting(before)}",))


def _held_out_percent(tried: TriedConfiguration) -> str:
    return NO_VALUE if tried["held_out"] is None else f"{100 * tried['held_out']:.1f}"


def line_sections(findings: StudyFindings) -> Iterator[Section]:
    """Write a section with scores along the study's axis for each benchmark, split and group of questions."""
    axis = findings["axis"] or ""
    points = [point for row in rows_in_question(findings) for point in _line_points(row, findings)]
    groups = dict.fromkeys(_questions_of(point["row"]) for point in points)
    for benchmark, split, group in groups:
        drawn = [point for point in points if _questions_of(point["row"]) == (benchmark, split, group)]
        title = f"Score by {axis}: {benchmark}, {format_questions(split, group)}"
        caption = f"{title}. Bars hold 95 % of a bootstrap over passages."
        yield Section(title, figures=((caption, line_figure(drawn, axis)),))


def _questions_of(row: StudyRow) -> tuple[str, str, str]:
    return row["benchmark"], row["split"], row["group"]


def _line_points(row: StudyRow, findings: StudyFindings) -> Iterator[LinePoint]:
    """Make a point of a row for each line that its variant belongs to."""
    variant, trials = findings["variants"][row["variant"]], findings["trials"][row["benchmark"]][row["variant"]]
    for series in variant.get("series", ()):
        at = variant["at"]
        # A learning curve's points stand at the number of questions that were trained on.
        position = mean(trial["questions"] for trial in finished(trials)) if at == "questions" else at
        yield {"series": series, "at": float(position or 0), "row": row}


def cost_section(findings: StudyFindings) -> Section | None:
    """Write a section about parameters and training times, if the study asks for them."""
    if not COSTS & set(findings["shows"]):
        return None
    text = ["Minutes are those of a variant's fastest trial: what else a machine does makes the others slower."]
    if findings["protocol"] == "frozen":
        text.append("Parameters are those that are trained; papers count the encoder's, too.")
    return Section("What variants cost", tuple(text), tuple(_cost_tables(findings)))


def _cost_tables(findings: StudyFindings) -> Iterator[Table]:
    """List parameters and time per epoch of the variants that were trained on each benchmark."""
    blocks = [block for block in findings["printed"] if not block["ensemble"]]
    columns = heads(
        "Variant",
        "Parameters, millions",
        "Minutes for an epoch",
        *(f"Printed, {block['encoder']}" for block in blocks),
    )
    for benchmark, by_variant in trials_by_training_benchmark(findings).items():
        finished_trials = {name: trials for name, records in by_variant.items() if (trials := finished(records))}
        rows = []
        for name, trials in finished_trials.items():
            parameters = [trial["parameters"] / 1e6 for trial in trials if trial.get("parameters")]
            # The fastest trial was disturbed least by other processes.
            minutes = min(map(_seconds_per_epoch, trials)) / 60
            rows.append(
                (
                    Cell(findings["variants"][name]["title"]),
                    Cell(_format_mean(parameters, "{:.2f}")),
                    Cell(f"{minutes:.1f}", (f"{trials[0]['questions']:,} questions",)),
                    *(Cell(_printed_costs(block["numbers"].get(name, {}), benchmark)) for block in blocks),
                )
            )
        devices = sorted({trial["device"] for trials in finished_trials.values() for trial in trials})
        if rows:
            yield Table(f"{benchmark}, {', '.join(devices)}", columns, tuple(rows))


def _seconds_per_epoch(trial: TrialRecord) -> float:
    return trial["questions"] / trial["questions_per_second"] if trial["questions_per_second"] else 0.0


def _printed_costs(numbers: Mapping[str, Any], benchmark: str) -> str:
    costs = []
    if "parameters_millions" in numbers:
        costs.append(f"{numbers['parameters_millions']:g} million")
    if "minutes_per_epoch" in numbers.get(benchmark, {}):
        costs.append(f"{numbers[benchmark]['minutes_per_epoch']:g} minutes")
    return ", ".join(costs) or NO_VALUE


def _format_mean(values: Sequence[float], template: str) -> str:
    return template.format(mean(values)) if values else NO_VALUE


def training_sections(findings: StudyFindings) -> Iterator[Section]:
    """Write a section with training curves for each benchmark, and a table of their points beside printed ones."""
    text = (
        "A line for each seed. Held-out questions are a part of the training set that was not trained on; the "
        "losses of variants with different objectives are different quantities.",
    )
    for benchmark, by_variant in trials_by_training_benchmark(findings).items():
        trials_by_title = {findings["variants"][name]["title"]: finished(trials) for name, trials in by_variant.items()}
        if not any(trial.get("curve") for trials in trials_by_title.values() for trial in trials):
            continue
        # Only scores of spans are F1; the curves of all other tasks are accuracies.
        spans = any(row["metric"] == "f1" for row in findings["rows"] if row["benchmark"] == benchmark)
        figure = (f"Training curves, {benchmark}.", training_curves(trials_by_title, "span" if spans else "options"))
        table = _step_table(findings, benchmark, by_variant)
        yield Section(f"Training on {benchmark}", text, folded=(table,), figures=(figure,))


def _step_table(findings: StudyFindings, benchmark: str, by_variant: Mapping[str, Sequence[TrialRecord]]) -> Table:
    """List held-out scores by step beside those that the paper prints.

    Trainings here have fewer steps than the paper's: both stand at the percentage of the steps that was done.
    """
    trials_of = {name: trials for name, records in by_variant.items() if (trials := finished(records))}
    trials = [trial for variant_trials in trials_of.values() for trial in variant_trials]
    last_step = max(point["step"] for trial in trials for point in trial["curve"])
    has_held_out_loss = _has_held_out_loss(trials)
    measured = {name: _scored_points(variant_trials, last_step) for name, variant_trials in trials_of.items()}
    printed = {name: cells for name in trials_of if (cells := _printed_steps(findings, benchmark, name))}
    titles = {name: findings["variants"][name]["title"] for name in trials_of}
    percentages = {percent for points in measured.values() for percent in points}
    percentages |= {percent for cells in printed.values() for percent in cells}
    rows = tuple(
        (
            Cell(f"{percent} %"),
            *(_point_cell(measured[name].get(percent, []), held_out_loss=has_held_out_loss) for name in trials_of),
            *(cells.get(percent, Cell(NO_VALUE)) for cells in printed.values()),
        )
        for percent in sorted(percentages)
    )
    columns = heads("Part of the steps", *titles.values(), *(f"{titles[name]}, printed" for name in printed))
    loss = "loss" if has_held_out_loss else "training loss"
    return Table(f"Held-out score and {loss} by step", columns, rows)


def _scored_points(trials: Sequence[TrialRecord], last_step: int) -> dict[int, list[CurvePoint]]:
    """Group curve points by percentage of all steps, keeping the steps at which held-out questions were scored."""
    points = [point for trial in trials for point in trial["curve"]]
    # All other points are in the figure alone.
    scored_steps = {point["step"] for point in points if point.get("held_out") is not None}
    by_percent: dict[int, list[CurvePoint]] = {}
    for point in points:
        if point["step"] in scored_steps:
            by_percent.setdefault(round(100 * point["step"] / last_step), []).append(point)
    return by_percent


def _has_held_out_loss(trials: Sequence[TrialRecord]) -> bool:
    """Tell if all trials recorded a held-out loss; those of spans have none, nor have those of early versions."""
    curves = [trial["curve"] for trial in trials if trial["curve"]]
    return all(any(point.get("held_out_loss") is not None for point in curve) for curve in curves)


def _point_cell(points: Sequence[CurvePoint], *, held_out_loss: bool) -> Cell:
    scores = [100 * score for point in points if (score := point.get("held_out")) is not None]
    losses = [
        loss
        for point in points
        if (loss := point.get("held_out_loss") if held_out_loss else point.get("loss")) is not None
    ]
    notes = [f"loss {mean(losses):.3f}"] if losses else []
    notes += [f"step {point['step']}" for point in points[:1]]
    return Cell(_format_mean(scores, "{:.1f}"), tuple(notes))


def _printed_steps(findings: StudyFindings, benchmark: str, variant: str) -> dict[int, Cell]:
    """Read what the paper prints step by step, by percentage of its steps.

    In study files a split's number may be a table by steps.
    """
    numbers = [
        number
        for block in findings["printed"]
        for number in block["numbers"].get(variant, {}).get(benchmark, {}).values()
        if isinstance(number, dict)
    ]
    steps = {int(step): scores for number in numbers for step, scores in number.items() if str(step).isdigit()}
    cells = {}
    for step, scores in steps.items():
        loss = (f"loss {scores['loss']:g}",) if "loss" in scores else ()
        cells[round(100 * step / max(steps))] = Cell(f"{scores['accuracy']:g}", (*loss, f"step {step}"))
    return cells


def attention_section(findings: StudyFindings) -> Section:
    """Link to the attention pages of the benchmarks."""
    links = []
    for benchmark in findings["trials"]:
        titles = [findings["variants"][name]["title"] for name in side_by_side(findings, benchmark)]
        if titles:
            links.append((f"{benchmark}: {' beside '.join(titles)}", f"{benchmark}_attention.html"))
    return Section("Attention", (_ATTENTION_TEXT,), links=tuple(links))


def unmeasured_section(findings: StudyFindings) -> Section | None:
    """Write a section if the paper prints more than was measured."""
    text = "The paper prints these where the study has no result: nothing here was compared with them."
    table = unmeasured_table(findings)
    return None if table is None else Section("Not measured here", (text,), (table,))


def unmeasured_table(findings: StudyFindings) -> Table | None:
    """List the printed numbers of splits and variants without a result; None if there are none."""
    rows = (*_unmeasured_scores(findings), *_unmeasured_quantities(findings))
    columns = heads("Variant", "Benchmark", "Where", "What", "Printed", "Encoder")
    return Table("Printed, not measured here", columns, rows, quiet=True) if rows else None


def _unmeasured_scores(findings: StudyFindings) -> Iterator[Row]:
    # Printed scores beside a measured one are in the table of scores.
    measured = {
        ScoreKey(row["variant"], row["benchmark"], row["split"], row["group"], row["metric"])
        for row in findings["rows"]
    }
    for key, scores in printed_scores(findings["printed"], findings["benchmarks"]).items():
        for score in scores if key not in measured else ():
            title = findings["variants"][key.variant]["title"]
            questions = format_questions(key.split, key.group)
            cells = heads(title, key.benchmark, questions, METRIC_TITLES[key.metric])
            yield (*cells, printed_cell(score), Cell(encoder_label(score)))


def _unmeasured_quantities(findings: StudyFindings) -> Iterator[Row]:
    for block in findings["printed"]:
        for variant, numbers in block["numbers"].items():
            measured = _measured_quantities(findings, variant, ensemble=block["ensemble"])
            title = findings["variants"][variant]["title"]
            # Quantities without a benchmark stand beside the benchmarks' numbers.
            for benchmark in ("", *findings["benchmarks"]):
                quantities = numbers.get(benchmark, {}) if benchmark else numbers
                for name, quantity_title in QUANTITIES.items():
                    if name in quantities and (benchmark, name) not in measured:
                        for what, value in _parts(quantity_title, quantities[name]):
                            cells = heads(title, benchmark or NO_VALUE, NO_VALUE, what)
                            yield (*cells, Cell(f"{value:g}"), Cell(encoder_label(block)))


def _measured_quantities(findings: StudyFindings, variant: str, *, ensemble: bool) -> set[tuple[str, str]]:
    """Collect (benchmark or nothing, quantity) of the numbers that other tables of the page compare."""
    counted = any(variant in analyses.get("boundary_pos", {}) for analyses in findings["analyses"].values())
    # Counted parts of speech stand beside the printed ones, for all quantities of a variant.
    measured = {("", name) for name in ("boundary_pos", "boundary_pos_wrong") if counted}
    if ensemble or not {"parameters", "seconds_per_epoch"} & set(findings["shows"]):
        return measured
    trained = trials_by_training_benchmark(findings)
    timed = [benchmark for benchmark, by_variant in trained.items() if finished(by_variant.get(variant, []))]
    if timed:
        measured.add(("", "parameters_millions"))
    return measured | {(benchmark, "minutes_per_epoch") for benchmark in timed}


def _parts(title: str, quantity: Any) -> Iterator[tuple[str, float]]:
    """Split counts by part of speech into one quantity for each."""
    if isinstance(quantity, Mapping):
        yield from ((f"{title}, {tag}", count) for tag, count in quantity.items())
    else:
        yield title, quantity


def cited_section(findings: StudyFindings) -> Section | None:
    """List the systems that the paper only quotes, if there are any."""
    if not findings["cited"]:
        return None
    rows = tuple(map(_cited_row, findings["cited"]))
    columns = heads("System", "Encoder", "Source", "Numbers")
    table = Table("Systems", columns, rows, aligned=False, quiet=True)
    text = "Numbers that the paper quotes from others. Nothing here was compared with them."
    return Section("Only cited", (text,), folded=(table,))


def _cited_row(system: CitedSystem) -> Row:
    return heads(
        f"{system['name']}{system['mark'] or ''}",
        system["encoder"] or NO_VALUE,
        system["source"] or NO_VALUE,
        "; ".join(_flatten(system["numbers"])),
    )


def _flatten(numbers: Any, path: str = "") -> Iterator[str]:
    """Write nested numbers one by one, each behind its path."""
    if not isinstance(numbers, dict):
        yield f"{path} {numbers:g}" if isinstance(numbers, int | float) else f"{path} {numbers}"
        return
    for name, number in numbers.items():
        yield from _flatten(number, f"{path} {name}".strip())
