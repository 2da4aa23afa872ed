"""Artifacts of a trial's run for people: its metrics as JSON, a page, a table of its predictions, and a description."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.evaluation.records import ReaderMetrics, TrialRecord
from coattend.io.mlflow_store import NOTE, portable_uri
from coattend.masking import masked_text
from coattend.reports import tables
from coattend.reports.trial import render_html, score_sentence, trial_scores, trial_title

if TYPE_CHECKING:
    from mlflow import MlflowClient

METRICS_FILE = "metrics.json"
PAGE_FILE = "index.html"
TABLE_FILE = "predictions.json"
MAX_ROWS = 1000
"""Questions in the table of predictions, which a browser draws as a whole; ``predictions.parquet`` has all."""

_COLUMNS = ("question_id", "split", "question", "options", "label", "answers")


class ReadableTable(TypedDict):
    """A table in the form that MLflow's interface draws."""

    columns: list[str]
    data: list[list[object]]


def attach(
    client: "MlflowClient",
    run: str,
    metrics: ReaderMetrics,
    trial: TrialRecord,
    answers: pa.Table,
    questions: pads.Dataset,
    model: str | None,
) -> None:
    """Attach metrics, page and readable predictions of a trial to its run, and describe the run; ``model`` is the id of
    its logged model."""
    scores = trial_scores(metrics, trial)
    record = {
        "benchmark": metrics["benchmark"],
        "reader": metrics["reader"],
        "task": metrics["task"],
        "seed": trial["seed"],
        "trial_id": trial["trial_id"],
        "unit": metrics["unit"],
        "scores": scores,
    }
    client.log_text(run, json.dumps(record, indent=1, ensure_ascii=False), METRICS_FILE)
    client.log_text(run, render_html(metrics, trial), PAGE_FILE)
    client.log_text(run, json.dumps(readable_predictions(answers, questions), ensure_ascii=False), TABLE_FILE)
    # MLflow draws the tables that are listed so, of several runs side by side.
    client.set_tag(run, "mlflow.loggedArtifacts", json.dumps([{"path": TABLE_FILE, "type": "table"}]))
    client.set_tag(run, NOTE, note(metrics, trial, model, client.tracking_uri))
    client.set_tag(run, "task", metrics["task"])


def readable_predictions(answers: pa.Table, questions: pads.Dataset) -> ReadableTable:
    """List the first `MAX_ROWS` answers of a trial by split and id, beside the question and its gold answers."""
    asked = questions.to_table(columns=list(_COLUMNS), filter=pads.field("question_id").isin(answers["question_id"]))
    asked = asked.set_column(1, "split", asked["split"].cast(pa.string()))
    chosen = asked.sort_by([("split", "ascending"), ("question_id", "ascending")]).slice(0, MAX_ROWS)
    listed = answers.filter(pc.is_in(answers["question_id"], chosen["question_id"]))
    by_question = {
        row["question_id"]: row for row in listed.select(["question_id", "prediction", "correct", "f1"]).to_pylist()
    }
    columns = ["split", "question", "options", "gold", "prediction", "correct", "f1", "question_id"]
    rows = []
    for row in chosen.to_pylist():
        answer = by_question[row["question_id"]]
        gold = " | ".join(_gold(row))
        options = " | ".join(row["options"] or ())
        marks = [answer["prediction"], answer["correct"], round(answer["f1"], 3)]
        rows.append([row["split"], row["question"], options, gold, *marks, row["question_id"]])
    return {"columns": columns, "data": rows}


def _gold(question: dict[str, object]) -> Iterator[str]:
    label, options, answers = question["label"], question["options"], question["answers"]
    if isinstance(options, list) and isinstance(label, int):
        yield str(options[label])
    elif isinstance(answers, list):
        yield from dict.fromkeys(str(answer["text"]) for answer in answers)


def note(metrics: ReaderMetrics, trial: TrialRecord, model: str | None, store: str) -> str:
    """Describe the run of a trial in Markdown: its score, and the lines that load its model from its store."""
    duration = tables.format_duration(trial.get("seconds"))
    cost = f"Trained in {duration}." if trial.get("trained", True) else f"Not trained; all answers took {duration}."
    text = f"**{trial_title(metrics, trial)}.** {score_sentence(trial_scores(metrics, trial))} {cost}"
    files = f"Its page is `{PAGE_FILE}`, its predictions are `{TABLE_FILE}`, below “Artifacts”."
    if model is None:
        return f"{text}\n\n{files}"
    lines = (
        "import mlflow",
        f'mlflow.set_tracking_uri("{masked_text(portable_uri(store))}")  # in the folder of the project',
        f'reader = mlflow.pyfunc.load_model("models:/{model}")',
    )
    return "\n".join((text, "", "```python", *lines, "```", "", files))
