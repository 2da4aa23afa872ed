"""Download of published files: resumable, checked, with a progress bar."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from coattend.errors import CoattendError
from coattend.masking import masked_text
from coattend.text.hashing import file_digest

if TYPE_CHECKING:
    from requests import Response

MAX_ATTEMPTS = 5
"""Attempts after broken connections; each waits twice as long as the last."""
TIMEOUT_S = 20.0
"""Seconds in which a server has to answer, and to send each chunk."""
CHUNK_BYTES = 1 << 16

Wait = Callable[[float], None]


class _Interrupted(Exception):
    """The connection broke, or the server is busy; the next attempt resumes."""


class _Unavailable(CoattendError):
    """Another attempt now would fail, too."""


class Download(NamedTuple):
    """A published file on this machine: ``fetched`` now, ``there`` already, or ``another`` file, left as it is."""

    state: Literal["fetched", "there", "another"]
    size: int
    sha256: str


def fetch(url: str, path: Path, *, sha256: str | None = None, wait: Wait = time.sleep) -> Download:
    """Download a file, unless it exists.

    An interrupted download stays in ``.<name>.part`` beside it and is resumed, in this process or the next, if the
    server still has the same file. If its digest is published, a file with another one is deleted.

    Raises:
        CoattendError: If the server cannot be reached or has no such file, the file is not the published one, or the
            disk refuses.
    """
    import requests

    by_hand = f"or fetch it by hand and save it as {path}"
    try:
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(path):
                # Another process may have fetched it meanwhile.
                if not path.is_file():
                    part = path.with_name(f".{path.name}.part")
                    digest = _download_checked(url, part, sha256, wait)
                    part.replace(path)
                    _version_file(part).unlink(missing_ok=True)
                    return Download("fetched", path.stat().st_size, digest)
        digest = file_digest(path)
        return Download("there" if sha256 in (None, digest) else "another", path.stat().st_size, digest)
    except _Unavailable as error:
        raise CoattendError(error.problem, where=masked_text(url), cure=f"{error.cure}, {by_hand}") from None
    except requests.RequestException as error:
        cure = f"Run the same command again where there is a network, {by_hand}"
        raise CoattendError(f"cannot be reached ({_reason(error)})", where=masked_text(url), cure=cure) from None
    except OSError as error:
        cure = "Check the free space and the permissions of the folder, then run the same command again"
        raise CoattendError(f"cannot be written ({error.strerror})", where=str(path), cure=cure) from error


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait for another process or thread that downloads this file: two that wrote one part would mix their bytes."""
    name = path.with_name(f".{path.name}.lock")
    with name.open("w") as file:
        # Some file systems of networks have no locks.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            name.unlink(missing_ok=True)


def _download_checked(url: str, part: Path, sha256: str | None, wait: Wait) -> str:
    """Download a file and check its digest; a resumed file that is wrong is downloaded once more from the start."""
    for last_attempt in (False, True):
        in_one_request = _download(url, part, wait, resumable=sha256 is not None)
        digest = file_digest(part)
        if sha256 in (None, digest):
            return digest
        part.unlink()
        # A file in one piece is not the published one; parts may be of different versions.
        if in_one_request or last_attempt:
            break
    problem = f"did not send the published file (SHA-256 {digest} instead of {sha256})"
    raise _Unavailable(problem, cure="Try again later")


def _download(url: str, part: Path, wait: Wait, *, resumable: bool) -> bool:
    """Download until the server has sent everything; return True if one request was enough."""
    for attempt in range(MAX_ATTEMPTS):
        try:
            return _request(url, part, resumable=resumable) and not attempt
        except _Interrupted as error:
            reason = error
        if attempt < MAX_ATTEMPTS - 1:
            wait(2.0**attempt)
    cure = "What came is kept: run the same command again"
    raise _Unavailable(f"broke off {MAX_ATTEMPTS} times ({reason})", cure=cure)


def _request(url: str, part: Path, *, resumable: bool) -> bool:
    """Request the rest of a file, or all of it; return True if it was all.

    A resumable file has a published digest, so that it may be resumed if the server does not identify its version.
    """
    import requests

    offset = part.stat().st_size if part.exists() and (resumable or _version_file(part).exists()) else 0
    headers = {"Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
        if _version_file(part).exists():
            headers["If-Range"] = _version_file(part).read_text()
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as response:
            # Range not satisfiable: the part is complete already.
            if response.status_code == 416 and response.headers.get("Content-Range") == f"bytes */{offset}":
                return False
            _check_response(response, part, offset)
            _store_version(response, part)
            partial = response.status_code == 206
            _write(response, part, offset if partial else 0)
            return not partial
    except requests.exceptions.ConnectTimeout:
        raise
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.Timeout) as error:
        raise _Interrupted(_reason(error)) from None
    except requests.exceptions.ConnectionError as error:
        # Before the first byte there is no network, or no such server; after it the connection broke.
        if not part.exists() or not part.stat().st_size:
            raise
        raise _Interrupted(_reason(error)) from None


def _check_response(response: "Response", part: Path, offset: int) -> None:
    status = response.status_code
    if status == 416:
        part.unlink()
        raise _Interrupted("the server has less than what came before")
    if status == 429 or status >= 500:
        raise _Interrupted(f"the server answers {status}")
    moved = "The publisher may have moved it: look for its new place"
    if status not in (200, 206):
        raise _Unavailable(f"is not there (the server answers {status})", cure=moved)
    if status == 206 and not response.headers.get("Content-Range", "").startswith(f"bytes {offset}-"):
        raise _Unavailable("sends another part than it was asked for", cure="Try again later")
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise _Unavailable("is a web page, not the file", cure=moved)


def _store_version(response: "Response", part: Path) -> None:
    """Store the server's version of the file, by which a later request resumes only the same file."""
    tag = response.headers.get("ETag", "")
    # A weak tag (W/"...") does not promise equal bytes.
    version = tag if tag.startswith('"') else response.headers.get("Last-Modified", "")
    if version:
        _version_file(part).write_text(version)
    else:
        _version_file(part).unlink(missing_ok=True)


def _write(response: "Response", part: Path, offset: int) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    length = response.headers.get("Content-Length")
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal)
    with bar, part.open("ab" if offset else "wb") as file:
        name = part.name.removeprefix(".").removesuffix(".part")
        task = bar.add_task(name, total=offset + int(length) if length else None, completed=offset)
        for chunk in response.iter_content(CHUNK_BYTES):
            file.write(chunk)
            bar.advance(task, len(chunk))


def _version_file(part: Path) -> Path:
    return part.with_suffix(".tag")


def _reason(error: BaseException) -> str:
    """Shorten the innermost cause of a network error."""
    while error.args and isinstance(error.args[-1], Exception):
        error = error.args[-1]
    reason = getattr(error, "reason", None)
    text = _reason(reason) if isinstance(reason, Exception) else str(error)
    return " ".join(masked_text(text).split())[:160]
