"""What a study shows beside its table of scores, section by section."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from coattend.evaluation.runs import finished, side_by_side
from coattend.reporting import study_boundaries, study_breakdowns, study_lines, study_search
from coattend.reporting.figures import curves
from coattend.reporting.page import Section
from coattend.reporting.study_breakdowns import TITLES
from coattend.reporting.study_prints import ensembles, examples, reranked
from coattend.reporting.tables import NONE, Cell, Table


def sections(results: Mapping[str, Any]) -> list[Section]:
    """How training was tuned, and a section for all that a study shows, where there is something to show.

    Args:
        results: What `coattend.reporting.study_table.results_of` returned.
    """
    shows = results["shows"]
    parts = list(study_search.sections(results))
    if "lines" in shows:
        parts += study_lines.sections(results)
    if {"parameters", "seconds_per_epoch"} & set(shows):
        parts.append(Section("What variants cost", tuple(_about_costs(results)), tuple(_costs(results))))
    if "curve" in shows:
        parts += _training(results)
    parts += [one for name in shows if name in TITLES for one in study_breakdowns.sections(name, results)]
    parts += study_boundaries.sections(results)
    for name, title, made in (
        ("ensemble", "Ensembles", ensembles),
        ("predictions", "What each variant answers", examples),
        ("reranking", "Ranked again", reranked),
    ):
        if any(name in found for found in results["analyses"].values()):
            text, tables = made(results)
            tables = tuple(table for table in tables if table.rows)
            # A question that is nowhere has no table, and is told.
            if tables or (text and name == "predictions"):
                parts.append(Section(title, text, tables))
    if "attention" in shows:
        parts.append(_attention(results))
    return parts


def trained(results: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The trials of each benchmark that were trained on it: one that only asks has none of its own."""
    for benchmark, by_variant in results["trials"].items():
        elsewhere = results["trained_on"].get(benchmark, {})
        yield benchmark, {name: trials for name, trials in by_variant.items() if name not in elsewhere}


def _about_costs(results: Mapping[str, Any]) -> Iterator[str]:
    yield "Minutes are those of a variant's fastest trial: what else a machine does makes the others slower."
    if results["protocol"] == "frozen":
        yield "Parameters are those that are trained; papers count the encoder's, too."


def _costs(results: Mapping[str, Any]) -> Iterator[Table]:
    """Parameters and time, a table for each benchmark."""
    for benchmark, by_variant in trained(results):
        done = {name: finished(trials) for name, trials in by_variant.items()}
        blocks = [one for one in results["printed"] if not one["ensemble"]]
        heads = ["Variant", "Parameters, millions", "Minutes for an epoch"]
        heads += [f"Printed, {block['encoder']}" for block in blocks]
        rows = tuple(
            (
                Cell(results["variants"][name]["title"]),
                Cell(_of([one["parameters"] / 1e6 for one in trials if one.get("parameters")], "{:.2f}")),
                Cell(f"{min(map(_epoch, trials)) / 60:.1f}", (f"{trials[0]['questions']:,} questions",)),
                *(Cell(_printed_costs(block["numbers"].get(name, {}), benchmark)) for block in blocks),
            )
            for name, trials in done.items()
            if trials
        )
        if rows:
            yield Table(f"{benchmark}, {_device(done)}", tuple(map(Cell, heads)), rows)


def _epoch(trial: Mapping[str, Any]) -> float:
    """Seconds in which a trial reads its questions once."""
    return trial["questions"] / trial["questions_per_second"] if trial["questions_per_second"] else 0.0


