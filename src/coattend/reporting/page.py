"""What the page says, section by section. The renderers decide how it looks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.intervals import LEVEL
from coattend.evaluation.scoring import METRICS
from coattend.reporting import calibration
from coattend.reporting.figures import GUESSING, curves, dot_plot, dot_plot_caption
from coattend.reporting.notes import notes, trials, warned
from coattend.reporting.settings import costs, options
from coattend.reporting.tables import LABELS, Table, bracket, by_type, differences, probability, scored, scores

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it.

    Attributes:
        title: The heading.
        text: Paragraphs.
        tables: Shown after the text.
        folded: Tables that may be folded away.
        figures: Figures with their alternative texts, where the page can show them.
        links: What other pages hold, with where they lie from this one.
    """

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    figures: tuple[tuple[str, "Figure"], ...] = ()
    links: tuple[tuple[str, str], ...] = ()


def sections(results: dict[str, Any]) -> list[Section]:
    """The page of a comparison.

    Args:
        results: What `coattend.reporting.comparison.compare` returned.
    """
    parts = [_summary(results), _scores(results)]
    if results["differences"]:
        parts.append(_differences(results))
    types = by_type(results)
    if types:
        parts.append(Section("By question type", ("A question of several types counts in each.",), tuple(types)))
    if calibration.tables(results):
        parts.append(_calibration(results))
    if _has_curves(results):
        parts.append(_training(results))
    differ, same = options(results)
    tables = (differ,) if differ.rows else ()
    return [
        *parts,
        Section("Costs", (), (costs(results),)),
        Section("Settings", () if differ.rows else ("The readers have no settings that differ.",), tables, (same,)),
        Section("What to keep in mind", tuple(notes(results))),
    ]


def _summary(results: dict[str, Any]) -> Section:
    text = [sentence for task in results["baselines"] for sentence in _leaders(results, task)]
    if not text:
        text = ["No reader has been scored yet."]
    for status, verb in (("not run", "Not run"), ("failed", "Failed in every trial")):
        names = [name for name, entry in results["readers"].items() if entry["status"] == status]
        if names:
            text.append(f"{verb}: {', '.join(names)}.")
    if any(warned(results)):
        text.append("There are warnings, under “What to keep in mind”.")
    return Section("In short", tuple(text))


def _leaders(results: dict[str, Any], task: str) -> Iterator[str]:
    readers, metric = scored(results, task), METRICS[task][-1]
    among = f" ({task})" if len(results["baselines"]) > 1 else ""
    for split in sorted({split for given in readers.values() for split in given["splits"]}):
        values = {
            name: given["splits"][split][EVERYTHING][metric]
            for name, given in readers.items()
            if split in given["splits"]
        }
        name = max(values, key=lambda name: values[name]["mean"])
        shown = f"{values[name]['mean']:.1f} % {bracket(values[name])}".strip()
        guess = results["chance"][task].get(split, {}).get(EVERYTHING, 0.0)
        versus = f"; {GUESSING[task]} scores {guess:.1f} %" if guess else ""
        leads = f"On {split}{among}, {name} has the highest {_in_a_sentence(metric)}: {shown}{versus}."
        yield leads + _margin(results, name, split, metric)


def _margin(results: dict[str, Any], reader: str, split: str, metric: str) -> str:
    for found in results["differences"]:
        if (found["reader"], found["split"], found["metric"]) == (reader, split, metric):
            p = probability(found["p"])
            p = p.replace(" ", "\u00a0") if p.startswith("<") else f"=\u00a0{p}"
            return (
                f" Against {found['baseline']} that is {found['mean']:+.1f} points {bracket(found, '+')}, p\u00a0{p}."
            )
    return ""


def _in_a_sentence(metric: str) -> str:
    return LABELS[metric] if LABELS[metric].isupper() else LABELS[metric].lower()


def _scores(results: dict[str, Any]) -> Section:
    text = (
        "Percent of all questions of a split; a missing answer counts as wrong. In brackets: where the number would "
        f"lie for {100 * LEVEL:.0f} % of other draws of passages, and of seeds where there are several. With one seed, "
        "the brackets say nothing about another training.",
    )
    figure = (dot_plot_caption(results), dot_plot(results))
    return Section("Results", text, tuple(scores(results)), (), (figure,) if results["baselines"] else ())


def _differences(results: dict[str, Any]) -> Section:
    text = (
        "Both readers answer the same questions, so their difference is surer than their two intervals suggest: read "
        "it here, in percentage points. The bootstrap draws passages and seeds; McNemar's exact test takes questions "
        "as independent and needs one seed. Each p value is for one comparison: of twenty readers that are no better, "
        "one will be below 0.05.",
    )
    return Section("Against the baseline", text, (differences(results),))


def _calibration(results: dict[str, Any]) -> Section:
    figures = tuple(
        (f"Risk against coverage{of}.", calibration.risk_against_coverage(calibration.by_split(results, task)))
        for task, of in calibration.tasks(results)
    )
    tables, tenths = tuple(calibration.tables(results)), tuple(calibration.reliability(results))
    return Section("Calibration", calibration.ABOUT, tables, tenths, figures)


def _training(results: dict[str, Any]) -> Section:
    text = (
        "One line for each seed. Held-out questions are a part of the training set that was not trained on, apart by "
        "passage; checkpoints are chosen on them.",
    )
    figures = tuple(
        (
            f"Training curves, {task}." if len(results["baselines"]) > 1 else "Training curves.",
            curves({name: given["trials"] for name, given in scored(results, task).items()}, task),
        )
        for task in results["baselines"]
    )
    return Section("Training", text, (), (), figures)


def _has_curves(results: dict[str, Any]) -> bool:
    return any(trial.get("curve") for trial in trials(results))
