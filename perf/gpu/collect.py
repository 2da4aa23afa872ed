"""Put what came back from a machine onto the pages of performance and of results."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coattend.reports.records import LeaderboardRow
from coattend.reports.study.leaderboard import leaderboard_page, merged
from perf import page
from perf.commands import ROOT
from perf.gpu import times
from perf.gpu.records import training_records
from perf.gpu.results import TRAININGS, Results
from perf.gpu.scores import score, scores_on
from perf.prepared import Prepared

PREFIX = "gpu_"
"""Begins the names of a GPU's figures in ``perf/results.json``."""

SCORES = f"{PREFIX}scores"
STEPWISE = (f"{PREFIX}checks", f"{PREFIX}speed")
"""Those whose steps do not depend on each other."""

TEMPLATE = Path(__file__).with_name("scores.md.jinja")


@dataclass(frozen=True)
class Pages:
    """The files that figures go to: all of them, the pages of performance and of a GPU's scores, the leaderboard's rows
    and page, and the records of trainings."""

    results: Path = ROOT / "perf" / "results.json"
    performance: Path = ROOT / "docs" / "performance.md"
    scores: Path = ROOT / "docs" / "results" / "gpu.md"
    ranks: Path = ROOT / "docs" / "results" / "records" / "leaderboard.json"
    leaderboard: Path = ROOT / "docs" / "results" / "leaderboard.md"
    trainings: Path = ROOT / "docs" / "results" / "records" / "gpu.json"

    def add(self, figures: Mapping[str, Any]) -> None:
        """Add figures, each with its machine and date, and renew both pages."""
        everything = json.loads(self.results.read_text())
        everything |= {name: _with_earlier(name, entry, everything.get(name)) for name, entry in figures.items()}
        self.results.write_text(json.dumps(everything, indent=1) + "\n")
        self.performance.write_text(page.renew(self.performance.read_text(), everything))
        self.scores.write_text(page.renew(self.scores.read_text(), everything, template=TEMPLATE))

    def keep(self, records: Mapping[str, Any]) -> None:
        """Put trainings beside those that were recorded earlier, each on a line."""
        every = json.loads(self.trainings.read_text()) | dict(records)
        lines = (f"{json.dumps(key)}: {json.dumps(every[key], separators=(',', ':'))}" for key in sorted(every))
        self.trainings.write_text("{\n" + ",\n".join(lines) + "\n}")

    def rank(self, rows: Sequence[LeaderboardRow]) -> None:
        """Put configurations on the leaderboard."""
        ranked = merged(json.loads(self.ranks.read_text()), rows)
        self.ranks.write_text(json.dumps(ranked, indent=1, sort_keys=True))
        self.leaderboard.write_text(leaderboard_page(ranked))


def _with_earlier(name: str, entry: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an entry with the steps that a command has measured earlier on the same GPU, and not now; of scores, with
    the tables that have no row now."""
    if before is None:
        return dict(entry)
    if name == SCORES:
        return {**entry, "figures": {"rows": _with_earlier_tables(entry, before)}}
    if name not in STEPWISE or before["machine"]["gpu"] != entry["machine"]["gpu"]:
        return dict(entry)
    steps = [step for step in before["figures"] if step not in entry["figures"]]
    earlier = {"steps": steps, "measured": before["measured"], "code": before["machine"]["code"]}
    figures = {step: before["figures"][step] for step in steps} | entry["figures"]
    return {**entry, "figures": figures} | ({"earlier": earlier} if steps else {})


def _with_earlier_tables(entry: Mapping[str, Any], before: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of scores, and those of earlier tables that are longer than the new ones or that are not trained
    now, with their GPU, date and code."""
    of = {"gpu": before["machine"]["gpu"], "measured": before["measured"], "code": before["machine"]["code"]}
    tables: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in entry["figures"]["rows"]:
        tables.setdefault((row["benchmark"], row["study"]), []).append(row)
    earlier: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in before["figures"]["rows"]:
        earlier.setdefault((row["benchmark"], row["study"]), []).append({"of": of} | row)
    for table, rows in earlier.items():
        if len(rows) > len(tables.get(table, ())):
            if table in tables:
                print(f"{', '.join(table)}: {len(tables[table])} rows came back, the {len(rows)} of before stay")
            tables[table] = rows
    return [row for rows in tables.values() for row in rows]


def collect(folder: Path, prepared: Prepared | None = None, pages: Pages | None = None) -> None:
    """Merge what came back into the results and their pages.

    Args:
        folder: What the commands wrote.
        prepared: A project with the tables of the benchmarks; None: this one.
        pages: Where it goes; None: this project's.

    Raises:
        SystemExit: If the folder holds no results, or this project's pages would show those of a rehearsal.
    """
    results = Results(folder)
    measured = results.figures()
    if not measured:
        raise SystemExit(f"{folder} holds no results: name the folder that the commands wrote")
    if pages is None and any(entry["machine"]["gpu"] is None for entry in measured.values()):
        raise SystemExit(f"{folder} is of a rehearsal on a processor, and pages show what a GPU has measured")
    # What was trained is told by its scores.
    figures = {f"{PREFIX}{name}": _succeeded(name, entry) for name, entry in measured.items() if name != TRAININGS}
    pages = pages or Pages()
    if (timed := figures.get(f"{PREFIX}times")) is not None:
        pages.rank(times.leaderboard_rows(timed))
        timed["figures"] = times.summarise(timed["figures"])
    outcomes = results.outcomes()
    if outcomes:
        names = list(dict.fromkeys(outcome["benchmark"] for outcome in outcomes))
        prepared = prepared or Prepared.of(names)
        predictions = results.predictions()
        rows: list[dict[str, Any]] = []
        records: dict[str, Any] = {}
        for name in names:
            answers = score(prepared, name, outcomes, predictions)
            rows += scores_on(prepared, name, outcomes, answers)
            here = [outcome for outcome in outcomes if outcome["benchmark"] == name]
            records |= dict(training_records(measured[TRAININGS], here, answers))
        pages.keep(records)
        figures[SCORES] = measured[TRAININGS] | {"figures": {"rows": rows}}
    pages.add(figures)


def _succeeded(command: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was measured without the steps that failed, which are printed."""
    for step, figures in entry["figures"].items():
        if "problem" in figures:
            print(f"{command}, {step}: {figures['problem']}")
    return {**entry, "figures": {step: each for step, each in entry["figures"].items() if "problem" not in each}}
