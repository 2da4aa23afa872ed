"""A reader that fails is the server's fault, and its traceback is the server's alone."""

from dataclasses import replace

import pandas as pd
import pytest
from mlflow.exceptions import MlflowException
from untrained import answerer

from coattend.config import Limits
from coattend.serving.reader_model import ReaderModel


def test_a_reader_that_fails_is_a_500_without_a_traceback(caplog):
    model = ReaderModel()
    model.answerer = replace(answerer("word", Limits()), processing=None)
    row = {"passage": "John sold his boat.", "question": "John sold his _ ."}
    with pytest.raises(MlflowException, match="the reader failed: see the server's log") as raised:
        model.predict(None, pd.DataFrame([row]))
    assert raised.value.get_http_status_code() == 500
    assert "Traceback" not in raised.value.serialize_as_json()
    assert "stack_trace" not in raised.value.serialize_as_json()
    assert "AttributeError" in caplog.text
