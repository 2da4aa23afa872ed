"""Pages in a real browser: charts are drawn, tables sorted, nothing is fetched, hostile text stays text."""

import re
from importlib.resources import files

import pytest
from jinja2 import UndefinedError

from coattend.reports.render import Section, html_page, markdown_page, render_template
from coattend.reports.tables import Cell, Table, cells

HOSTILE = "</style></script><b>x</b>"


def test_titles_texts_links_and_cells_are_escaped():
    table = Table(HOSTILE, cells(HOSTILE), (cells(HOSTILE),))
    page = html_page(HOSTILE, [Section(HOSTILE, (HOSTILE,), (table,), (table,), links=((HOSTILE, HOSTILE),))])
    assert "<b>" not in page
    assert page.count("&lt;b&gt;x&lt;/b&gt;") >= 10
    assert "<b>" not in markdown_page(HOSTILE, [Section("Title", (HOSTILE,), (table,))])


def test_a_template_without_a_variable_is_an_error():
    with pytest.raises(UndefinedError, match="sections"):
        render_template("page.html.j2", title="Title", contents=False)


def test_static_files_close_neither_their_script_nor_their_style():
    for package in ("coattend.reports", "coattend.serving"):
        for file in (files(package) / "static").iterdir():
            assert not {"</script", "</style"} & set(re.findall(r"</\w+", file.read_text())), file.name


@pytest.mark.slow
@pytest.mark.parametrize(("clicks", "order"), [(1, ["b", "c", "a", "d"]), (2, ["a", "c", "b", "d"])])
def test_a_table_is_sorted_by_the_head_that_is_clicked(open_in_browser, clicks, order):
    values = {"a": "1,200.5", "b": "-3.0", "c": "20", "d": "–"}
    rows = tuple((Cell(name), Cell(value, ("[0.0, 99.0]",))) for name, value in values.items())
    page = html_page("Sorted", [Section("One", tables=(Table("", cells("Name", "Value"), rows),))])
    click = "document.querySelectorAll('th button')[1].click();" * clicks
    document = open_in_browser(page.replace("</body>", f"<script>{click}</script></body>"))
    assert re.findall(r'<th scope="row">(.)', document) == order


@pytest.mark.slow
def test_the_page_draws_its_charts_without_a_network(open_in_browser, node_outputs):
    document = open_in_browser(node_outputs[2])
    assert document.count("main-svg") >= 2
    assert "alert(1)</script>" not in re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)
