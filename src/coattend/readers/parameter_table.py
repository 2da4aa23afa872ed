"""The papers' tables of parameters, counted anew on random weights of their encoders."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import AlbertConfig

TABLE_7, TABLE_8 = "POI-Net, table 7", "DUMA, table 8"
UNITS = {TABLE_7: 2**20, TABLE_8: 10**6}
"""What each table calls a million."""


@dataclass(frozen=True)
class CountedRow:
    """A row of a paper's table.

    Attributes:
        table: Paper and table.
        name: The row's name.
        printed: Its number, in the table's unit.
        parameters: How many parameters coattend's reader has, counted as the paper does: with the encoder's pooler.
        measured: The same in the table's unit, to as many digits as printed.
        reason: Why the two differ; empty if they do not.
    """

    table: str
    name: str
    printed: float
    parameters: int
    measured: float
    reason: str


def parameter_table() -> list[CountedRow]:
    """Every row of POI-Net's table 7 and DUMA's table 8 that a reader stands for, measured beside printed.

    Readers are built without memory for their weights, so this takes seconds.
    """
    base, largest = _albert(768, 12, 3072), _albert(4096, 64, 16384)
    block, poi = ("multi_head_block", {}), ("poi_net", {})
    return [
        _span("ALBERT-base", 11.14, base, "plain", {}),
        _span("Multi-head co-attention on ALBERT-base", 17.94, base, *block),
        _span("POI-Net on ALBERT-base", 11.15, base, *poi),
        _span("ALBERT-xxlarge", 212.29, largest, "plain", {}),
        _span("Multi-head co-attention on ALBERT-xxlarge", 404.50, largest, *block),
        _span("POI-Net on ALBERT-xxlarge", 212.30, largest, *poi),
        _options("ALBERT-base", 11.7, base, "plain", {}),
        _options("+ soft attention", 13.5, base, "soft_attention", {}),
        _options("+ BiDAF", 12.0, base, "bidaf", {}),
        _options(
            "+ DCMN",
            19.4,
            base,
            "dcmn",
            {},
            reason="+7.7 M is explained by neither the paper's maps (8.9 M) nor the release's (6.5 M, of which its "
            "forward pass uses 1.2 M)",
        ),
        _options("+ DUMA", 13.5, base, "duma", {}),
    ]


def _span(name: str, printed: float, albert: "AlbertConfig", reader: str, options: dict[str, Any]) -> CountedRow:
    return _row(TABLE_7, name, printed, 2, albert, reader, "span", options)


def _options(
    name: str, printed: float, albert: "AlbertConfig", reader: str, options: dict[str, Any], reason: str = ""
) -> CountedRow:
    return _row(TABLE_8, name, printed, 1, albert, reader, "options", options, reason)


def _row(
    table: str,
    name: str,
    printed: float,
    digits: int,
    albert: "AlbertConfig",
    reader: str,
    head: str,
    options: dict[str, Any],
    reason: str = "",
) -> CountedRow:
    import torch

    from coattend.readers.reader import Reader

    with torch.device("meta"):
        made = Reader.build(reader, encoder=albert, head=head, **options)
    count = sum(parameter.numel() for parameter in made.parameters())
    if getattr(made.encoder.model, "pooler", None) is None:
        count += albert.hidden_size * albert.hidden_size + albert.hidden_size
    measured = round(count / UNITS[table], digits)
    return CountedRow(table, name, printed, count, measured, "" if measured == printed else reason)


def _albert(width: int, heads: int, feed_forward: int) -> "AlbertConfig":
    from transformers import AlbertConfig

    return AlbertConfig(hidden_size=width, num_attention_heads=heads, intermediate_size=feed_forward)
