"""What a logged reader takes and gives, and an example of it."""

from typing import Any

import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types.schema import Array, ColSpec, DataType, Object, Property, Schema

from coattend.answering.recipe import Recipe

PASSAGE = "The lamp is in the hall . Mary carried the sofa to the attic , and John sold his boat ."
QUESTIONS: dict[str, dict[str, Any]] = {
    "options": {"question": "Where is the sofa?", "options": ["In the hall.", "In the attic.", "At sea."]},
    "span": {"question": "Where is the sofa?"},
    "word": {"question": "John sold his _ .", "options": ["boat", "lamp", "sofa"]},
}


def signature() -> ModelSignature:
    """A passage and a question, with options or without; the answer and what speaks for it."""
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


def input_example(recipe: Recipe) -> pd.DataFrame:
    """One question that a reader can answer."""
    return pd.DataFrame([{"passage": PASSAGE} | QUESTIONS[recipe.task]])
