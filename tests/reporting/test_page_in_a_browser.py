"""The page in a real browser: charts are drawn, nothing is fetched, hostile text stays text."""

import re
import shutil
import subprocess

import pytest

from coattend.reporting import html_page
from coattend.reporting.page import Section
from coattend.reporting.tables import Cell, Table

pytestmark = pytest.mark.slow

QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=10000",
    "--dump-dom",
]


@pytest.fixture(scope="session")
def browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium is installed")
    return found


def shown_by(browser, page, folder):
    """What the browser makes of a page, and what it says."""
    file = folder / "index.html"
    file.write_text(page)
    command = [browser, *QUIET, f"--user-data-dir={folder / 'profile'}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line and "Error" in line]


@pytest.mark.parametrize(("clicks", "order"), [(1, ["b", "c", "a", "d"]), (2, ["a", "c", "b", "d"])])
def test_a_table_is_sorted_by_the_head_that_is_clicked(browser, tmp_path, clicks, order):
    values = {"a": "1,200.5", "b": "-3.0", "c": "20", "d": "–"}
    rows = tuple((Cell(name), Cell(value, ("[0.0, 99.0]",))) for name, value in values.items())
    page = html_page.page("Sorted", [Section("One", tables=(Table("", (Cell("Name"), Cell("Value")), rows),))])
    click = "document.querySelectorAll('th button')[1].click();" * clicks
    shown, errors = shown_by(browser, page.replace("</body>", f"<script>{click}</script></body>"), tmp_path)
    assert not errors
    assert re.findall(r'<th scope="row">(.)', shown) == order


def test_the_page_draws_its_charts_without_a_network(browser, compared, tmp_path):
    shown, errors = shown_by(browser, compared[2], tmp_path)
    assert shown.count("main-svg") >= 2
    assert not errors
    assert "alert(1)</script>" not in re.sub(r"<script.*?</script>", "", shown, flags=re.DOTALL)
