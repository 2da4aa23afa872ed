"""The attention page: a question, and what one or two readers look at while they read it."""

import json
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from typing import Any

import pyarrow as pa

from coattend.reporting import html_page
from coattend.reporting.attention_drawing import DRAWING
from coattend.reporting.attention_script import SCRIPT
from coattend.reporting.attention_style import STYLE
from coattend.reporting.page import Section
from coattend.reporting.style import STYLE as HOUSE_STYLE
from coattend.reporting.tables import NONE, Cell, Table

DIGITS = 3
"""Digits of the numbers on the page; the table has them all."""

_INTRODUCTION = (
    "Choose a question and see what each reader looked at: the stronger the shade of a word, the higher its number, "
    "which stands there when it is pointed at or touched, and in a list below. Attention is no explanation: it says "
    "what was weighed, not why the answer was chosen."
)
_AGREEMENT = (
    "Occlusion hides one word of the passage after the other and measures by how much the answer that was chosen "
    "becomes less probable. Spearman's rank correlation says how well a map puts the words of the passage into the "
    "same order: 1 the same, 0 no relation, \u22121 the reverse. A word has the sum of its tokens' shares, or the mean "
    "of their scores; what stands between two spaces is one word.",
    "Neither of the two is the truth about a reader. A passage with a hidden word is one that it was not trained on, "
    "words that say the same stand in for each other, long words gather more of what is shared out, and a low "
    "agreement may be the fault of either.",
)


def render(readings: dict[str, Any], maps: pa.Table) -> str:
    """The page.

    Args:
        readings: Who read what, as `coattend.training.attention.read` tells it.
        maps: The attention table.

    Returns:
        HTML that loads nothing and is forbidden to; what was given by users stands in it as text.
    """
    title = f"{readings['title']}: what readers look at"
    if not readings["readers"]:
        nothing = "<p>There is no finished trial to look with, or no question to look at.</p>"
        return html_page.document(title, [nothing], style=HOUSE_STYLE)
    data = html_page.embedded(json.dumps(_packed(readings, maps), separators=(",", ":")))
    body = [
        f"<p>{escape(_INTRODUCTION)}</p>",
        "<noscript><p>This page needs JavaScript; the Parquet table beside it holds its numbers.</p></noscript>",
        _CHOICE,
        f'<script type="application/json" id="data">{data}</script>',
    ]
    if readings["occlusion"]:
        body.append(html_page.section_of(Section("Attention and occlusion", _AGREEMENT, (_agreement(readings),))))
    body.append(html_page.section_of(Section("Readers", (), (_readers(readings),))))
    return html_page.document(title, body, style=HOUSE_STYLE + STYLE, scripts=(DRAWING, SCRIPT))


_CHOICE = """\
<section class="choice" aria-label="Question">
<div class="controls"><label for="question">Question</label>
<select id="question"></select>
<button type="button" id="before">Previous</button><button type="button" id="next">Next</button></div>
<h2 id="asked"></h2>
<p id="about" class="quiet"></p>
<div id="answers"></div>
<div id="readers"></div>
</section>"""


def _packed(readings: dict[str, Any], maps: pa.Table) -> dict[str, Any]:
    """What the script needs, with each sequence's tokens once."""
    seen = _by_reading(maps)
    questions = [
        question
        | {
            "readings": [
                reading
                | {
                    "sequences": [
                        given | seen.get((question["question_id"], reader["trial_id"], number), _NOTHING)
                        for number, given in enumerate(reading["sequences"])
                    ]
                }
                for reader, reading in zip(readings["readers"], question["readings"], strict=True)
            ]
        }
        for question in readings["questions"]
    ]
    return readings | {"questions": questions}


_NOTHING: dict[str, Any] = {"tokens": {}, "maps": {}}


def _by_reading(maps: pa.Table) -> dict[tuple[str, str, int], dict[str, Any]]:
    """For each question, trial and sequence the tokens of each side and the numbers of each map [levels, tokens]."""
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    blocks: dict[tuple[str, str, int], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in maps.to_pylist():
        blocks[row["question_id"], row["trial_id"], row["sequence"]][row["map"]].append(row)
    for place, named in blocks.items():
        tokens, values = {}, {}
        for name, rows in named.items():
            side = "passage" if rows[0]["domain"] == "passage" else "question"
            tokens[side] = list(_tokens(rows))
            levels = zip(*(row["values"] for row in rows), strict=True)
            values[name] = [[float(f"{value:.{DIGITS}g}") for value in level] for level in levels]
        found[place] = {"tokens": tokens, "maps": values}
    return found


def _tokens(rows: list[dict[str, Any]]) -> Iterator[list[Any]]:
    """Tokens as the text that they stand in, first and last character; special ones as they are called."""
    for row in rows:
        yield [row["domain"], row["text"]] if row["start"] is None else [row["domain"], row["start"], row["end"]]


def _agreement(readings: dict[str, Any]) -> Table:
    rows = []
    for reader in readings["readers"]:
        for name, levels in reader["agreement"].items():
            level = reader["legend"][name]["level"]
            for number, one in enumerate(levels, 1):
                which = (f"{level} {number}",) if len(levels) > 1 else ()
                mean = NONE if one["mean"] is None else f"{one['mean']:.2f}".replace("-", "\u2212")
                rows.append(
                    (
                        Cell(reader["reader"], (reader["trial_id"],)),
                        Cell(name.replace("_", " "), which),
                        Cell(mean),
                        Cell(str(one["questions"])),
                    )
                )
    heads = ("Reader", "Map", "Mean agreement", "Questions")
    return Table("", tuple(map(Cell, heads)), tuple(rows))


def _readers(readings: dict[str, Any]) -> Table:
    rows = []
    for reader in readings["readers"]:
        options = ", ".join(f"{name} {value}" for name, value in sorted(reader["options"].items()))
        cells = (reader["head"], reader["encoder"], str(reader["seed"]), options)
        rows.append((Cell(reader["reader"], (reader["trial_id"],)), *map(Cell, cells)))
    return Table("", tuple(map(Cell, ("Reader", "Head", "Encoder", "Seed", "Options"))), tuple(rows), aligned=False)
