"""A trained reader as MLflow asks it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.pyfunc import PythonModel, PythonModelContext

from coattend.answering.answerer import Answerer
from coattend.answering.asked import Asked, Refused
from coattend.answering.found import READER
from coattend.answering.questions_file import asked_of
from coattend.benchmarks.checks import Flaw
from coattend.errors import CoattendError


class ReaderModel(PythonModel):
    """Answers rows of passage, question and options, as the prediction pipeline does."""

    def load_context(self, context: PythonModelContext) -> None:
        """Load the packed reader that the model carries."""
        self.answerer = Answerer.load(Path(context.artifacts[READER]))

    def predict(
        self, context: PythonModelContext | None, model_input: pd.DataFrame, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Answer questions; one that cannot be answered stands for all, so that no answer is taken for another's.

        Args:
            context: Not used.
            model_input: A row for each question.
            params: Not used.

        Returns:
            For each row an answer; see `coattend.tables.ANSWERS`.

        Raises:
            MlflowException: If a question cannot be answered, with its number and why; servers make it a 400.
        """
        try:
            asked = [_asked(row, place) for place, row in enumerate(model_input.to_dict("records"), 1)]
        except Flaw as flaw:
            raise refusal(str(flaw)) from None
        answers = []
        for place, one in enumerate(self.answerer.answers(asked), 1):
            if isinstance(one, Refused):
                raise refusal(f"question {place}: {one.message}")
            answers.append(one)
        return answers


def _asked(row: Mapping[str, Any], place: int) -> Asked:
    options = row.get("options")
    # A table has NaN where a row has none, and an array of texts where it has some.
    listed = None if options is None or isinstance(options, float) else list(options)
    try:
        return asked_of({**row, "options": listed})
    except Flaw as flaw:
        raise Flaw(f"question {place}: {flaw}") from None


def refusal(problem: str) -> MlflowException:
    """What MLflow tells the caller, whose fault it is."""
    return MlflowException(problem, error_code=INVALID_PARAMETER_VALUE)
