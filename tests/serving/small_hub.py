"""A hub of one's own: the few endpoints of the Hugging Face Hub that a folder goes up and comes down by."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "hf_of_nobody"
COMMIT = "0" * 40
LARGE = (".safetensors",)


class Hub(ThreadingHTTPServer):
    """Keeps the files of one commit of each repository."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Endpoints)
        self.private: dict[str, bool] = {}
        self.files: dict[str, dict[str, bytes]] = {}
        self.large: dict[str, bytes] = {}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Endpoints(BaseHTTPRequestHandler):
    """Endpoints that the Hub's client library calls, in the order of its calls."""

    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"error": "Invalid credentials"})
        elif self.path == "/api/repos/create":
            request = json.loads(body)
            name = "/".join(part for part in (request.get("organization"), request["name"]) if part)
            self.server.private.setdefault(name, request.get("private", request.get("visibility") == "private"))
            self.answer(200, {"url": f"{self.server.address}/{name}"})
        elif self.path == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            names = [file["path"] for file in json.loads(body)["files"]]
            modes = {name: "lfs" if name.endswith(LARGE) else "regular" for name in names}
            uploads = [{"path": name, "uploadMode": mode, "shouldIgnore": False} for name, mode in modes.items()]
            self.answer(200, {"files": uploads})
        elif self.path.endswith("/info/lfs/objects/batch"):
            objects = [
                blob | {"actions": {"upload": {"href": f"{self.server.address}/large/{blob['oid']}"}}}
                for blob in json.loads(body)["objects"]
            ]
            self.answer(200, {"transfer": "basic", "objects": objects})
        else:
            self.commit(self.path.split("/commit/")[0].removeprefix("/api/models/"), body)

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        oid = self.path.rpartition("/")[2]
        assert hashlib.sha256(content).hexdigest() == oid
        self.server.large[oid] = content
        self.answer(200, {})

    def do_GET(self) -> None:
        if self.path.startswith("/api/models/"):
            user, name, *rest = self.path.removeprefix("/api/models/").partition("?")[0].split("/")
            files = self.server.files.get(f"{user}/{name}")
            if files is None:
                self.answer(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
            elif rest[:1] == ["tree"]:
                self.answer(
                    200, [{"type": "file", "path": path, "oid": "0", "size": len(files[path])} for path in files]
                )
            else:
                siblings = [{"rfilename": path} for path in files]
                self.answer(200, {"id": f"{user}/{name}", "sha": COMMIT, "siblings": siblings})
        elif "/resolve/" not in self.path:
            self.answer(404, {"error": "Not found"})
        else:
            repository, _, revision_path = self.path.lstrip("/").partition("/resolve/")
            content = self.server.files[repository][revision_path.partition("/")[2]]
            headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha256(content).hexdigest()}"'}
            self.answer(200, content, headers)

    do_HEAD = do_GET

    def commit(self, repository: str, body: bytes) -> None:
        files = self.server.files.setdefault(repository, {})
        for line in body.splitlines():
            entry = json.loads(line)
            if entry["key"] == "file":
                files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            elif entry["key"] == "lfsFile":
                files[entry["value"]["path"]] = self.server.large[entry["value"]["oid"]]
        address = f"{self.server.address}/{repository}/commit/{COMMIT}"
        self.answer(200, {"commitUrl": address, "commitOid": COMMIT})

    def answer(self, status: int, content: object, headers: dict[str, str] | None = None) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def listening() -> Iterator[Hub]:
    with Hub() as hub:
        threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield hub
        finally:
            hub.shutdown()
