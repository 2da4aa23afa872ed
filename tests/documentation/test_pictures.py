"""The documentation's pictures, and the browser that takes them."""

import sys
from pathlib import Path

import pytest
from docs._tools import browser, servers
from PIL import Image

IMAGES = Path(__file__).parents[2] / "docs" / "images"


@pytest.mark.parametrize("name", ["pipeline", "results_page", "attention_page", "mlflow"])
def test_every_picture_is_there_and_small(name):
    file = IMAGES / f"{name}.png"
    assert file.stat().st_size < 200_000
    with Image.open(file) as image:
        assert 600 <= image.width <= 1400
        assert 600 <= image.height <= 900


@pytest.mark.slow
def test_a_page_is_photographed_as_it_is_seen(tmp_path):
    try:
        with browser.opened(width=300, height=200) as page:
            page.open("data:text/html,<body style='margin:0;background:red'><p>ready</p>")
            page.wait_for("document.body.innerText.includes('ready')")
            page.photograph(tmp_path / "page.png")
            with pytest.raises(TimeoutError, match="never"):
                page.wait_for("document.body.innerText.includes('never')", seconds=0.3)
            with pytest.raises(RuntimeError, match="Uncaught"):
                page.run("missing.value")
    except FileNotFoundError:
        pytest.skip("no Chromium is installed")
    with Image.open(tmp_path / "page.png") as image:
        assert image.size == (300, 200)
        assert image.convert("RGB").getpixel((250, 150)) == (255, 0, 0)


def test_a_command_that_ends_before_it_answers_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "broken").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "broken").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with (
        pytest.raises(RuntimeError, match="broken does not answer"),
        servers.serving(["broken"], "http://127.0.0.1:9/"),
    ):
        pass
