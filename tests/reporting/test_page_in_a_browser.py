"""The page in a real browser: charts are drawn, nothing is fetched, hostile text stays text."""

import re
import shutil
import subprocess

import pytest

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


def test_the_page_draws_its_charts_without_a_network(browser, compared, tmp_path):
    file = tmp_path / "index.html"
    file.write_text(compared[2])
    command = [browser, *QUIET, f"--user-data-dir={tmp_path / 'profile'}", file.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert shown.stdout.count("main-svg") >= 2
    errors = [line for line in shown.stderr.splitlines() if "CONSOLE" in line and "Error" in line]
    assert not errors
    assert "alert(1)</script>" not in re.sub(r"<script.*?</script>", "", shown.stdout, flags=re.DOTALL)
