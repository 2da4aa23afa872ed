"""What trained readers answered to files of questions."""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pyarrow.dataset as pads
from kedro.io import AbstractDataset

from coattend.datasets.atomic import DataError, local, replacing
from coattend.datasets.sharded import ShardedTableDataset, ShardPlan

logger = logging.getLogger(__name__)


class AnsweredDataset(AbstractDataset[Mapping[str, ShardPlan], None]):
    """A folder for each file of questions: its answers in shards, which go on where they were cut, and then all of them
    as one file of JSON Lines.

    Args:
        filepath: Where these folders lie.
        metadata: Not used here; read by kedro-viz.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._folder = local(filepath)
        self.metadata = metadata

    def load(self) -> NoReturn:
        """Refuse: nothing in this project reads them."""
        raise DataError(
            "is read by whoever asked", where=str(self._folder), cure="Read <name>/answers or answers.jsonl"
        )

    def save(self, data: Mapping[str, ShardPlan]) -> None:
        """Answer what is missing under each name, and write all answers as JSON Lines."""
        for name, plan in data.items():
            shards = ShardedTableDataset(filepath=str(self._folder / name / "answers"))
            earlier = shards.origin() not in (None, plan.origin)
            shards.save(plan)
            file = self._folder / name / "answers.jsonl"
            with replacing(file) as temporary:
                rows, without = _write_lines(shards.load(), temporary)
            told = f", {without:,} of which say in `problem` why there is no answer" if without else ""
            instead = ", in the place of earlier answers" if earlier else ""
            logger.info("%s: %s rows%s%s", os.path.relpath(file), f"{rows:,}", told, instead)

    def _exists(self) -> bool:
        return False

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._folder)}


def _write_lines(table: pads.Dataset, file: Path) -> tuple[int, int]:
    """How many rows there are, and how many of them have no answer."""
    count = without = 0
    with file.open("w", encoding="utf-8") as lines:
        for row in _rows(table):
            count += 1
            without += row["problem"] is not None
            lines.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    return count, without


def _rows(table: pads.Dataset) -> Iterator[dict[str, Any]]:
    for fragment in table.get_fragments():  # Shard by shard, so that memory does not follow the size of the file.
        yield from fragment.to_table().to_pylist()
