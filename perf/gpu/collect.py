"""Put what came back from a machine onto the pages of performance and of results.

Spans are scored here, where their texts are; on the machine they were scored by texts put together from tokens.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coattend.config import BenchmarkParameters
from coattend.evaluation import alignment, groups, span_scorer, summary
from coattend.schemas import PREDICTIONS, QuestionRow, read_passage_texts
from perf import page
from perf.commands import ROOT
from perf.gpu.results import Results
from perf.prepared import Prepared

PREFIX = "gpu_"
"""Begins the names of a GPU's figures in ``perf/results.json``."""

SCORES = f"{PREFIX}scores"
TEMPLATE = Path(__file__).with_name("scores.md.jinja")


@dataclass(frozen=True)
class Pages:
    """The files that figures go to: all of them, the page of performance, and that of a GPU's scores."""

    results: Path = ROOT / "perf" / "results.json"
    performance: Path = ROOT / "docs" / "performance.md"
    scores: Path = ROOT / "docs" / "results" / "gpu.md"

    def add(self, figures: Mapping[str, Any]) -> None:
        """Add figures, each with its machine and date, and renew both pages."""
        everything = json.loads(self.results.read_text()) | dict(figures)
        self.results.write_text(json.dumps(everything, indent=1) + "\n")
        self.performance.write_text(page.renew(self.performance.read_text(), everything))
        self.scores.write_text(page.renew(self.scores.read_text(), everything, template=TEMPLATE))


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
    figures = {f"{PREFIX}{name}": _succeeded(name, entry) for name, entry in measured.items() if name != "trainings"}
    outcomes = results.outcomes()
    if outcomes:
        names = list(dict.fromkeys(outcome["benchmark"] for outcome in outcomes))
        prepared = prepared or Prepared.of(names)
        rows = [row for name in names for row in scores_on(prepared, name, outcomes, results.predictions())]
        figures[SCORES] = measured["trainings"] | {"figures": {"rows": rows}}
    (pages or Pages()).add(figures)


def _succeeded(command: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was measured without the steps that failed, which are printed."""
    for step, figures in entry["figures"].items():
        if "problem" in figures:
            print(f"{command}, {step}: {figures['problem']}")
    return {**entry, "figures": {step: each for step, each in entry["figures"].items() if "problem" not in each}}


def scores_on(
    prepared: Prepared, benchmark: str, outcomes: list[dict[str, Any]], predictions: pa.Table
) -> Iterator[dict[str, Any]]:
    """Yield the scores of each row on a benchmark: mean over seeds with interval, by split and metric."""
    parameters = BenchmarkParameters.model_validate(prepared.parameters["benchmarks"][benchmark])
    questions, passages = (prepared.load(f"{benchmark}.{name}") for name in ("questions", "passages"))
    asked = {row["question_id"]: row for row in questions.to_table().to_pylist()}
    texts = read_passage_texts(passages)
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for outcome in outcomes:
        if outcome["benchmark"] == benchmark:
            rows.setdefault((outcome["study"], outcome["row"]), []).append(outcome)
    for (study, name), trainings in rows.items():
        failures = [each["outcome"]["failure"] for each in trainings if each["outcome"]["failure"]]
        trials = {each["outcome"]["trial_id"]: each["seed"] for each in trainings if each["outcome"]["failure"] is None}
        row = {"benchmark": benchmark, "study": study, "row": name, "failures": failures}
        if not trials:
            yield row | {"scores": []}
            continue
        given = predictions.filter(pc.is_in(predictions["trial_id"], pa.array(list(trials))))
        answers = _with_texts(given, asked, texts, parameters.scorer)
        summarised = summary.summarise(
            answers.select(alignment.COLUMNS),
            questions.to_table(columns=groups.COLUMNS),
            task=trainings[0]["task"],
            trials=trials,
        )
        seconds = [each["outcome"]["seconds"] for each in trainings if each["outcome"]["failure"] is None]
        yield row | {"scores": list(_scores(summarised)), "seconds": sum(seconds) / len(seconds)}


def _with_texts(
    predictions: pa.Table, asked: Mapping[str, QuestionRow], texts: Mapping[str, str], scorer_name: str
) -> pa.Table:
    """Return predictions with the texts of their answers; spans are scored by them."""
    version = "v1.1" if all(row["answerable"] for row in asked.values() if row["task"] == "span") else "v2.0"
    scorer = span_scorer(scorer_name, version=version)
    rows = predictions.to_pylist()
    for row in rows:
        question = asked[row["question_id"]]
        if row["label"] is not None:
            row["prediction"] = (question["options"] or [])[row["label"]]
            continue
        # Where every question has an answer, one is always given.
        text = texts[question["passage_id"]][row["start"] : row["end"]]
        exact, f1 = scorer.best(text, [gold["text"] for gold in question["answers"] or ()])
        row |= {"prediction": text, "correct": exact == 1, "f1": f1}
    return pa.Table.from_pylist(rows, schema=PREDICTIONS)


def _scores(summarised: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for split, by_group in summarised["splits"].items():
        everything = by_group[groups.EVERYTHING]
        for metric in ("accuracy", "exact", "f1"):
            if metric in everything:
                score = dict(everything[metric])
                yield {"split": split, "metric": metric, "questions": everything["questions"]} | score
