"""Signature and input example of a logged reader; it imports MLflow, so it is imported only where that is used."""

from typing import NotRequired, TypedDict

import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types.schema import Array, ColSpec, DataType, Object, Property, Schema

from coattend.trials.run_spec import RunSpec


class ExampleQuestion(TypedDict):
    """A question about `PASSAGE`."""

    question: str
    options: NotRequired[list[str]]


class ExampleQuery(ExampleQuestion):
    """A row that `input_example` returns."""

    passage: str


PASSAGE = "The lamp is in the hall . Mary carried the sofa to the attic , and John sold his boat ."
QUESTIONS: dict[str, ExampleQuestion] = {
    "options": {"question": "Where is the sofa?", "options": ["In the hall.", "In the attic.", "At sea."]},
    "span": {"question": "Where is the sofa?"},
    "word": {"question": "John sold his _ .", "options": ["boat", "lamp", "sofa"]},
}


def signature() -> ModelSignature:
    """Return the signature: passage, question and options; answer, probabilities and evidence."""
    token = [Property("text", DataType.string), Property("start", DataType.long), Property("end", DataType.long)]
    return ModelSignature(
        inputs=Schema(
            [
                ColSpec(DataType.string, "passage"),
                ColSpec(DataType.string, "question"),
                ColSpec(Array(DataType.string), "options", required=False),
            ]
        ),
        outputs=Schema(
            [
                ColSpec(DataType.string, "answer"),
                ColSpec(DataType.long, "label", required=False),
                ColSpec(DataType.long, "start", required=False),
                ColSpec(DataType.long, "end", required=False),
                ColSpec(Array(DataType.string), "choices"),
                ColSpec(Array(DataType.double), "probabilities"),
                ColSpec(DataType.double, "null_score", required=False),
                ColSpec(Array(Object([*token, Property("weight", DataType.double)])), "evidence"),
            ]
        ),
    )


def input_example(spec: RunSpec) -> pd.DataFrame:
    """Return a question that the reader can answer."""
    return pd.DataFrame([{"passage": PASSAGE, **QUESTIONS[spec.task]}])
