"""Keeps requests within limits of size and time before they reach a model."""

import asyncio
import json
import re
from collections.abc import Iterator

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEARD_OUT = 32
"""How many times the bytes that are allowed are read of a request that is too large."""

DEEPEST = 50
"""Levels of a request: JSON's reader takes a level of Python's own stack for each, and would blame the server."""

_BRACKET = re.compile(rb"[][{}]")
_LONG_NUMBER = re.compile(rb"[0-9]{1000}")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A string, be it closed or not: what looked for the closing quote of each alone would take a square of time."""


class Guard:
    """ASGI middleware that answers what is too large with 413, what no JSON reader can take with 400, what takes too
    long with 408, and what comes while too many wait with 429.

    The time runs from a request's first byte to the answer; ``most_at_once`` requests may be worked on or wait.
    """

    def __init__(self, application: ASGIApp, *, most_bytes: int, seconds: float, most_at_once: int) -> None:
        self._application = application
        self._most_bytes, self._seconds, self._most_at_once = most_bytes, seconds, most_at_once
        self._now = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        if self._now >= self._most_at_once:
            await refuse(send, 429, f"{self._now} questions are being answered already: ask again in a moment")
            return
        self._now += 1
        try:
            await self._passed_on(scope, receive, send)
        finally:
            self._now -= 1

    async def _passed_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        # An answer that has begun has sent its status, which can no longer become 408.
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            async with asyncio.timeout(self._seconds):
                body = await self._body(receive)
                if body is None:
                    await refuse(send, 413, f"the request has more than {self._most_bytes:,} bytes")
                    return
                if problem := unreadable(body) or misnamed(body):
                    await refuse(send, 400, problem)
                    return
                await self._application(scope, _replayed(body, receive), noting)
        except TimeoutError:
            if not begun:
                await refuse(send, 408, f"there was no answer within {self._seconds:g} seconds: ask less at once")

    async def _body(self, receive: Receive) -> bytes | None:
        """All of a request's body; None if it is too large, of which no more than what is allowed is kept."""
        parts, length, more = [], 0, True
        while more and length <= HEARD_OUT * self._most_bytes:
            message = await receive()
            part = message.get("body", b"")
            length += len(part)
            if length <= self._most_bytes:
                parts.append(part)
            # Who sends too much is heard out, within reason: most clients read no answer before they have sent all.
            more = message.get("more_body", False)
        return b"".join(parts) if length <= self._most_bytes else None


def unreadable(body: bytes) -> str | None:
    """Return the problem of a JSON text, be it whole or not, at which Python's reader would blame the server."""
    # Brackets and digits inside strings cost the reader nothing, and do not count.
    outside = _STRING.sub(b"", body)
    if _LONG_NUMBER.search(outside):
        return "the request has a number of more than 1,000 digits"
    depth = 0
    for bracket in _BRACKET.findall(outside):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST:
            return f"the request is nested more than {DEEPEST} levels deep"
    return None


def misnamed(body: bytes) -> str | None:
    """Return the problem of column names that are no texts, at which MLflow's server fails with its own error."""
    try:
        content = json.loads(body)
    except ValueError:  # Which that server says in its own words.
        return None
    split = content.get("dataframe_split") if isinstance(content, dict) else None
    columns = split.get("columns") if isinstance(split, dict) else None
    if isinstance(columns, list) and not all(isinstance(name, str) for name in columns):
        return "dataframe_split.columns has a name that is no text"
    return None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give the body once more, as one piece."""
    messages: Iterator[Message] = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def again() -> Message:
        return next(messages, None) or await receive()

    return again


async def refuse(send: Send, status: int, problem: str) -> None:
    """Answer with a status and what is wrong, in the form of MLflow's own errors."""
    content = json.dumps({"error_code": "BAD_REQUEST", "message": problem}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
