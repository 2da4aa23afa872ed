"""Take the documentation's pictures of a finished run of the sample: ``python -m docs._tools.pictures``."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from docs._tools import browser
from docs._tools.browser import Page
from docs._tools.servers import FIRST_LOOK, serving
from PIL import Image

from coattend.io.mlflow_store import TRIALS, view_address

FOLDER = Path("docs", "images")
RESULTS = Path("data", "08_reporting")
READER = "poi_net"
"""The sample's reader whose attention is shown."""
MOST_BYTES = 180_000
"""A larger picture gets a palette, which takes a third of the bytes."""
# The window without the list of nodes, hints and small map.
SETTINGS = {
    "theme": "light",
    "isPrettyName": True,
    "showFeatureHints": False,
    "visible": {"miniMap": False, "sidebar": False},
}
# What stands at the top of a page's picture, and the pixels above it.
FIRST_SEEN = {
    "results_page": "[...document.querySelectorAll('h2')].find(heading => heading.textContent.trim() === 'Results')",
    "attention_page": "document.querySelector('fieldset')",
}
MARGIN = 40
# Left, top, right and bottom of all boxes and lines.
BOUNDS = """(() => {
  const shapes = [...document.querySelectorAll('.pipeline-node, .pipeline-edge path')];
  const places = shapes.map(shape => shape.getBoundingClientRect()).filter(place => place.width + place.height > 0);
  return [Math.min(...places.map(place => place.left)), Math.min(...places.map(place => place.top)),
    Math.max(...places.map(place => place.right)), Math.max(...places.map(place => place.bottom))];
})()"""
HIDDEN = ".update-reminder-unexpanded, .pipeline-global-toolbar, .pipeline-toolbar, .pipeline-zoom-toolbar"


def main() -> None:
    """Take all pictures, and name them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    attention = _attention_page()
    with browser.opened() as page:
        with _kedro_viz() as address:
            _open_pipeline(page, address)
            _photograph(page, "pipeline", page.run(BOUNDS))
        for name, file in {"results_page": RESULTS / "sample" / "index.html", "attention_page": attention}.items():
            page.open(file.resolve().as_uri())
            page.wait_for("document.readyState === 'complete'")
            page.run(f"({FIRST_SEEN[name]})?.scrollIntoView(); window.scrollBy(0, -{MARGIN})")
            time.sleep(1)  # Charts are drawn once they are seen.
            _photograph(page, name)
        with _mlflow() as address:
            _open_runs(page, address)
            _photograph(page, "mlflow")


def _open_pipeline(page: Page, address: str) -> None:
    # Settings are stored for an address: any page of it can write them.
    page.open(f"{address}api/version")
    page.wait_for("location.pathname === '/api/version' && document.readyState === 'complete'")
    page.run(f"localStorage.setItem('KedroViz', JSON.stringify({json.dumps(SETTINGS)}))")
    page.open(f"{address}{FIRST_LOOK}")
    page.wait_for("document.querySelectorAll('.pipeline-node').length > 0")
    page.run(f"document.head.insertAdjacentHTML('beforeend', '<style>{HIDDEN} {{ display: none }}</style>')")
    time.sleep(2)  # The boxes move to their places.


def _open_runs(page: Page, address: str) -> None:
    answer = _ask(f"{address}api/2.0/mlflow/experiments/get-by-name?experiment_name=sample")
    settings = {"mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": "true", "mlflow.assistant.panelOpen_v1": "false"}
    page.open(f"{address}version")
    page.wait_for("location.pathname === '/version' && document.readyState === 'complete'")
    page.run(f"Object.entries({json.dumps(settings)}).forEach(entry => localStorage.setItem(...entry))")
    page.open(f"{address}{view_address(answer['experiment']['experiment_id'], TRIALS)}")
    page.wait_for(f"document.body.innerText.includes('{READER} ')")
    time.sleep(2)  # The table of runs moves until its columns are measured.


def _attention_page() -> Path:
    """The page of the reader's attention, drawn by its pipeline if there is none."""
    page = RESULTS / "attention" / "index.html"
    if not page.is_file():
        model = json.loads(Path("data", "06_models", "sample", f"{READER}.json").read_text(encoding="utf-8"))
        trial = model["trials"][0]["trial_id"]
        kedro = Path(sys.executable).parent / "kedro"
        parameters = f"attention.left={trial},attention.questions=3"
        subprocess.run([kedro, "run", "--pipelines", "attention", "--params", parameters], check=True)
    return page


@contextmanager
def _kedro_viz() -> Iterator[str]:
    port = _free_port()
    address = f"http://127.0.0.1:{port}/"
    command = ["kedro", "viz", "run", "--no-browser", "--port", str(port)]
    with serving(command, address, COATTEND_PICTURES="__default__"):
        yield address


@contextmanager
def _mlflow() -> Iterator[str]:
    port = _free_port()
    address = f"http://127.0.0.1:{port}/"
    store = ["--backend-store-uri", "sqlite:///mlflow.db", "--workers", "1"]
    with serving(["mlflow", "ui", "--host", "127.0.0.1", "--port", str(port), *store], address):
        yield address


def _ask(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310  # It is an address of this machine.
        result: dict[str, Any] = json.load(answer)
    return result


def _photograph(page: Page, name: str, bounds: list[float] | None = None) -> None:
    file = FOLDER / f"{name}.png"
    page.photograph(file)
    with Image.open(file) as photograph:
        image = photograph.convert("RGB")
    if bounds is not None:
        left, top, right, bottom = map(int, bounds)
        corners = (max(left - MARGIN, 0), max(top - MARGIN, 0))
        image = image.crop((*corners, min(right + MARGIN, image.width), min(bottom + MARGIN, image.height)))
    image.save(file, optimize=True)
    if file.stat().st_size > MOST_BYTES:
        image.quantize(256).save(file, optimize=True)
    print(f"{file}: {file.stat().st_size / 1000:.0f} kB")


def _free_port() -> int:
    # kedro-viz takes no port from 49152 on, where systems choose theirs.
    for port in range(41400, 41500):
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port from 41400 to 41499 is free")


if __name__ == "__main__":
    main()
