"""The page of all readers, as the parts declare them today."""

import re
from collections import Counter
from pathlib import Path

import pytest
from docs._tools.generated_parts import COMMAND
from docs._tools.readers_page import FILE, render

from coattend import readers
from coattend.readers import registry


@pytest.fixture(scope="module")
def page():
    return render()


def matrix_cells(page, encoder):
    """The cells of an encoder's matrix by interaction and head."""
    lines = page.partition(f"### Encoder `{encoder}`\n\n")[2].partition("\n\n")[0].splitlines()
    heads, _, *rows = [[cell.strip(" `") for cell in line.strip("|").split(" | ")] for line in lines]
    return {(row[0], head): cell for row in rows for head, cell in zip(heads[1:], row[1:], strict=True)}


def test_the_page_on_disk_is_up_to_date(page):
    assert (Path(__file__).parents[2] / FILE).read_text() == page, f"{FILE} is old: renew it with `{COMMAND}`"


def test_every_named_reader_has_a_row(page):
    table = page.partition("## Named readers\n\n")[2].partition("\n\n")[0]
    names = [name for name in readers.names() if registry.module_of(name).startswith("coattend.readers.")]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == names
    assert "| `dcn_plus` | DCN+ |" in table
    assert "`objective: mixed`" in table
    assert "`pooling: mean`" not in table, "mean is the head's default"


def test_the_matrix_has_every_combination(page):
    footnotes = dict(re.findall(r"^\[\^(\d+)\]: (.*)\.$", page, re.MULTILINE))
    matrices = {encoder: matrix_cells(page, encoder) for encoder in ("recurrent", "transformer")}
    matrices["apart"] = matrix_cells(page, "transformer`, `passage: apart")
    fits = Counter()
    rows = [(capability, capability.encoder) for capability in readers.capabilities()]
    for capability, matrix in [*rows, *((row, "apart") for row in readers.capabilities(passage="apart"))]:
        cell = matrices[matrix][capability.interaction, capability.head]
        if capability.reason is not None:
            assert footnotes[cell.strip("[^]")].lower() == capability.reason.lower()
        else:
            options = {name: value for name, value in capability.options.items() if name != "passage"}
            settings = ", ".join(f"`{name}: {value}`" for name, value in options.items())
            assert cell == (f"with {settings}".strip("`") if settings else "✓")
        fits["reason" if capability.reason else "with" if "with" in cell else "✓"] += 1
    assert sum(len(matrix) for matrix in matrices.values()) == sum(fits.values())
    assert set(fits) == {"reason", "with", "✓"}
    assert set(re.findall(r"\| \[\^(\d+)\]", page)) == set(footnotes)


def test_measured_parameters_are_beside_the_printed_ones(page):
    assert "| POI-Net, table 7 | ALBERT-xxlarge | 212.29 | 212.29 |" in page
    (dcmn,) = re.findall(r"^\| DUMA, table 8 \| \+ DCMN \|.*$", page, re.MULTILINE)
    assert "19.4 | 20.5" in dcmn
    assert "explained by neither" in dcmn
    assert "| DCN | 8,072,632 |" in page
    assert "| one highway maxout network | 2,772,816 |" in page
