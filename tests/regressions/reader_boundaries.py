"""Boundaries of questions to a reader: files of them, and HTTP."""

import asyncio
import json
import math
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from boundary import Boundary
from file_boundaries import parquet_of
from starlette.types import ASGIApp
from untrained import answerer

from coattend.config import DemoParameters, Limits
from coattend.errors import CoattendError
from coattend.io.schema_validator import SchemaValidator
from coattend.serving.batch_prediction import plan_answers
from coattend.serving.predictor import Predictor

LIMITS = Limits(passage=2_000, question=500, option=200, options=8)
PASSAGE = "The lamp 😀 is in the hall. Mary carried the sofa to the attic, and John sold his boat."
ROWS: dict[str, dict[str, Any]] = {
    "options": {"passage": PASSAGE, "question": "Where is the sofa?", "options": ["In the hall.", "In the attic."]},
    "span": {"passage": PASSAGE, "question": "Where is the sofa?"},
    "word": {"passage": PASSAGE, "question": "John sold his _ ."},
}
TIMEOUT = 600.0
"""Seconds that an answer may take: a busy machine is no bug."""
CLIENT_STATUSES = frozenset({200, 400, 404, 405, 408, 413, 415, 422, 429})
"""Answers to a bad request that do not blame the server."""


def boundaries() -> Iterator[Boundary]:
    """All of them."""
    rows = [{"id": "1", **ROWS["options"], "label": 1}, {"id": "2", **ROWS["options"], "label": None}]
    files = {
        "csv": b"id,passage,question,option_1,option_2\n1,The lamp is here.,Where?,Here.,There.\n2,A.,B?,C,D\n",
        "jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(),
        "parquet": parquet_of(rows),
    }
    for file_type, content in files.items():
        yield Boundary(f"prediction_{file_type}", (content,), _answer_file, f".{file_type}")
    for task, row in ROWS.items():
        split = {"columns": list(row), "data": [list(row.values())]}
        bodies = ({"inputs": row}, {"dataframe_records": [row, row]}, {"dataframe_split": split})
        samples = tuple(json.dumps(body).encode() for body in bodies)
        yield Boundary(f"http_{task}", samples, partial(_answer_request, task), ".json")


def _answer_file(file: Path) -> None:
    plan = plan_answers(file, untrained_answerer("options"), "untrained", rows_per_shard=2)
    for _, table in plan.make(list(plan.keys())):
        for row in SchemaValidator("answers").validate(table).to_pylist():
            assert row["place"] and (row["problem"] is None) == (row["answer"] is not None), "no answer and no problem"
            if row["problem"] is None:
                _check_answer("options", row)


def _answer_request(task: str, file: Path) -> None:
    content = file.read_bytes()
    content_type = "text/csv" if content[:1].isalpha() else "application/json"
    status, body = asyncio.run(_post(application_of(task), content, content_type))
    # MLflow calls what fails in its own part of an answer the caller's fault.
    assert status in CLIENT_STATUSES and b"unexpected error" not in body, f"{status}: {body[:300]!r}"
    if status != 200:
        raise CoattendError(f"{status}: {body.decode()[:300]}")
    for row in json.loads(body)["predictions"]:
        _check_answer(task, row)


def _check_answer(task: str, row: dict[str, Any]) -> None:
    probabilities = row["probabilities"]
    assert len(row["choices"]) == len(probabilities), "choices without probabilities"
    assert all(math.isfinite(value) and -1e-6 <= value <= 1 + 1e-6 for value in probabilities), "no probability"
    assert all(span["start"] < span["end"] for span in row["evidence"]), "evidence of nothing"
    if task == "options":
        assert row["answer"] == row["choices"][row["label"]], "another answer than the label's"


async def _post(application: ASGIApp, body: bytes, content_type: str) -> tuple[int, bytes]:
    """Send one request to an application without a server."""
    messages: list[Any] = []
    requests = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return requests.pop() if requests else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http"}
    scope |= {"path": "/invocations", "raw_path": b"/invocations", "root_path": "", "query_string": b"", "state": {}}
    scope |= {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000)}
    length = b"%d" % len(body)
    headers = [(b"host", b"127.0.0.1"), (b"content-type", content_type.encode()), (b"content-length", length)]
    await application(scope | {"headers": headers}, receive, send)
    return messages[0]["status"], b"".join(message.get("body", b"") for message in messages[1:])


@cache
def untrained_answerer(task: str) -> Predictor:
    """A reader with random weights for a task, built once."""
    return answerer(task, LIMITS)


@cache
def application_of(task: str) -> ASGIApp:
    """The HTTP application around it."""
    from coattend.serving.demo import application

    return application(untrained_answerer(task), DemoParameters(limits=LIMITS, seconds=TIMEOUT))
