"""Questions, predictions and the metrics that the scoring node makes of them."""

import json

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.config import BenchmarkParameters, SourceParameters
from coattend.pipelines.evaluation.nodes import score
from coattend.schemas import PASSAGES, PREDICTIONS, QUESTIONS, REJECTED


def question(name, **columns):
    row = {
        "question_id": name,
        "passage_id": f"passage of {name[0]}",
        "split": "dev",
        "task": "options",
        "question": "Where?",
        "options": ["a", "b"],
        "label": 0,
        "answerable": True,
    }
    row |= columns
    # Passages do not overlap unless a test says so.
    return {"group": row["passage_id"]} | row


def prediction(name, trial, correct, **columns):
    row = {"question_id": name, "trial_id": trial, "seed": 0, "prediction": "a", "correct": correct}
    return row | {"f1": float(correct)} | columns


def model(*seeds, task="options", **first):
    trials = [{"trial_id": f"t{seed}", "seed": seed, "folder": "x", "failure": None} for seed in seeds]
    trials[0] |= first
    return {"benchmark": "dream", "reader": "plain", "task": task, "trials": trials}


DREAM = BenchmarkParameters(
    name="dream",
    title="DREAM",
    tasks=("options",),
    sources=(SourceParameters(format="dream", folder="dream", files={}),),
)


def metrics(predictions, questions, trained):
    names = sorted({row["passage_id"] for row in questions})
    passages = [{"passage_id": name, "text": "x y z", "source": "file"} for name in names]
    tables = (
        pa.Table.from_pylist(predictions, schema=PREDICTIONS),
        pa.Table.from_pylist(questions, schema=QUESTIONS),
        pa.Table.from_pylist(passages, schema=PASSAGES),
    )
    scored = score(*(pads.dataset(table) for table in tables), trained, DREAM, pads.dataset(REJECTED.empty_table()))
    json.dumps(scored, allow_nan=False)
    return scored
