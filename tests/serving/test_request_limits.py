"""Requests that are too large, too slow or too many are refused before they reach a model."""

import asyncio
import json

from starlette.testclient import TestClient

from coattend.config import DemoParameters
from coattend.serving.request_limits import Guard


async def echo(scope, receive, send):
    message = await receive()
    assert not message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


async def never(scope, receive, send):
    await receive()
    await asyncio.Event().wait()


async def ask(guard, *parts):
    """The status and the body that a request of some parts is answered with."""
    messages = [{"type": "http.request", "body": part, "more_body": n < len(parts)} for n, part in enumerate(parts, 1)]
    sent = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    await guard({"type": "http", "headers": []}, receive, send)
    return sent[0]["status"], sent[1]["body"]


def guarded(application, **limits):
    return Guard(application, **({"most_bytes": 10, "seconds": 60, "most_at_once": 2} | limits))


def test_a_request_within_limits_is_passed_on_as_one_piece():
    assert asyncio.run(ask(guarded(echo), b"12345", b"67890")) == (200, b"1234567890")


def test_a_large_request_is_413_in_how_many_parts_it_may_come():
    for parts in ((b"12345", b"678901"), (b"12345678901",), (b"1" * 400,), (b"1" * 100,) * 100):
        status, body = asyncio.run(ask(guarded(echo), *parts))
        assert status == 413
        assert json.loads(body)["message"] == "the request has more than 10 bytes"


def test_what_takes_too_long_is_408():
    status, body = asyncio.run(ask(guarded(never, seconds=0.05), b"1"))
    assert status == 408
    assert "within 0.05 seconds" in json.loads(body)["message"]


def test_too_many_at_once_are_429():
    async def crowd():
        guard = guarded(never, seconds=0.2)
        return await asyncio.gather(*(ask(guard, b"1") for _ in range(4)))

    assert [status for status, _ in asyncio.run(crowd())] == [408, 408, 429, 429]


def test_what_no_reader_of_json_can_take_is_400():
    guard = guarded(echo, most_bytes=100_000)
    for body, problem in ((b"[" * 51, "51"), (b"9" * 1000, "digits")):
        status, response = asyncio.run(ask(guard, body))
        assert status == 400
        assert ("nested more than 50 levels" if problem == "51" else "more than 1,000 digits") in json.loads(response)[
            "message"
        ]
    for body in (b"[" * 50, b'"' + b"[" * 500 + b'\\"' + b"9" * 5000 + b'"', b"[]" * 500):
        assert asyncio.run(ask(guard, body)) == (200, body)


def test_strings_that_never_end_take_no_longer_than_others():
    """Each quote that could begin one would be looked at to the end: half an hour for a megabyte."""
    guard = guarded(echo, most_bytes=1_000_000)
    for body in (b'"' + b'\\"' * 400_000, b'"' + b'\\"' * 400_000 + b"\\"):
        assert asyncio.run(ask(guard, body)) == (200, body)


def test_the_guard_alone_says_when_the_time_is_over(monkeypatch):
    """MLflow's timer, a minute unless told otherwise, would answer 504 where more time is given."""
    from untrained import answerer

    from coattend.serving.demo import application

    monkeypatch.setenv("MLFLOW_SCORING_SERVER_REQUEST_TIMEOUT", "0")
    demo = DemoParameters(seconds=600)
    client = TestClient(application(answerer("span", demo.limits), demo), base_url="http://localhost")
    answer = client.post("/invocations", json={"inputs": {"passage": "Mary slept.", "question": "Who slept?"}})
    assert answer.status_code == 200, answer.text
