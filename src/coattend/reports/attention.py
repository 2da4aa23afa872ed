"""The attention page: a question, and what one or two readers look at while they read it."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from coattend.evaluation.records import AttentionReader, AttentionReadings
from coattend.reports.render import Section, render_template, script_json
from coattend.reports.tables import NO_VALUE, Cell, Table, heads

SIGNIFICANT_DIGITS = 3
"""Digits of the numbers on the page; the table has them all."""

_OCCLUSION_TEXT = (
    "Occlusion hides one word of the passage after the other and measures by how much the answer that was chosen "
    "becomes less probable. Spearman's rank correlation says how well a map puts the words of the passage into the "
    "same order: 1 the same, 0 no relation, \u22121 the reverse. A word has the sum of its tokens' shares, or the mean "
    "of their scores; what stands between two spaces is one word.",
    "Neither of the two is the truth about a reader. A passage with a hidden word is one that it was not trained on, "
    "words that say the same stand in for each other, long words gather more of what is shared out, and a low "
    "agreement may be the fault of either.",
)

SequenceKey = tuple[str, str, int]
"""Question, trial and index of a sequence."""


def render_html(readings: AttentionReadings, maps: pa.Table) -> str:
    """Render the attention page.

    Args:
        readings: The readers, the questions and their answers.
        maps: The attention table.
    """
    title = f"{readings['title']}: what readers look at"
    if not readings["readers"]:
        return render_template("attention.html.j2", title=title, readings=None, sections=[])
    sections = [Section("Readers", tables=(_reader_table(readings["readers"]),))]
    if readings.get("occlusion"):
        agreement = Section("Attention and occlusion", _OCCLUSION_TEXT, (_agreement_table(readings["readers"]),))
        sections.insert(0, agreement)
    page_data = script_json(json.dumps(_page_data(readings, maps), separators=(",", ":")))
    return render_template("attention.html.j2", title=title, readings=page_data, sections=sections)


def _page_data(readings: AttentionReadings, maps: pa.Table) -> dict[str, Any]:
    """Add tokens and maps to every sequence of the readings."""
    maps_of = _maps_by_sequence(maps)
    questions = []
    for question in readings["questions"]:
        # A sequence of a reader without attention maps has no rows in the table.
        with_maps = []
        for reader, reading in zip(readings["readers"], question["readings"], strict=True):
            keys = ((question["question_id"], reader["trial_id"], index) for index in range(len(reading["sequences"])))
            sequences = [
                sequence | maps_of.get(key, {"tokens": {}, "maps": {}})
                for key, sequence in zip(keys, reading["sequences"], strict=True)
            ]
            with_maps.append(reading | {"sequences": sequences})
        questions.append(question | {"readings": with_maps})
    return {**readings, "questions": questions}


def _maps_by_sequence(maps: pa.Table) -> dict[SequenceKey, dict[str, Any]]:
    """Group the attention table by sequence: the tokens of each side, once, and each map [levels, tokens]."""
    # Rows of one map lie together in the table, token by token.
    rows_by_map: dict[SequenceKey, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in maps.to_pylist():
        rows_by_map[row["question_id"], row["trial_id"], row["sequence"]][row["map"]].append(row)
    sequences = {}
    for key, rows_by_name in rows_by_map.items():
        tokens, values = {}, {}
        for name, rows in rows_by_name.items():
            side = "passage" if rows[0]["domain"] == "passage" else "question"
            tokens[side] = list(_tokens(rows))
            # The table has the levels of each token; the page needs the tokens of each level.
            levels = zip(*(row["values"] for row in rows), strict=True)
            values[name] = [[float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in level] for level in levels]
        sequences[key] = {"tokens": tokens, "maps": values}
    return sequences


def _tokens(rows: Sequence[dict[str, Any]]) -> Iterator[list[Any]]:
    """Write tokens as domain, first character and end; special tokens as domain and name."""
    for row in rows:
        yield [row["domain"], row["text"]] if row["start"] is None else [row["domain"], row["start"], row["end"]]


def _agreement_table(readers: Sequence[AttentionReader]) -> Table:
    """List how well each map agrees with occlusion, by turn or head where it has several."""
    rows = []
    for reader in readers:
        for name, levels in reader["agreement"].items():
            level_title = reader["legend"][name]["level"]
            for number, agreement in enumerate(levels, 1):
                # A true minus sign, as wide as a plus.
                mean = NO_VALUE if agreement["mean"] is None else f"{agreement['mean']:.2f}".replace("-", "\u2212")
                rows.append(
                    (
                        Cell(reader["reader"], (reader["trial_id"],)),
                        Cell(name.replace("_", " "), (f"{level_title} {number}",) if len(levels) > 1 else ()),
                        Cell(mean),
                        Cell(str(agreement["questions"])),
                    )
                )
    return Table("", heads("Reader", "Map", "Mean agreement", "Questions"), tuple(rows))


def _reader_table(readers: Sequence[AttentionReader]) -> Table:
    rows = []
    for reader in readers:
        options = ", ".join(f"{name} {value}" for name, value in sorted(reader["options"].items()))
        cells = heads(reader["head"], reader["encoder"], str(reader["seed"]), options)
        rows.append((Cell(reader["reader"], (reader["trial_id"],)), *cells))
    return Table("", heads("Reader", "Head", "Encoder", "Seed", "Options"), tuple(rows), aligned=False)
