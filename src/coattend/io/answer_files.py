"""Answers to files of questions: shards that resume, then one file of JSON Lines."""

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import pyarrow.dataset as pads

from coattend.io.atomic import atomic_write
from coattend.io.local_dataset import DataError, LocalDataset
from coattend.io.sharded import ShardedTableDataset, ShardPlan

logger = logging.getLogger(__name__)


class AnsweredDataset(LocalDataset[Mapping[str, ShardPlan], None]):
    """Folder with the answers to each file of questions, in shards and as one file of JSON Lines."""

    def load(self) -> NoReturn:
        """Refuse: no node reads answers."""
        cure = "Read <name>/answers or answers.jsonl"
        raise DataError("is read by whoever asked", where=str(self.filepath), cure=cure)

    def save(self, data: Mapping[str, ShardPlan]) -> None:
        """Compute the missing answers under each name, and write all answers as JSON Lines."""
        for name, plan in data.items():
            shards = ShardedTableDataset(filepath=str(self.filepath / name / "answers"))
            has_earlier = shards.origin() not in (None, plan.origin)
            shards.save(plan)
            file = self.filepath / name / "answers.jsonl"
            with atomic_write(file) as temporary:
                rows, unanswered = _write_lines(shards.load(), temporary)
            failed = f", {unanswered:,} of which say in `problem` why there is no answer" if unanswered else ""
            replaced = ", in the place of earlier answers" if has_earlier else ""
            logger.info("%s: %s rows%s%s", os.path.relpath(file), f"{rows:,}", failed, replaced)

    def _exists(self) -> bool:
        return False


def _write_lines(table: pads.Dataset, file: Path) -> tuple[int, int]:
    """Write all rows; return their number, and the number of those without an answer."""
    count = unanswered = 0
    with file.open("w", encoding="utf-8") as lines:
        # Shard by shard, so that memory does not follow the size of the file.
        for fragment in table.get_fragments():
            for row in fragment.to_table().to_pylist():
                count += 1
                unanswered += row["problem"] is not None
                lines.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    return count, unanswered
