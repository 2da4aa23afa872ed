"""Parts of speech of the words at which answers begin and end: tables of counts, and a figure of shares."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from coattend.reporting.figures import COLOURS, GREY, finished
from coattend.reporting.page import Section
from coattend.reporting.tables import NONE, Cell, Table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Counts = Mapping[str, float]
"""Tag to how often it is there."""

MOST = 12
"""Tags that are drawn by themselves, the most frequent first; the tables have all."""

OTHERS = "others"
PATTERNS = ("", "/", "x", ".", "\\", "-", "+", "|")
"""How bars are filled, so that they are told apart without colours, too."""

TITLES = {"predicted": "Boundary words", "wrong": "Boundary words with a wrong part of speech"}

_ABOUT = (
    "Counts of the first and the last word of each answer, a one-word answer's twice, as means over seeds; the "
    "gold answer is a question's first. Wrong: another word with another part of speech, by the gold word's."
)


def sections(results: Mapping[str, Any]) -> Iterator[Section]:
    """One section, where boundary words were counted.

    Args:
        results: What `coattend.reporting.study_table.results_of` returned.
    """
    every = ((benchmark, found.get("boundary_pos", {})) for benchmark, found in results["analyses"].items())
    counted = {name: found for name, found in every if any(one["gold"] for one in found.values())}
    if counted:
        tables = (_counts(results, name, found, kind) for name, found in counted.items() for kind in TITLES)
        drawn = tuple(_drawn(results, name, found) for name, found in counted.items())
        yield Section("Words at which answers begin and end", (_ABOUT,), tuple(tables), figures=drawn)


def _drawn(results: Mapping[str, Any], benchmark: str, by_variant: Mapping[str, Any]) -> tuple[str, "Figure"]:
    """The figure with what it shows."""
    caption = f"Parts of speech of boundary words: {benchmark}. The share of each among the gold, the predicted and the"
    wrong = {results["variants"][name]["title"]: found["wrong"] for name, found in by_variant.items()}
    return f"{caption} wrongly predicted words.", shares(_columns(results, by_variant, "predicted"), wrong)


def shares(predicted: Mapping[str, Counts], wrong: Mapping[str, Counts]) -> "Figure":
    """The share of each part of speech among boundary words, in percent.

    Args:
        predicted: What is counted, gold or of a variant, to its counts.
        wrong: Variants to their wrong predictions, by the gold word's tag.

    Returns:
        A panel for all words and one for the wrong ones, with a bar for each series and tag.
    """
    from plotly.graph_objects import Bar
    from plotly.subplots import make_subplots

    tags, names = _most_frequent(predicted), list(predicted)
    titles = ["Gold and predicted words", "Wrongly predicted words, by the gold word"]
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.12, subplot_titles=titles)
    for panel, by_name in enumerate((predicted, wrong), start=1):
        for name, counts in by_name.items():
            place = names.index(name)
            drawn = _with_others(counts, tags)
            total = sum(drawn.values())
            bars = Bar(
                x=list(drawn),
                y=[100 * count / total if total else 0.0 for count in drawn.values()],
                name=escape(name),
                legendgroup=name,
                showlegend=panel == 1,
                marker={"color": COLOURS[place % len(COLOURS)], "pattern": {"shape": PATTERNS[place % len(PATTERNS)]}},
                customdata=list(drawn.values()),
                hovertemplate="%{x}: %{y:.1f} %, %{customdata:,.0f} words",
            )
            figure.add_trace(bars, row=panel, col=1)
    figure.update_xaxes(showgrid=False, zeroline=False, categoryorder="array", categoryarray=[*tags, OTHERS])
    figure.update_yaxes(ticksuffix=" %", gridcolor=GREY, griddash="dot", zeroline=False)
    return finished(figure, 600)


def _most_frequent(columns: Mapping[str, Counts]) -> list[str]:
    """The tags that are drawn, by their counts in all columns together."""
    together: dict[str, float] = {}
    for counts in columns.values():
        for tag, count in counts.items():
            together[tag] = together.get(tag, 0) + count
    return sorted(together, key=lambda tag: -together[tag])[:MOST]


def _with_others(counts: Counts, tags: list[str]) -> dict[str, float]:
    shown = {tag: counts.get(tag, 0.0) for tag in tags}
    rest = sum(count for tag, count in counts.items() if tag not in shown)
    return shown | ({OTHERS: rest} if rest else {})


def _columns(results: Mapping[str, Any], by_variant: Mapping[str, Any], kind: str) -> dict[str, Counts]:
    """What is counted, gold or of a variant, to its counts."""
    titles = {name: results["variants"][name]["title"] for name in by_variant}
    columns: dict[str, Counts] = {}
    for name, found in by_variant.items():
        # Variants that read the same tags have the same gold counts: these stand there once.
        if found["gold"] not in columns.values():
            columns["Gold" if not columns else f"Gold, as for {titles[name]}"] = found["gold"]
        columns[titles[name]] = found[kind]
    return columns


def _counts(results: Mapping[str, Any], benchmark: str, by_variant: Mapping[str, Any], kind: str) -> Table:
    columns = _columns(results, by_variant, kind)
    printed = {results["variants"][name]["title"]: _printed(results, name, kind) for name in by_variant}
    columns |= {f"{title}, printed": counts for title, counts in printed.items() if counts}
    tags = dict.fromkeys(tag for counts in columns.values() for tag in counts)
    body = tuple(
        (Cell(tag), *(Cell(f"{counts[tag]:,.0f}" if tag in counts else NONE) for counts in columns.values()))
        for tag in tags
    )
    return Table(f"{TITLES[kind]}, {benchmark}", tuple(map(Cell, ("Tag", *columns))), body)


def _printed(results: Mapping[str, Any], variant: str, kind: str) -> Counts:
    field = "boundary_pos" if kind == "predicted" else "boundary_pos_wrong"
    return next(
        (
            block["numbers"][variant][field]
            for block in results["printed"]
            if field in block["numbers"].get(variant, {})
        ),
        {},
    )
