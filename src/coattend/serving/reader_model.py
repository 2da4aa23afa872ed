"""A trained reader as MLflow asks it."""

import logging
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, INVALID_PARAMETER_VALUE
from mlflow.pyfunc import PythonModel, PythonModelContext

from coattend.answering.answerer import Answerer
from coattend.answering.asked import Asked, Refused
from coattend.answering.found import READER
from coattend.answering.questions_file import asked_of
from coattend.benchmarks.checks import Flaw
from coattend.benchmarks.custom_rows import NEEDED

logger = logging.getLogger(__name__)


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
            MlflowException: If a question cannot be answered, with its number and why; servers make it a 400. If the
                reader fails at one; servers make it a 500.
        """
        return self.answers(model_input)

    def answers(self, questions: pd.DataFrame, *, until: float = math.inf) -> list[dict[str, Any]]:
        """The same, with an end to patience.

        Args:
            questions: A row for each question.
            until: When to give up, by `time.monotonic`.
        """
        try:
            return self._answers(questions, until)
        except MlflowException:
            raise
        # MLflow would call it the caller's fault, and send the caller this machine's traceback.
        except Exception:
            logger.exception("The reader failed at a request of %s questions", len(questions))
            raise MlflowException("the reader failed: see the server's log", error_code=INTERNAL_ERROR) from None

    def _answers(self, questions: pd.DataFrame, until: float) -> list[dict[str, Any]]:
        try:
            asked = [_asked(row, place) for place, row in enumerate(questions.to_dict("records"), 1)]
        except Flaw as flaw:
            raise refusal(str(flaw)) from None
        answers = []
        for place, one in enumerate(self.answerer.answers(asked), 1):
            if isinstance(one, Refused):
                raise refusal(f"question {place}: {one.message}")
            answers.append(one)
            if time.monotonic() > until:
                raise refusal(f"there was time for {place} of {len(asked)} questions only: ask fewer at once")
        return answers


def _asked(row: Mapping[str, Any], place: int) -> Asked:
    options = row.get("options")
    # A table has NaN where a row has none, and an array where it has some; texts may be numpy's.
    listed = None if options is None or isinstance(options, float) else [_plain(one) for one in options]
    try:
        return asked_of({name: _plain(row.get(name)) for name in NEEDED} | {"options": listed})
    except Flaw as flaw:
        raise Flaw(f"question {place}: {flaw}") from None


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def refusal(problem: str) -> MlflowException:
    """What MLflow tells the caller, whose fault it is."""
    return MlflowException(problem, error_code=INVALID_PARAMETER_VALUE)
