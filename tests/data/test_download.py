"""Files fetched from a real server on this machine that knows ranges, and breaks off as it is told."""

import hashlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from coattend.data.download import MAX_ATTEMPTS, fetch
from coattend.errors import CoattendError

CONTENT = bytes(range(256)) * 4000
PIECE = 1 << 16
"""Bytes of a piece: of a connection that breaks, whole pieces are kept."""
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Publisher(ThreadingHTTPServer):
    """Serves one file.

    Attributes:
        content: Bytes of the file.
        breaks: Bytes after which each of the next answers breaks off.
        ranges: True if it supports ranges.
        tag: Entity tag of the file; empty: none.
        shift: Bytes that it skips after the requested start.
        status: Status codes of the next answers, sent in place of the file.
        requested_ranges: `Range` headers of the requests so far.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.content, self.tag, self.ranges, self.content_type = CONTENT, '"one"', True, "application/json"
        self.breaks: list[int] = []
        self.shift = 0
        self.status: list[int] = []
        self.requested_ranges: list[str | None] = []

    def handle_error(self, *_: object) -> None:
        """A client that has seen enough hangs up."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/file.json"


class Answer(BaseHTTPRequestHandler):
    server: Publisher

    def do_GET(self) -> None:
        byte_range = self.headers.get("Range")
        self.server.requested_ranges.append(byte_range)
        if self.server.status:
            self.send_error(self.server.status.pop(0))
            return
        same = self.headers.get("If-Range") in (None, self.server.tag)
        start = (
            int(byte_range.removeprefix("bytes=").removesuffix("-"))
            if byte_range and self.server.ranges and same
            else 0
        )
        if start >= len(self.server.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(self.server.content)}")
            self.end_headers()
            return
        start += self.server.shift if start else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header(
                "Content-Range", f"bytes {start}-{len(self.server.content) - 1}/{len(self.server.content)}"
            )
        body = self.server.content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", self.server.content_type)
        if self.server.tag:
            self.send_header("ETag", self.server.tag)
        self.end_headers()
        self.wfile.write(body[: self.server.breaks.pop(0)] if self.server.breaks else body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with Publisher() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def path(tmp_path):
    return tmp_path / "raw" / "file.json"


def only(path) -> bool:
    """Return True if the folder holds nothing but the file."""
    return list(path.parent.iterdir()) == [path]


def test_a_file_is_fetched_once(publisher, path):
    first = fetch(publisher.url, path, sha256=DIGEST)
    again = fetch(publisher.url, path, sha256=DIGEST)
    assert path.read_bytes() == CONTENT and only(path)
    assert (first.state, again.state) == ("fetched", "there")
    assert first[1:] == again[1:] == (len(CONTENT), DIGEST)
    assert publisher.requested_ranges == [None]


def test_two_that_fetch_one_file_at_once_mix_no_bytes(publisher, path, waited):
    """The first is kept waiting in the middle of the file, while the second comes."""
    publisher.breaks = [PIECE]
    others = []

    def second_comes(seconds):
        others.append(ThreadPoolExecutor(1))
        others.append(others[0].submit(fetch, publisher.url, path))
        time.sleep(0.1)

    first = fetch(publisher.url, path, wait=second_comes)
    assert (first.state, others[1].result(timeout=10).state) == ("fetched", "there")
    assert path.read_bytes() == CONTENT and only(path)
    others[0].shutdown()


@pytest.mark.parametrize("sha256", [DIGEST, None], ids=["known", "unknown"])
def test_a_broken_connection_is_taken_up_where_it_broke(publisher, path, waited, sha256):
    publisher.breaks = [4 * PIECE + 10, 3 * PIECE]
    fetch(publisher.url, path, sha256=sha256, wait=waited.append)
    assert path.read_bytes() == CONTENT and only(path)
    assert publisher.requested_ranges == [None, f"bytes={4 * PIECE}-", f"bytes={7 * PIECE}-"]
    assert waited == [1, 2]


def test_another_process_goes_on(publisher, path, waited):
    publisher.breaks = [PIECE, *[0] * MAX_ATTEMPTS]
    with pytest.raises(CoattendError, match=f"broke off {MAX_ATTEMPTS} times.*What came is kept"):
        fetch(publisher.url, path, sha256=DIGEST, wait=waited.append)
    assert not path.exists()
    publisher.breaks, publisher.requested_ranges = [], []
    fetch(publisher.url, path, sha256=DIGEST, wait=waited.append)
    assert path.read_bytes() == CONTENT and only(path)
    assert publisher.requested_ranges == [f"bytes={PIECE}-"]


@pytest.mark.parametrize("validator", [True, False], ids=["validator", "unknown"])
def test_a_file_that_changed_meanwhile_is_not_glued_together(publisher, path, waited, validator):
    publisher.breaks = [100_000, *[0] * MAX_ATTEMPTS]
    with pytest.raises(CoattendError):
        fetch(publisher.url, path, wait=waited.append)
    publisher.breaks, publisher.content, publisher.tag = [], CONTENT[::-1], '"two"'
    fetch(publisher.url, path, sha256=hashlib.sha256(CONTENT[::-1]).hexdigest() if validator else None)
    assert path.read_bytes() == CONTENT[::-1] and only(path)


def test_a_server_that_names_no_version_and_changed_meanwhile(publisher, path, waited):
    """The digest tells that the pieces do not belong together: everything is fetched once more."""
    publisher.tag, publisher.breaks = "", [100_000, *[0] * MAX_ATTEMPTS]
    with pytest.raises(CoattendError):
        fetch(publisher.url, path, sha256=DIGEST, wait=waited.append)
    part = path.with_name(".file.json.part")
    part.write_bytes(b"\0" * 100_000)
    publisher.breaks, publisher.requested_ranges = [], []
    fetch(publisher.url, path, sha256=DIGEST, wait=waited.append)
    assert path.read_bytes() == CONTENT and only(path)
    assert publisher.requested_ranges == ["bytes=100000-", None]


def test_a_server_that_names_no_version_begins_anew_where_no_digest_is_known(publisher, path, waited):
    publisher.tag, publisher.breaks = "", [100_000]
    fetch(publisher.url, path, wait=waited.append)
    assert path.read_bytes() == CONTENT
    assert publisher.requested_ranges == [None, None]


def test_a_server_without_ranges_sends_everything_again(publisher, path, waited):
    publisher.ranges, publisher.breaks = False, [100_000]
    fetch(publisher.url, path, sha256=DIGEST, wait=waited.append)
    assert path.read_bytes() == CONTENT and only(path)


def test_more_came_before_than_the_server_has(publisher, path, waited):
    path.parent.mkdir()
    path.with_name(".file.json.part").write_bytes(CONTENT + b"more")
    fetch(publisher.url, path, sha256=DIGEST, wait=waited.append)
    assert path.read_bytes() == CONTENT and only(path)


def test_all_of_it_came_before(publisher, path):
    """A process that was killed before it gave the file its name."""
    path.parent.mkdir()
    path.with_name(".file.json.part").write_bytes(CONTENT)
    fetch(publisher.url, path, sha256=DIGEST)
    assert path.read_bytes() == CONTENT and only(path)
    assert publisher.requested_ranges == [f"bytes={len(CONTENT)}-"]


def test_another_part_than_was_asked_for_is_refused(publisher, path, waited):
    publisher.breaks, publisher.shift = [PIECE], 100
    with pytest.raises(CoattendError, match="sends another part than it was asked for"):
        fetch(publisher.url, path, sha256=DIGEST, wait=waited.append)


def test_a_wrong_file_is_not_kept(publisher, path):
    with pytest.raises(CoattendError, match=r"SHA-256 \w+ instead of.*by hand and save it as .*file\.json"):
        fetch(publisher.url, path, sha256="0" * 64)
    assert not any(path.parent.glob("file*")) and not path.with_name(".file.json.part").exists()


def test_a_file_that_the_user_has_is_left_as_it_is(publisher, path):
    path.parent.mkdir()
    path.write_text("mine")
    assert fetch(publisher.url, path, sha256=DIGEST).state == "another"
    assert path.read_text() == "mine" and not publisher.requested_ranges


def test_a_busy_server_is_asked_again(publisher, path, waited):
    publisher.status = [503, 429]
    fetch(publisher.url, path, sha256=DIGEST, wait=waited.append)
    assert path.read_bytes() == CONTENT and waited == [1, 2]


def test_a_file_that_moved(publisher, path, waited):
    publisher.status = [404]
    with pytest.raises(CoattendError, match=r"is not there \(the server answers 404\).*by hand"):
        fetch(publisher.url, path, wait=waited.append)
    assert not waited


def test_a_page_to_log_in_is_no_data(publisher, path):
    publisher.content_type = "text/html; charset=utf-8"
    with pytest.raises(CoattendError, match="is a web page"):
        fetch(publisher.url, path)
    assert not path.exists()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/file.json", "http://nowhere.invalid/file.json"])
def test_without_a_network_there_is_one_error_at_once(path, waited, url):
    with pytest.raises(CoattendError, match=r"cannot be reached .*save it as .*file\.json"):
        fetch(url, path, wait=waited.append)
    assert not waited


def test_a_folder_that_cannot_be_written(publisher, tmp_path):
    (tmp_path / "raw").write_text("a file")
    with pytest.raises(CoattendError, match="cannot be written"):
        fetch(publisher.url, tmp_path / "raw" / "file.json")


def test_the_pipeline_fetches_what_is_missing(kedro_run, monkeypatch, tmp_path, publisher):
    """The user's own raw folder gets the files; the project's records say what came from where."""
    monkeypatch.setenv("COATTEND_RAW", str(tmp_path / "raw"))
    (tmp_path / "raw" / "dream").mkdir(parents=True)
    (tmp_path / "raw" / "dream" / "dev.json").write_text("[]")
    files = [{"url": publisher.url, "file": f"dream/{split}.json", "sha256": DIGEST} for split in ("train", "dev")]
    outputs = kedro_run("download", "dream", benchmarks={"dream": {"downloads": files}})
    records = outputs["dream.downloads"].load()
    assert [(record["file"], record["state"]) for record in records] == [
        ("dream/train.json", "fetched"),
        ("dream/dev.json", "another"),
    ]
    assert (tmp_path / "raw" / "dream" / "train.json").read_bytes() == CONTENT
    assert (tmp_path / "raw" / "dream" / "dev.json").read_text() == "[]"


def test_what_no_program_can_fetch(kedro_run, caplog):
    outputs = kedro_run("download", "cnn")
    assert outputs["cnn.downloads"].load() == []
    assert "CNN: no program can fetch its files. Fetch them by hand from https" in caplog.text


def test_a_download_lies_below_the_raw_folder(kedro_run):
    files = [{"url": "https://example.org/x", "file": "../x"}]
    with pytest.raises(Exception, match="below the raw folder"):
        kedro_run("download", "dream", benchmarks={"dream": {"downloads": files}})
