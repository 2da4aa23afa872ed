"""The applications that are shown, as processes of their own.

``python -m docs._tools.servers`` opens the pipelines in a browser.
"""

import os
import signal
import subprocess
import sys
import time
import urllib.request
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

SECONDS = 120
"""Time that an application has to start."""
VIZ_PORT = 4141
FIRST_LOOK = "?pid=__default__&types=nodes"
"""What kedro-viz shows first: the sample's stages and readers, with the datasets between them at a click."""


@contextmanager
def serving(command: Sequence[str], address: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command of the Python environment and wait until its address answers; end it afterwards."""
    program = Path(sys.executable).parent / command[0]
    # A group of its own: both applications have workers that outlive them.
    process = subprocess.Popen([program, *command[1:]], env=os.environ | environment, start_new_session=True)
    try:
        end = time.monotonic() + SECONDS
        while not _answers(address):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{' '.join(command)} does not answer at {address}")
            time.sleep(0.2)
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _answers(address: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(address, timeout=5):  # noqa: S310  # It is an address of this machine.
        return True
    return False


def show_pipelines() -> None:
    """Serve kedro-viz, open it on the sample, and wait for Ctrl-C."""
    port = os.environ.get("PORT", str(VIZ_PORT))
    address = f"http://127.0.0.1:{port}/"
    with suppress(KeyboardInterrupt), serving(["kedro", "viz", "run", "--no-browser", "--port", port], address) as viz:
        print(f"The sample: {address}{FIRST_LOOK}\nWith all that stands between: {address}", flush=True)
        webbrowser.open(f"{address}{FIRST_LOOK}")
        viz.wait()


if __name__ == "__main__":
    show_pipelines()
