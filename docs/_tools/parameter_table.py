"""The papers' tables of parameter counts, reproduced with random weights of their encoders."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import AlbertConfig

TABLE_7, TABLE_8 = "POI-Net, table 7", "DUMA, table 8"
UNITS = {TABLE_7: 2**20, TABLE_8: 10**6}
"""A million, as each table counts it."""


@dataclass(frozen=True)
class CountedRow:
    """A row of a paper's table.

    Attributes:
        table: Paper and table.
        name: The row's name.
        printed: The printed number, in the table's unit.
        parameters: Number of parameters of coattend's reader, counted as in the paper: with the encoder's pooler.
        measured: The same in the table's unit, to as many digits as printed.
        reason: Reason why the two differ; empty if they do not.
    """

    table: str
    name: str
    printed: float
    parameters: int
    measured: float
    reason: str


def parameter_table() -> list[CountedRow]:
    """Count the parameters of every row of POI-Net's table 7 and DUMA's table 8 that has a reader.

    Readers are built without memory for their weights, so this takes seconds.
    """
    base, largest = _albert(768, 12, 3072), _albert(4096, 64, 16384)
    no_sum = (
        "+7.7 M is explained by neither the paper's maps (8.9 M) nor the release's (6.5 M, of which its forward pass "
        "uses 1.2 M)"
    )
    return [
        _row(TABLE_7, "ALBERT-base", 11.14, base, "plain"),
        _row(TABLE_7, "Multi-head co-attention on ALBERT-base", 17.94, base, "multi_head_block"),
        _row(TABLE_7, "POI-Net on ALBERT-base", 11.15, base, "poi_net"),
        _row(TABLE_7, "ALBERT-xxlarge", 212.29, largest, "plain"),
        _row(TABLE_7, "Multi-head co-attention on ALBERT-xxlarge", 404.50, largest, "multi_head_block"),
        _row(TABLE_7, "POI-Net on ALBERT-xxlarge", 212.30, largest, "poi_net"),
        _row(TABLE_8, "ALBERT-base", 11.7, base, "plain"),
        _row(TABLE_8, "+ soft attention", 13.5, base, "soft_attention"),
        _row(TABLE_8, "+ BiDAF", 12.0, base, "bidaf"),
        _row(TABLE_8, "+ DCMN", 19.4, base, "dcmn", no_sum),
        _row(TABLE_8, "+ DUMA", 13.5, base, "duma"),
    ]


def dcn_parameters() -> dict[str, int]:
    """Count the parameters of DCN at the sizes of its paper: all, and of one of its two highway maxout networks.

    Word vectors, 300 wide, are not trained and do not count.
    """
    import torch

    from coattend.readers.encoders.word_embeddings import Words
    from coattend.readers.reader import Reader

    with torch.device("meta"):
        reader = Reader.build("dcn", encoder=Words(words=()), vectors="random", vector_width=300)
    parts = {"DCN": reader, "one highway maxout network": reader.get_submodule("head.start")}
    return {name: sum(parameter.numel() for parameter in part.parameters()) for name, part in parts.items()}


def _row(table: str, title: str, printed: float, albert: "AlbertConfig", name: str, reason: str = "") -> CountedRow:
    """Count a reader: table 7 with a span head, to two digits; table 8 with an options head, to one digit."""
    import torch

    from coattend.readers.reader import Reader

    with torch.device("meta"):
        reader = Reader.build(name, encoder=albert, head="span" if table == TABLE_7 else "options")
    count = sum(parameter.numel() for parameter in reader.parameters())
    # The papers count the encoder's pooler, which readers of streams do not have.
    if getattr(reader.get_submodule("encoder.model"), "pooler", None) is None:
        count += albert.hidden_size * albert.hidden_size + albert.hidden_size
    measured = round(count / UNITS[table], 2 if table == TABLE_7 else 1)
    return CountedRow(table, title, printed, count, measured, "" if measured == printed else reason)


def _albert(width: int, heads: int, feed_forward: int) -> "AlbertConfig":
    from transformers import AlbertConfig

    return AlbertConfig(hidden_size=width, num_attention_heads=heads, intermediate_size=feed_forward)
