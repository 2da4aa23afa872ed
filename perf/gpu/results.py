"""What comes back from a machine: four files, written after every step, from which a command goes on."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coattend.schemas import PREDICTIONS

FIGURES, OUTCOMES, ANSWERS = "figures.json", "outcomes.json", "predictions.parquet"

TRAININGS = "trainings"
"""The entry of the figures that counts trainings."""

COLUMNS = [name for name in PREDICTIONS.names if name != "prediction"]
"""Columns of predictions that hold no text."""


@dataclass(frozen=True)
class Results:
    """The folder of what comes back.

    A machine that was given back has nothing of this: what came from it goes into the pack's folder ``results`` before
    the next command, which then goes on.
    """

    folder: Path

    def figures(self) -> dict[str, Any]:
        """Return what was measured, by command and step, with machine and date."""
        figures: dict[str, Any] = _read(self.folder / FIGURES, {})
        return figures

    def record(self, command: str, step: str, figures: Any, machine: Mapping[str, Any]) -> None:
        """Write the figures of a step of a command."""
        everything = self.figures()
        entry = everything.setdefault(command, {"figures": {}})
        entry |= {"machine": dict(machine), "measured": datetime.now(UTC).date().isoformat()}
        entry["figures"][step] = figures
        _write(self.folder / FIGURES, everything)

    def take_over(self, before: "Results", machine: Mapping[str, Any]) -> list[str]:
        """Copy what came back from earlier machines, unless it is here.

        Returns:
            The commands whose figures stay behind, since another GPU or other code measured them: they would get the
            name of this machine.
        """
        behind: list[str] = []
        if before.folder.resolve() == self.folder.resolve():
            return behind
        for command, entry in before.figures().items():
            if command != TRAININGS and any(entry["machine"][name] != machine[name] for name in ("gpu", "code")):
                behind.append(command)
                continue
            for step, figures in entry["figures"].items():
                if step not in self.figures().get(command, {}).get("figures", {}):
                    self.record(command, step, figures, entry["machine"])
        answered = before.predictions()
        tables = [answered.filter(pc.equal(answered["trial_id"], trial)) for trial in pc.unique(answered["trial_id"])]
        self.add(before.outcomes(), tables)
        return behind

    def outcomes(self) -> list[dict[str, Any]]:
        """Return the trainings that ended, each with its outcome, or its failure."""
        outcomes: list[dict[str, Any]] = _read(self.folder / OUTCOMES, [])
        return outcomes

    def add(self, outcomes: Sequence[Mapping[str, Any]], predictions: Sequence[pa.Table]) -> None:
        """Add trainings that have ended, and their predictions; those that are there already are left out."""
        before = self.outcomes()
        known = {outcome["key"] for outcome in before}
        _write(self.folder / OUTCOMES, before + [dict(each) for each in outcomes if each["key"] not in known])
        answered = self.predictions()
        trials = set(pc.unique(answered["trial_id"]).to_pylist())
        # Two rows may be one and the same trial.
        new = {table["trial_id"][0].as_py(): table.select(COLUMNS) for table in predictions if table.num_rows}
        fresh = [table for trial, table in new.items() if trial not in trials]
        if fresh:
            joined = pa.concat_tables([answered, *fresh]).combine_chunks()
            with _whole(self.folder / ANSWERS) as part:
                pq.write_table(joined, part, compression="zstd", row_group_size=1 << 24)

    def predictions(self) -> pa.Table:
        """Return the predictions of all trainings, without their texts."""
        file = self.folder / ANSWERS
        schema = pa.schema([PREDICTIONS.field(name) for name in COLUMNS])
        return pq.read_table(file, schema=schema) if file.exists() else schema.empty_table()


def _read(file: Path, default: Any) -> Any:
    return json.loads(file.read_text()) if file.exists() else default


def _write(file: Path, content: Any) -> None:
    with _whole(file) as part:
        part.write_text(json.dumps(content, indent=1) + "\n")


@contextmanager
def _whole(file: Path) -> Iterator[Path]:
    """Write a file whole or not at all: a command may be cut off at any time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    yield part
    part.replace(file)
