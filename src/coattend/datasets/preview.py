"""What kedro-viz shows of a table."""

from typing import NewType

import pyarrow.dataset as pads

TablePreview = NewType("TablePreview", dict)


def preview_rows(data: pads.Dataset, nrows: int) -> TablePreview:
    """The first rows as text: kedro-viz cannot show list columns.

    Args:
        data: A stored table.
        nrows: How many rows.

    Returns:
        The ``split`` form of a data frame: index, columns and data.
    """
    rows = data.head(nrows).to_pylist()
    cells = [["" if value is None else str(value) for value in row.values()] for row in rows]
    return TablePreview({"index": list(range(len(rows))), "columns": data.schema.names, "data": cells})
