"""Files fetched from where they are published: resumed where they broke off, checked, shown while they come."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from coattend.errors import CoattendError
from coattend.masking import masked_text
from coattend.text.identity import file_digest

ATTEMPTS = 5
"""How often a broken connection is taken up; each time it waits twice as long."""
PATIENCE = 20.0
"""Seconds in which a server has to answer, and to send each next piece."""
_PIECE = 1 << 16


class _Broken(Exception):
    """The connection broke, or the server was busy; the next attempt goes on behind what came."""


class _Refused(Exception):
    """There is no use in trying again now."""

    def __init__(self, problem: str, cure: str) -> None:
        self.cure = cure
        super().__init__(problem)


class Fetched(NamedTuple):
    """What there is of a published file.

    Attributes:
        state: ``fetched`` now, ``there`` already, or ``another`` file was there, which is left as it is.
        size: Its bytes.
        sha256: Its digest.
    """

    state: Literal["fetched", "there", "another"]
    size: int
    sha256: str


def fetch(url: str, path: Path, *, sha256: str | None = None, wait: Callable[[float], None] = time.sleep) -> Fetched:
    """Fetch a file, unless there is one.

    What came is kept in ``.<name>.part`` beside it: a fetch that was cut off goes on, in this process or the next,
    if the server still has the same file.

    Args:
        url: Where it is published.
        path: Where it shall lie.
        sha256: Its digest, if it is known; a file with another one is not kept.
        wait: Waits so many seconds between attempts.

    Raises:
        CoattendError: If the server cannot be reached or has no such file, the file is not the published one, or the
            disk refuses.
    """
    import requests

    by_hand = f"or fetch it by hand and save it as {path}"
    try:
        if path.is_file():
            known = file_digest(path)
            return Fetched("there" if sha256 in (None, known) else "another", path.stat().st_size, known)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        came = _receive_published(url, part, sha256, wait)
        part.replace(path)
        _tag(part).unlink(missing_ok=True)
        return Fetched("fetched", path.stat().st_size, came)
    except _Refused as error:
        raise CoattendError(str(error), where=masked_text(url), cure=f"{error.cure}, {by_hand}") from None
    except requests.RequestException as error:
        cure = f"Run the same command again where there is a network, {by_hand}"
        raise CoattendError(f"cannot be reached ({_reason(error)})", where=masked_text(url), cure=cure) from None
    except OSError as error:
        cure = "Check the free space and the permissions of the folder, then run the same command again"
        raise CoattendError(f"cannot be written ({error.strerror})", where=str(path), cure=cure) from error


def _receive_published(url: str, part: Path, sha256: str | None, wait: Callable[[float], None]) -> str:
    """Receive a file and check it. One that came in pieces and is wrong is fetched once more from the start."""
    for last in (False, True):
        whole = _receive_all(url, part, wait, resumable=bool(sha256))
        came = file_digest(part)
        if sha256 in (None, came):
            return came
        part.unlink()
        if whole or last:
            break
    raise _Refused(f"did not send the published file (SHA-256 {came} instead of {sha256})", "Try again later")


def _receive_all(url: str, part: Path, wait: Callable[[float], None], *, resumable: bool) -> bool:
    """Receive until the server has sent everything; tells whether it came in one piece."""
    for attempt in range(ATTEMPTS):
        try:
            return _receive(url, part, resumable=resumable) and not attempt
        except _Broken as error:
            reason = error
        if attempt < ATTEMPTS - 1:
            wait(2.0**attempt)
    raise _Refused(f"broke off {ATTEMPTS} times ({reason})", "What came is kept: run the same command again")


def _receive(url: str, part: Path, *, resumable: bool) -> bool:
    """Receive what is missing of a file, or all of it; tells whether it was all.

    Args:
        url: Where it is published.
        part: What came before, if anything.
        resumable: Whether to go on although the server does not say which version of the file it has.
    """
    import requests

    held = part.stat().st_size if part.exists() and (resumable or _tag(part).exists()) else 0
    headers = {"Accept-Encoding": "identity"}
    if held:
        headers["Range"] = f"bytes={held}-"
        if _tag(part).exists():
            headers["If-Range"] = _tag(part).read_text()
    try:
        with requests.get(url, headers=headers, stream=True, timeout=PATIENCE) as answer:
            if answer.status_code == 416 and answer.headers.get("Content-Range") == f"bytes */{held}":
                return False  # Everything had come before.
            _check(answer, part, held)
            _remember(answer, part)
            _write(answer, part, held if answer.status_code == 206 else 0)
            return answer.status_code != 206
    except requests.exceptions.ConnectTimeout:
        raise
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.Timeout) as error:
        raise _Broken(_reason(error)) from None
    except requests.exceptions.ConnectionError as error:
        # Without an answer there is no network, or no such server; after one it broke.
        if not part.exists() or not part.stat().st_size:
            raise
        raise _Broken(_reason(error)) from None


def _check(answer: Any, part: Path, held: int) -> None:
    """Refuse what is not the file."""
    status = answer.status_code
    if status == 416:
        part.unlink()
        raise _Broken("the server has less than what came before")
    if status == 429 or status >= 500:
        raise _Broken(f"the server answers {status}")
    moved = "The publisher may have moved it: look for its new place"
    if status not in (200, 206):
        raise _Refused(f"is not there (the server answers {status})", moved)
    if status == 206 and not answer.headers.get("Content-Range", "").startswith(f"bytes {held}-"):
        raise _Refused("sends another part than it was asked for", "Try again later")
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        raise _Refused("is a web page, not the file", moved)


def _remember(answer: Any, part: Path) -> None:
    """Keep what the server calls this version of the file."""
    tag = answer.headers.get("ETag", "")
    version = tag if tag.startswith('"') else answer.headers.get("Last-Modified", "")
    if version:
        _tag(part).write_text(version)
    else:
        _tag(part).unlink(missing_ok=True)


def _write(answer: Any, part: Path, held: int) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    length = answer.headers.get("Content-Length")
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal)
    with bar, part.open("ab" if held else "wb") as file:
        name = part.name.removeprefix(".").removesuffix(".part")
        task = bar.add_task(name, total=held + int(length) if length else None, completed=held)
        for piece in answer.iter_content(_PIECE):
            file.write(piece)
            bar.advance(task, len(piece))


def _tag(part: Path) -> Path:
    return part.with_suffix(".tag")


def _reason(error: Exception) -> str:
    """The innermost cause, in a few words."""
    while error.args and isinstance(error.args[-1], Exception):
        error = error.args[-1]
    reason = getattr(error, "reason", None)
    told = str(_reason(reason) if isinstance(reason, Exception) else error)
    return " ".join(masked_text(told).split())[:160]
