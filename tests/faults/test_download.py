"""A download whose process is killed in the middle: the next one fetches the rest of the published file."""

import hashlib
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from coattend.data.download import fetch

CONTENT = bytes(range(256)) * 4096
FETCH = "import sys; from pathlib import Path; from coattend.data.download import fetch; "
FETCH += "fetch(sys.argv[1], Path(sys.argv[2]))"


class Answer(BaseHTTPRequestHandler):
    """Sends half of a file and then nothing, the first time; what was asked for, later."""

    def do_GET(self):
        requested_range = self.headers.get("Range")
        self.server.requested_ranges.append(requested_range)
        start = int(requested_range.removeprefix("bytes=").removesuffix("-")) if requested_range else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.send_header("ETag", '"one"')
        self.end_headers()
        if requested_range:
            self.wfile.write(CONTENT[start:])
        else:
            self.wfile.write(CONTENT[: len(CONTENT) // 2])
            self.server.killed.wait(timeout=120)

    def log_message(self, *_):
        pass


@pytest.fixture
def publisher():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.daemon_threads = True
        server.requested_ranges, server.killed = [], threading.Event()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_killed_download_goes_on(publisher, tmp_path):
    url, path = f"http://127.0.0.1:{publisher.server_port}/file.json", tmp_path / "file.json"
    part, until = tmp_path / ".file.json.part", time.monotonic() + 120
    with subprocess.Popen([sys.executable, "-c", FETCH, url, str(path)]) as fetching:
        while not (part.exists() and part.stat().st_size) and time.monotonic() < until:
            assert fetching.poll() is None
            publisher.killed.wait(0.01)
        fetching.kill()
    publisher.killed.set()
    partial_size = part.stat().st_size
    assert 0 < partial_size < len(CONTENT) and not path.exists()
    fetched = fetch(url, path)
    assert (fetched.state, fetched.sha256) == ("fetched", hashlib.sha256(CONTENT).hexdigest())
    assert publisher.requested_ranges == [None, f"bytes={partial_size}-"]
    assert list(tmp_path.iterdir()) == [path]
