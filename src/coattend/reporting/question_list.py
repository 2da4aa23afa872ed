"""The list of questions that two trials answered: rows as JSON, drawn in the browser as they are looked at."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.evaluation import groups
from coattend.reporting.question_list_script import SCRIPT, STYLE

WINNER_NAMES = {"left": "Left alone", "right": "Right alone", "both": "Both", "neither": "Neither"}
"""What each outcome is called on a page."""


def render(table: pa.Table, passages: Mapping[str, str], *, graded: bool, most: int) -> str:
    """The list as HTML.

    Args:
        table: A table of the schema `coattend.tables.COMPARED`.
        passages: Text by passage id.
        graded: Whether marks lie between 0 and 1.
        most: How many questions are listed at most.
    """
    chosen = listed(table, most)
    shown = set(chosen["passage_id"].to_pylist())
    content = {
        "rows": _columns(chosen),
        "passages": {name: text for name, text in passages.items() if name in shown},
        "graded": graded,
        "names": WINNER_NAMES,
    }
    # "<" inside a JSON string would let a text close the script.
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    splits = {name: name for name in groups.members(chosen["split"])}
    left_out = len(table) - len(chosen)
    note = f"<p>{left_out:,} more questions stand in the table alone.</p>" if left_out else ""
    return f"""<section id="questions">
<style>{STYLE}</style>
<h2>Questions</h2>
{note}<noscript><p>The list needs JavaScript. The same rows stand in questions.parquet beside this page.</p></noscript>
<form hidden>
<label>Correct<select name="correct"><option value="">any</option>{_options(WINNER_NAMES)}</select></label>
<label>Split<select name="split"><option value="">all</option>{_options(splits)}</select></label>
<label>Text<input type="search" name="text" placeholder="in questions and answers"></label>
</form>
<p class="found" role="status"></p>
<ol></ol>
<button type="button" hidden>Show more</button>
<script type="application/json">{data}</script>
<script>{SCRIPT}</script>
</section>"""


def listed(table: pa.Table, most: int) -> pa.Table:
    """As many questions as a page can take, in their order.

    Args:
        table: A table of the schema `coattend.tables.COMPARED`.
        most: How many; those that only one trial answered correctly are taken first.
    """
    if len(table) <= most:
        return table
    apart = pc.is_in(table["winner"].cast(pa.string()), value_set=pa.array(["left", "right"])).to_numpy()
    return table.take(np.sort(np.argsort(~apart, kind="stable")[:most]))


def _columns(table: pa.Table) -> dict[str, list[Any]]:
    columns = table.to_pydict()
    for side in ("left", "right"):
        columns[f"{side}_mark"] = [round(mark, 3) for mark in columns[f"{side}_mark"]]
    return columns


def _options(names: Mapping[str, str]) -> str:
    return "".join(f'<option value="{escape(value)}">{escape(name)}</option>' for value, name in names.items())
