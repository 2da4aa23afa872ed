"""Trained reader as an MLflow Python model."""

import logging
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, INVALID_PARAMETER_VALUE
from mlflow.pyfunc.model import PythonModel, PythonModelContext
from mlflow.types.schema import Array, ColSpec, DataType, Object, Property, Schema

from coattend.data.formats.base import InvalidRecord
from coattend.data.formats.custom import REQUIRED_COLUMNS
from coattend.serving.model_lookup import READER_ARTIFACT
from coattend.serving.predictor import PredictedAnswer, Predictor
from coattend.serving.queries import InvalidQuery, Query, parse_query

logger = logging.getLogger(__name__)


class ReaderModel(PythonModel):
    """Answers rows of passage, question and options, as the prediction pipeline does."""

    def load_context(self, context: PythonModelContext) -> None:
        """Load the packed reader that the model carries."""
        self.answerer = Predictor.load(Path(context.artifacts[READER_ARTIFACT]))

    def predict(
        self, context: PythonModelContext | None, model_input: pd.DataFrame, params: Mapping[str, object] | None = None
    ) -> list[PredictedAnswer]:
        """Answer each row; one that cannot be answered stands for all, so that no answer is taken for another's.

        Raises:
            MlflowException: If a question cannot be answered, with its number and why; servers make it a 400. If the
                reader fails at one; servers make it a 500.
        """
        return self.answers(model_input)

    def answers(self, questions: pd.DataFrame, *, until: float = math.inf) -> list[PredictedAnswer]:
        """Answer each row before a deadline, by `time.monotonic`."""
        answers: list[PredictedAnswer] = []
        try:
            queries = [_parse_request_row(row, number) for number, row in enumerate(questions.to_dict("records"), 1)]
            for number, answer in enumerate(self.answerer.answers(queries), 1):
                if isinstance(answer, InvalidQuery):
                    raise refusal(f"question {number}: {answer.message}")
                answers.append(answer)
                if time.monotonic() > until:
                    raise refusal(f"there was time for {number} of {len(queries)} questions only: ask fewer at once")
        except MlflowException:
            raise
        # MLflow would call it the caller's fault, and send the caller this machine's traceback.
        except Exception:
            logger.exception("The reader failed at a request of %s questions", len(questions))
            raise MlflowException("the reader failed: see the server's log", error_code=INTERNAL_ERROR) from None
        return answers


def _parse_request_row(row: Mapping[str, object], number: int) -> Query:
    options: Any = row.get("options")
    # A table has NaN where a row has none, and an array where it has some; texts may be numpy's.
    options_listed = None if options is None or isinstance(options, float) else [_plain(option) for option in options]
    try:
        return parse_query({name: _plain(row.get(name)) for name in REQUIRED_COLUMNS} | {"options": options_listed})
    except InvalidRecord as flaw:
        raise refusal(f"question {number}: {flaw}") from None


def _plain(cell: Any) -> Any:
    return str(cell) if isinstance(cell, str) else cell


def refusal(problem: str) -> MlflowException:
    """Return an error that servers report as the caller's, with status 400."""
    return MlflowException(problem, error_code=INVALID_PARAMETER_VALUE)


def signature() -> ModelSignature:
    """Return the signature: passage, question and options; answer, probabilities and evidence."""
    text, whole, real = DataType.string, DataType.long, DataType.double
    token = {"text": text, "start": whole, "end": whole, "weight": real}
    return ModelSignature(
        Schema([ColSpec(text, "passage"), ColSpec(text, "question"), ColSpec(Array(text), "options", required=False)]),
        Schema(
            [
                ColSpec(text, "answer"),
                *(ColSpec(whole, name, required=False) for name in ("label", "start", "end")),
                ColSpec(Array(text), "choices"),
                ColSpec(Array(real), "probabilities"),
                ColSpec(real, "null_score", required=False),
                ColSpec(Array(Object([Property(name, datatype) for name, datatype in token.items()])), "evidence"),
            ]
        ),
    )
