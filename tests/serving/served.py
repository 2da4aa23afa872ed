"""Starts servers of models and asks them over HTTP."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 300
"""Seconds that a server may take to be there on a busy machine."""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def running(command: list[str], port: int, project: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    """A server that a command starts; gives its address once it answers."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    log = (project / f"server-{port}.log").open("w")
    with subprocess.Popen(command, cwd=project, env=environment, stdout=log, stderr=log) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/ping", server, Path(log.name))
            yield f"http://127.0.0.1:{port}", server
        finally:
            server.terminate()
            server.wait(timeout=30)
            log.close()


def wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    """Return once something answers there."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"no server: {log.read_text()[-3000:]}")


def post(address: str, body: Any, **headers: str) -> tuple[int, Any]:
    """Ask for answers: the status, and what came as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | headers
    request = urllib.request.Request(f"{address}/invocations", data=content, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        return error.code, json.loads(text) if text.startswith("{") else text
