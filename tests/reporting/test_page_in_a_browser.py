"""The page in a real browser: charts are drawn, tables sorted, nothing is fetched, hostile text stays text."""

import re

import pytest

from coattend.reporting import html_page
from coattend.reporting.page import Section
from coattend.reporting.tables import Cell, Table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("clicks", "order"), [(1, ["b", "c", "a", "d"]), (2, ["a", "c", "b", "d"])])
def test_a_table_is_sorted_by_the_head_that_is_clicked(in_browser, clicks, order):
    values = {"a": "1,200.5", "b": "-3.0", "c": "20", "d": "–"}
    rows = tuple((Cell(name), Cell(value, ("[0.0, 99.0]",))) for name, value in values.items())
    page = html_page.page("Sorted", [Section("One", tables=(Table("", (Cell("Name"), Cell("Value")), rows),))])
    click = "document.querySelectorAll('th button')[1].click();" * clicks
    shown = in_browser(page.replace("</body>", f"<script>{click}</script></body>"))
    assert re.findall(r'<th scope="row">(.)', shown) == order


def test_the_page_draws_its_charts_without_a_network(in_browser, compared):
    shown = in_browser(compared[2])
    assert shown.count("main-svg") >= 2
    assert "alert(1)</script>" not in re.sub(r"<script.*?</script>", "", shown, flags=re.DOTALL)
