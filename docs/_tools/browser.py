"""Chromium without a window, driven over a pipe: pages are opened, clicked and photographed."""

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Options of a browser without a window and without requests of its own."""
PHOTOGRAPHED = ("--hide-scrollbars", "--remote-debugging-pipe")
SECONDS = 60
"""Time that a page has to show what is waited for."""


class Page:
    """A tab of the browser, which speaks the DevTools protocol."""

    def __init__(self, commands: BinaryIO, answers: BinaryIO) -> None:
        self._commands, self._answers, self._count = commands, answers, 0
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session: str | None = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._send("Page.enable")

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if session := getattr(self, "_session", None):
            message["sessionId"] = session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while (answer := json.loads(self._read())).get("id") != self._count:
            pass  # An event, which nobody waits for.
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> bytes:
        content = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("the browser has ended")
            content += byte
        return bytes(content)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the visible part in pixels."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, address: str) -> None:
        """Go to an address."""
        self._send("Page.navigate", url=address)

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self._send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")

    def wait_for(self, script: str, seconds: float = SECONDS) -> Any:
        """Wait until an expression is true, and return it; raise TimeoutError if it does not become so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            # A page that is loading has no document yet.
            with suppress(RuntimeError):
                if value := self.run(script):
                    return value
            time.sleep(0.2)
        raise TimeoutError(f"{script} did not become true in {seconds:.0f} seconds")

    def photograph(self, file: Path) -> None:
        """Write the visible part as PNG."""
        file.write_bytes(base64.b64decode(self._send("Page.captureScreenshot", format="png")["data"]))


def find_browser() -> str | None:
    """Return the path of Chromium, or None if it is not installed."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


@contextmanager
def opened(width: int = 1400, height: int = 900) -> Iterator[Page]:
    """Start a browser with an empty page; raise FileNotFoundError if none is installed."""
    browser = find_browser()
    if browser is None:
        raise FileNotFoundError(f"Install Chromium: none of {', '.join(NAMES)} is on the path")
    # Its processes may write to the profile after the one that was started has ended.
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        commands_read, commands_write = os.pipe()
        answers_read, answers_write = os.pipe()
        # The browser reads its file descriptor 3 and writes to 4.
        line = f'exec "$0" "$@" 3<&{commands_read} 4>&{answers_write}'
        process = subprocess.Popen(
            ["bash", "-c", line, browser, *QUIET, *PHOTOGRAPHED, f"--user-data-dir={profile}"],
            pass_fds=(commands_read, answers_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_read)
        os.close(answers_write)
        try:
            with os.fdopen(commands_write, "wb") as commands, os.fdopen(answers_read, "rb") as answers:
                page = Page(commands, answers)
                page.resize(width, height)
                yield page
        finally:
            process.terminate()
            process.wait()
