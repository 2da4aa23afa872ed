"""The doors of questions to a reader: files of them, and HTTP."""

import asyncio
import json
import math
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from coattend.answering.answerer import Answerer
from coattend.answering.questions_file import plan_of
from coattend.datasets.schema import SchemaValidator
from coattend.errors import CoattendError
from coattend.parameters import DemoParameters, Limits
from coattend.serving.guard import Application
from fuzz.door import Door
from fuzz.untrained import answerer

LIMITS = Limits(passage=2_000, question=500, option=200, options=8)
PASSAGE = "The lamp 😀 is in the hall. Mary carried the sofa to the attic, and John sold his boat."
ROWS: dict[str, dict[str, Any]] = {
    "options": {"passage": PASSAGE, "question": "Where is the sofa?", "options": ["In the hall.", "In the attic."]},
    "span": {"passage": PASSAGE, "question": "Where is the sofa?"},
    "word": {"passage": PASSAGE, "question": "John sold his _ ."},
}
PATIENCE = 600.0
"""Seconds that an answer may take: a busy machine is no mistake behind the door."""
ANSWERED = frozenset({200, 400, 404, 405, 408, 413, 415, 422, 429})
"""What a server may say to a bad request: none of them blames itself."""


def doors() -> Iterator[Door]:
    """All of them."""
    from fuzz.raw_doors import parquet_of

    rows = [{"id": "1", **ROWS["options"], "label": 1}, {"id": "2", **ROWS["options"], "label": None}]
    files = {
        "csv": b"id,passage,question,option_1,option_2\n1,The lamp is here.,Where?,Here.,There.\n2,A.,B?,C,D\n",
        "jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(),
        "parquet": parquet_of(rows),
    }
    for kind, content in files.items():
        yield Door(f"prediction_{kind}", (content,), _answered_file, f".{kind}", torch=True)
    for task, row in ROWS.items():
        bodies = ({"inputs": row}, {"dataframe_records": [row, row]}, {"dataframe_split": _split([row])})
        whole = tuple(json.dumps(body).encode() for body in bodies)
        yield Door(f"http_{task}", whole, partial(_asked, task), ".json", torch=True)


def _answered_file(file: Path) -> None:
    reader = _reader("options")
    plan = plan_of(file, reader, "untrained", rows_per_shard=2)
    for _, table in plan.make(list(plan.keys())):
        for row in SchemaValidator("answers").validate(table).to_pylist():
            assert row["place"] and (row["problem"] is None) == (row["answer"] is not None), "no answer and no problem"
            if row["problem"] is None:
                _check("options", row)


def _asked(task: str, file: Path) -> None:
    content = file.read_bytes()
    kind = "text/csv" if content[:1].isalpha() else "application/json"
    status, body = asyncio.run(_request(_application(task), content, kind))
    # What fails in MLflow's own part of an answer, it calls the caller's fault.
    assert status in ANSWERED and b"unexpected error" not in body, f"{status}: {body[:300]!r}"
    if status != 200:
        raise CoattendError(f"{status}: {body.decode()[:300]}")
    for row in json.loads(body)["predictions"]:
        _check(task, row)


def _check(task: str, row: dict[str, Any]) -> None:
    assert len(row["choices"]) == len(row["probabilities"]), "choices without probabilities"
    assert all(math.isfinite(one) and -1e-6 <= one <= 1 + 1e-6 for one in row["probabilities"]), "no probability"
    assert all(one["start"] < one["end"] for one in row["evidence"]), "evidence of nothing"
    if task == "options":
        assert row["answer"] == row["choices"][row["label"]], "another answer than the label's"


async def _request(application: Application, body: bytes, kind: str) -> tuple[int, bytes]:
    """What an application answers to one request."""
    sent: list[Any] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return waiting.pop() if waiting else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http"}
    where = {"path": "/invocations", "raw_path": b"/invocations", "root_path": "", "query_string": b""}
    ends = {"headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000), "state": {}}
    await application(scope | where | ends, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@cache
def _reader(task: str) -> Answerer:
    return answerer(task, LIMITS)


@cache
def _application(task: str) -> Application:
    from coattend.serving.demo import application

    return application(_reader(task), DemoParameters(limits=LIMITS, seconds=PATIENCE))


def _split(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"columns": list(rows[0]), "data": [list(row.values()) for row in rows]}
