"""The page in a real browser: charts are drawn, nothing is fetched, hostile text stays text."""

import re

import pytest

pytestmark = pytest.mark.slow


def test_the_page_draws_its_charts_without_a_network(in_browser, compared):
    shown = in_browser(compared[2])
    assert shown.count("main-svg") >= 2
    assert "alert(1)</script>" not in re.sub(r"<script.*?</script>", "", shown, flags=re.DOTALL)