def _device(done: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    return ", ".join(sorted({trial["device"] for trials in done.values() for trial in trials}))


def _printed_costs(numbers: Mapping[str, Any], benchmark: str) -> str:
    here = numbers.get(benchmark, {})
    told = [
        f"{numbers['parameters_millions']:g} million" if "parameters_millions" in numbers else "",
        f"{here['minutes_per_epoch']:g} minutes" if "minutes_per_epoch" in here else "",
    ]
    return ", ".join(filter(None, told)) or NONE


def _training(results: Mapping[str, Any]) -> Iterator[Section]:
    """Curves, and their points as a table beside those that the paper prints."""
    for benchmark, by_variant in trained(results):
        done = {results["variants"][name]["title"]: finished(trials) for name, trials in by_variant.items()}
        if not any(one.get("curve") for trials in done.values() for one in trials):
            continue
        spans = any(row["metric"] == "f1" for row in results["rows"] if row["benchmark"] == benchmark)
        drawn = curves(done, "span" if spans else "options")
        text = (
            "A line for each seed. Held-out questions are a part of the training set that was not trained on; the "
            "losses of variants with different objectives are different quantities.",
        )
        tables = (_by_step(results, benchmark, by_variant),)
        yield Section(f"Training on {benchmark}", text, (), tables, ((f"Training curves, {benchmark}.", drawn),))


def _by_step(results: Mapping[str, Any], benchmark: str, by_variant: Mapping[str, Any]) -> Table:
    """The steps at which held-out questions were scored, beside those that the paper prints; the figure has the others.

    Ours are fewer than the paper's: both stand at the part of the training, or of the printed steps, that was done.
    """
    names = [name for name in by_variant if finished(by_variant[name])]
    trials = [one for name in names for one in finished(by_variant[name])]
    last = max(point["step"] for one in trials for point in one["curve"])
    key, loss = _loss_of(trials)
    measured = {name: _scored(finished(by_variant[name]), last) for name in names}
    printed = {name: _printed_steps(results, benchmark, name) for name in names}
    parts = sorted({part for found in (*measured.values(), *printed.values()) for part in found})
    beside = [name for name in names if printed[name]]
    titles = {name: results["variants"][name]["title"] for name in names}
    heads = ["Part of the steps", *titles.values(), *(f"{titles[name]}, printed" for name in beside)]
    rows = tuple(
        (
            Cell(f"{part} %"),
            *(_point(measured[name].get(part, []), key) for name in names),
            *(Cell(*printed[name].get(part, (NONE,))) for name in beside),
        )
        for part in parts
    )
    return Table(f"Held-out score and {loss} by step", tuple(map(Cell, heads)), rows)


def _scored(trials: Sequence[Mapping[str, Any]], last: int) -> dict[int, list[Mapping[str, Any]]]:
    """Part of all steps in percent to the points at those of them at which held-out questions were scored."""
    points = [point for one in trials for point in one["curve"]]
    scored = {point["step"] for point in points if point.get("held_out") is not None}
    found: dict[int, list[Mapping[str, Any]]] = {}
    for point in (point for point in points if point["step"] in scored):
        found.setdefault(round(100 * point["step"] / last), []).append(point)
    return found


def _loss_of(trials: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The loss that all trials have beside their held-out score, and what it is called.

    Those of spans have none on held-out questions, and those of early trials were not kept.
    """
    curves_drawn = [one["curve"] for one in trials if one["curve"]]
    if all(any(point.get("held_out_loss") is not None for point in curve) for curve in curves_drawn):
        return "held_out_loss", "loss"
    return "loss", "training loss"


def _point(points: Sequence[Mapping[str, Any]], loss: str) -> Cell:
    scores = [100 * one["held_out"] for one in points if one.get("held_out") is not None]
    losses = [one[loss] for one in points if one.get(loss) is not None]
    notes = (*(f"loss {mean(losses):.3f}" for _ in losses[:1]), *(f"step {one['step']}" for one in points[:1]))
    return Cell(_of(scores, "{:.1f}"), notes)


def _printed_steps(results: Mapping[str, Any], benchmark: str, variant: str) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Part of the steps to what the paper prints: in study files a split's number may be a table by steps."""
    cells = [
        cell for block in results["printed"] for cell in block["numbers"].get(variant, {}).get(benchmark, {}).values()
    ]
    steps = {
        int(step): value
        for cell in cells
        if isinstance(cell, dict)
        for step, value in cell.items()
        if str(step).isdigit()
    }
    return {
        round(100 * step / max(steps)): (f"{value['accuracy']:g}", (f"loss {value['loss']:g}", f"step {step}"))
        for step, value in steps.items()
    }


def _attention(results: Mapping[str, Any]) -> Section:
    text = (
        "What readers look at, question by question, has a page of its own. Attention is no explanation: unless "
        "attention.occlusion is false, the page tells how well each map agrees with what hiding each word of the "
        "passage does to the answer. Other trials are drawn by "
        "kedro run --pipelines attention --params attention.left=<trial>,attention.right=<trial>.",
    )
    links = []
    for benchmark in results["trials"]:
        titles = [results["variants"][name]["title"] for name in side_by_side(results, benchmark)]
        if titles:
            links.append((f"{benchmark}: {' beside '.join(titles)}", f"{benchmark}_attention.html"))
    return Section("Attention", text, links=tuple(links))


def _of(values: Sequence[float], form: str) -> str:
    """The mean of the seeds' values."""
    return form.format(mean(values)) if values else NONE
