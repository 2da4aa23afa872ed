"""The texts of passages by their ids."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads


def passage_texts(passages: pads.Dataset, wanted: pa.ChunkedArray | None = None) -> dict[str, str]:
    """Text by passage id.

    Args:
        passages: A passages table.
        wanted: Ids of the passages to read, which may come again; None: all of them.
    """
    chosen = None if wanted is None else pc.field("passage_id").isin(pc.unique(wanted))
    table = passages.to_table(columns=["passage_id", "text"], filter=chosen)
    return dict(zip(table["passage_id"].to_pylist(), table["text"].to_pylist(), strict=True))
