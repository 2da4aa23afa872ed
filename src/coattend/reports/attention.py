"""The attention page: a question, and what one or two readers look at while they read it."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypedDict

import pyarrow as pa

from coattend.inference.attention_records import (
    AttentionQuestion,
    AttentionReader,
    AttentionReading,
    AttentionReadings,
    SequenceTexts,
)
from coattend.reports.navigation import page_links
from coattend.reports.render import Section, render_template, script_json
from coattend.reports.tables import NO_VALUE, Cell, Table, TableRow, cells, noted_cell

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
Token = list[str | int]
"""Domain, first character and end; of a special token domain and name."""


class MapRow(TypedDict):
    """A token under one map, as in `ATTENTION`."""

    question_id: str
    trial_id: str
    sequence: int
    map: str
    domain: str
    token: int
    text: str
    start: int | None
    end: int | None
    values: list[float]


class SequenceMaps(TypedDict):
    """The tokens of each side of a sequence, once, and each map [levels, tokens]."""

    tokens: dict[str, list[Token]]
    maps: dict[str, list[list[float]]]


class MappedSequence(SequenceTexts, SequenceMaps):
    """A sequence as the page's script reads it."""


def render_html(readings: AttentionReadings, maps: pa.Table, folder: str = "../") -> str:
    """Render the attention page of readings and the attention table; ``folder`` is that of all pages, relative to its
    own."""
    title = f"{readings['title']}: what readers look at"
    readers = readings["readers"]
    links = page_links(
        folder, trials=[(f"{reader['reader']}, seed {reader['seed']},", reader["trial_id"]) for reader in readers]
    )
    if not readers:
        return render_template("attention.html.j2", title=title, readings=None, sections=[], links=links)
    sections = [Section("Readers", tables=(_reader_table(readers),))]
    if readings.get("occlusion"):
        sections.insert(0, Section("Attention and occlusion", _OCCLUSION_TEXT, (_agreement_table(readers),)))
    page_data = script_json(json.dumps(_page_data(readings, maps), ensure_ascii=False, separators=(",", ":")))
    return render_template("attention.html.j2", title=title, readings=page_data, sections=sections, links=links)


def _page_data(readings: AttentionReadings, maps: pa.Table) -> AttentionReadings:
    """Add tokens and maps to every sequence of the readings."""
    maps_by_sequence, no_maps = _maps_by_sequence(maps), SequenceMaps(tokens={}, maps={})
    questions: list[AttentionQuestion] = []
    for question in readings["questions"]:
        with_maps: list[AttentionReading] = []
        for reader, reading in zip(readings["readers"], question["readings"], strict=True):
            # A sequence of a reader without attention maps has no rows in the table.
            keys = ((question["question_id"], reader["trial_id"], index) for index in range(len(reading["sequences"])))
            sequences: list[SequenceTexts] = [
                MappedSequence({**sequence, **maps_by_sequence.get(key, no_maps)})
                for key, sequence in zip(keys, reading["sequences"], strict=True)
            ]
            with_maps.append({**reading, "sequences": sequences})
        questions.append({**question, "readings": with_maps})
    return {**readings, "questions": questions}


def _maps_by_sequence(maps: pa.Table) -> dict[SequenceKey, SequenceMaps]:
    """Group the attention table by sequence."""
    # Rows of one map lie together in the table, token by token.
    rows_by_map: dict[SequenceKey, dict[str, list[MapRow]]] = defaultdict(lambda: defaultdict(list))
    for row in maps.to_pylist():
        rows_by_map[row["question_id"], row["trial_id"], row["sequence"]][row["map"]].append(row)
    sequences: dict[SequenceKey, SequenceMaps] = {}
    for key, rows_by_name in rows_by_map.items():
        sequences[key] = {"tokens": {}, "maps": {}}
        for name, rows in rows_by_name.items():
            side = "passage" if rows[0]["domain"] == "passage" else "question"
            sequences[key]["tokens"][side] = list(map(_token, rows))
            # The table has the levels of each token; the page needs the tokens of each level.
            levels = zip(*(row["values"] for row in rows), strict=True)
            sequences[key]["maps"][name] = [
                [float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in level] for level in levels
            ]
    return sequences


def _token(row: MapRow) -> Token:
    if row["start"] is None or row["end"] is None:
        return [row["domain"], row["text"]]
    return [row["domain"], row["start"], row["end"]]


def _agreement_table(readers: Sequence[AttentionReader]) -> Table:
    """List how well each map agrees with occlusion, by turn or head where it has several."""
    rows = []
    for reader in readers:
        for name, levels in reader["agreement"].items():
            level_title = reader["legend"][name]["level"]
            for number, agreement in enumerate(levels, 1):
                # A true minus sign, as wide as a plus.
                mean = NO_VALUE if agreement["mean"] is None else f"{agreement['mean']:.2f}".replace("-", "\u2212")
                level = f"{level_title} {number}" if len(levels) > 1 else ""
                rows.append(
                    cells(
                        Cell(reader["reader"], (reader["trial_id"],)),
                        noted_cell(name.replace("_", " "), level),
                        mean,
                        str(agreement["questions"]),
                    )
                )
    return Table("", cells("Reader", "Map", "Mean agreement", "Questions"), tuple(rows))


def _reader_table(readers: Sequence[AttentionReader]) -> Table:
    rows: Iterator[TableRow] = (
        {
            "Reader": Cell(reader["reader"], (reader["trial_id"],)),
            "Head": reader["head"],
            "Encoder": reader["encoder"],
            "Seed": str(reader["seed"]),
            "Options": ", ".join(f"{name} {value}" for name, value in sorted(reader["options"].items())),
        }
        for reader in readers
    )
    return Table.of("", rows, aligned=False)
