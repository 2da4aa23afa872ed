"""Starts servers of models and asks them over HTTP."""

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def running(command: list[str], port: int, project: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    """A server that a command starts; gives its address once it says that it answers."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    options = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=project, **options) as server:
        try:
            output = []
            for line in server.stdout:
                output.append(line)
                if "Uvicorn running on" in line:
                    break
            else:
                raise AssertionError(f"no server: {''.join(output)[-3000:]}")
            threading.Thread(target=server.stdout.read, daemon=True).start()  # A full pipe would stop the server.
            yield f"http://127.0.0.1:{port}", server
        finally:
            server.terminate()
            server.wait(timeout=60)


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
