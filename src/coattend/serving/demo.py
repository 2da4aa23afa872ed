"""A small application that shows one trained reader: MLflow's own server of models, and a page to ask it by."""

import math
import threading
import time
from collections.abc import Mapping

import pandas as pd
from mlflow.environment_variables import MLFLOW_SCORING_SERVER_REQUEST_TIMEOUT
from mlflow.exceptions import MlflowException
from mlflow.models import Model
from mlflow.protos.databricks_pb2 import RESOURCE_EXHAUSTED
from mlflow.pyfunc import PyFuncModel, scoring_server
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse

from coattend.config import DemoParameters
from coattend.reports.render import render_template
from coattend.serving.predictor import PredictedAnswer, Predictor
from coattend.serving.queries import example_query
from coattend.serving.reader_model import ReaderModel, signature
from coattend.serving.request_limits import Guard

HEADERS = {"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


def application(answerer: Predictor, demo: DemoParameters) -> Guard:
    """Build the application.

    On this machine alone it answers to this machine's names alone, so that no page of another site can ask it.
    """
    # MLflow's own server gives up after a minute, with 504: that the time is over is the guard's to say.
    MLFLOW_SCORING_SERVER_REQUEST_TIMEOUT.set(math.ceil(demo.seconds) + 1)
    # The reader is wrapped as MLflow serves it, without a folder of a model: nothing is run but this package.
    about = Model(signature=signature(), flavors={"python_function": {"loader_module": __name__}})
    inner = scoring_server.init(PyFuncModel(about, _OneAtATime(answerer, demo.seconds)))
    # The example fills the page's form at first, and the limits bound its fields.
    page = {"spec": answerer.spec, "example": example_query(answerer.spec.task), "limits": demo.limits}
    text = render_template("demo.html.j2", package="coattend.serving", title="Ask a reader", **page)
    inner.get("/", response_class=HTMLResponse)(lambda: HTMLResponse(text, headers=HEADERS))
    if demo.host in LOOPBACK:
        inner.add_middleware(TrustedHostMiddleware, allowed_hosts=list(LOOPBACK))
    return Guard(inner, most_bytes=demo.most_bytes, seconds=demo.seconds, most_at_once=demo.most_at_once)


class _OneAtATime:
    """Answers one request after the other, and gives up on what nobody waits for any more."""

    def __init__(self, answerer: Predictor, seconds: float) -> None:
        self._model = ReaderModel()
        self._model.answerer = answerer
        self._turn, self._seconds = threading.Lock(), seconds

    def predict(self, model_input: pd.DataFrame, params: Mapping[str, object] | None = None) -> list[PredictedAnswer]:
        """Answer questions; see `ReaderModel.predict`."""
        until = time.monotonic() + self._seconds
        if not self._turn.acquire(timeout=self._seconds):
            raise MlflowException("others are being answered: ask again in a moment", error_code=RESOURCE_EXHAUSTED)
        try:
            return self._model.answers(model_input, until=until)
        finally:
            self._turn.release()
