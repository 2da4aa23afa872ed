"""A process whose two workers wait for ever."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil

SCRIPT = """
import os, threading
from coattend.config import EngineParameters
from coattend.parallel.engine import map_shards

def wait_for_ever(number):
    os.write(1, f"{{os.getpid()}}\\n".encode())  # At once: two workers write.
    threading.Event().wait()

if __name__ == "__main__":
    try:
        list(map_shards(EngineParameters(kind="{engine}"), wait_for_ever, range(4), workers=2))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def start_waiting(folder: Path, engine: str) -> tuple[subprocess.Popen, list[psutil.Process]]:
    """Start it with an engine, in a process group of its own; it and its workers."""
    script = folder / "waiting.py"
    script.write_text(textwrap.dedent(SCRIPT.format(engine=engine)))
    command = [sys.executable, str(script)]
    # Clusters of tests that run at once want the same port, and one of them takes another.
    environment = os.environ | {"PYTHONWARNINGS": "ignore:Port:UserWarning"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = subprocess.Popen(command, env=environment, start_new_session=True, **pipes)
    return running, [psutil.Process(int(running.stdout.readline())) for _ in range(2)]
