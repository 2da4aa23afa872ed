"""The demonstration as a process of its own: over HTTP, and in a browser."""

import json
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode

import psutil
import pytest
from served import free_port, post, running

from coattend.config import DemoParameters
from coattend.errors import CoattendError
from coattend.serving.__main__ import check_port, serve

pytestmark = pytest.mark.slow

PASSAGE = "The <b>lamp</b> is 😀 in the hall. Mary carried the sofa to the attic."
OPTIONS = ["In the <i>hall</i>.", "</script><script>alert(1)</script>"]
ROW = {"passage": PASSAGE, "question": "Where is the sofa?"}


def showing(project, *options):
    port = free_port()
    command = [sys.executable, "-m", "coattend.serving", "--env", "test", "--port", str(port), *options]
    return running(command, port, project)


@pytest.fixture(scope="module")
def options_demo(trained_sample, runs):
    with showing(trained_sample, "--model", runs["poi_net"]) as started:
        yield started


@pytest.fixture(scope="module")
def span_demo(trained_sample, runs):
    with showing(trained_sample, "--model", f"runs:/{runs['plain_span']}/model") as (address, _):
        yield address


def test_it_answers_as_the_pipeline_does(options_demo, span_demo, predict, runs):
    for address, row, reader in (
        (options_demo[0], ROW | {"options": OPTIONS}, "poi_net"),
        (span_demo, ROW, "plain_span"),
    ):
        (expected,) = predict(runs[reader], [row], f"demo_{reader}")
        for body in ({"inputs": row}, {"dataframe_records": [row]}):
            status, response = post(address, body)
            assert status == 200
            assert response["predictions"] == [{name: expected[name] for name in response["predictions"][0]}]


def test_it_listens_on_this_machine_alone_and_answers_to_its_names(options_demo):
    address, server = options_demo
    listening = {
        connection.laddr.ip
        for connection in psutil.Process(server.pid).net_connections("tcp")
        if connection.status == "LISTEN"
    }
    assert listening == {"127.0.0.1"}
    assert post(address, {"inputs": ROW | {"options": OPTIONS}}, Host="example.org")[0] == 400


def test_what_is_too_much_is_a_clear_4xx(options_demo):
    address, _ = options_demo
    complete = ROW | {"options": OPTIONS}
    for row, message in (
        (complete | {"passage": "a " * 10_001}, "the passage has 20,002 characters, more than 20,000"),
        (complete | {"question": "a " * 501}, "the question has 1,002 characters, more than 1,000"),
        (complete | {"options": ["a"] * 21}, "has 21 options, more than 20"),
        (ROW, "has no options"),
    ):
        status, response = post(address, {"dataframe_records": [row]})
        assert status == 400
        assert message in response["message"]
    status, response = post(address, b'{"inputs": "' + b"a" * 1_000_000 + b'"}')
    assert status == 413
    assert "more than 1,000,000 bytes" in response["message"]


def test_a_person_sees_the_answer_and_the_evidence(options_demo, dumped, predict, runs):
    (expected,) = predict(runs["poi_net"], [ROW | {"options": OPTIONS}], "shown")
    page = dumped(f"{options_demo[0]}/?{urlencode([*ROW.items(), *(('option', option) for option in OPTIONS)])}")
    result = page.partition('<section id="result"')[2].partition("</section>")[0]
    assert "hidden" not in result[:60]
    escaped = expected["answer"].replace("<", "&lt;").replace(">", "&gt;")
    assert f'<p id="answer">{escaped}</p>' in result
    assert result.count("<mark") == len(expected["evidence"])
    heaviest = expected["evidence"][0]
    text = heaviest["text"].replace("<", "&lt;").replace(">", "&gt;")
    assert f'title="{100 * heaviest["weight"]:.1f} %" style="--share: 70%;">{text}</mark>' in result
    for share in expected["probabilities"]:
        assert f"{100 * share:.1f} %" in result
    # What was typed stands there as text, and runs nowhere.
    assert "<b>" not in result
    assert "<i>" not in result
    assert "<script>alert" not in page
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in result


@contextmanager
def with_somebody_at(address, **texts):
    """The page with somebody who fills its fields and clicks its button; the demonstration answers behind it."""
    with urllib.request.urlopen(address) as response:
        page = re.sub(r"<meta http-equiv[^>]*>", "", response.read().decode())
    fill = "".join(f"document.getElementById({name!r}).value = {json.dumps(text)};" for name, text in texts.items())
    click = "document.querySelector('button').click();"
    page = page.replace("</body>", f"<script>{fill} {click}</script></body>")

    class Between(BaseHTTPRequestHandler):
        def do_GET(self):
            self._send(200, "text/html", page)

        def do_POST(self):
            status, answer = post(address, self.rfile.read(int(self.headers["Content-Length"])))
            self._send(status, "application/json", json.dumps(answer))

        def _send(self, status, content_type, content):
            self.send_response(status)
            self.send_header("Content-Type", f"{content_type}; charset=utf-8")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_person_types_a_question_and_clicks(options_demo, dumped, predict, runs):
    row = {"passage": "John sold his boat. Mary slept.", "question": "Who slept?", "options": ["John", "Mary", "Sue"]}
    (expected,) = predict(runs["poi_net"], [row], "typed")
    with with_somebody_at(options_demo[0], **row | {"options": "John\n Mary \n\nSue\n"}) as address:
        page = dumped(address)
    assert f'<p id="answer">{expected["answer"]}</p>' in page
    for share in expected["probabilities"]:
        assert f"{100 * share:.1f} %" in page


def test_a_person_is_told_what_is_wrong(span_demo, dumped):
    page = dumped(f"{span_demo}/?{urlencode(ROW | {'passage': '...'})}")
    assert '<p id="problem">the passage has no words</p>' in page
    assert '<textarea id="options"' not in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--model: names no trained reader. Nothing is trained here yet"),
        (["--model", "zzz"], "--model: there is no trained reader 'zzz'. Nothing is trained here yet"),
        (["--port", "99999"], "demo.port: Input should be less than or equal to 65535"),
    ],
)
def test_what_cannot_be_shown_is_told_in_one_line(project, options, message):
    command = [sys.executable, "-m", "coattend.serving", "--env", "test", *options]
    completed = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=200)
    assert completed.returncode == 1
    assert "Traceback" not in completed.stderr
    assert message in " ".join(completed.stderr.split())


def test_a_port_that_is_taken_is_refused_with_another_one_before_a_reader_is_loaded(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        message = rf"127.0.0.1:{port}: cannot be listened at .* make demo PORT={port + 1}"
        with pytest.raises(CoattendError, match=message):
            serve("no model", tmp_path, "", DemoParameters(port=port))


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_the_loopback_address_of_ipv6_can_be_listened_at():
    check_port("::1", 0, "make demo")


def test_a_host_that_is_none_of_this_machine_is_not_taken_for_a_port_in_use():
    with pytest.raises(CoattendError, match=r"host.invalid:8000: cannot be listened at .* Take a host of this machine"):
        check_port("host.invalid", 8000, "make demo")
