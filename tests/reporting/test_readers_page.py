"""The page of all readers is what the parts declare today."""

import re
from collections import Counter
from pathlib import Path

import pytest

from coattend import readers
from coattend.reporting.readers_page import COMMAND, main, render

PAGE = Path(__file__).parents[2] / "docs" / "readers.md"


@pytest.fixture(scope="module")
def page():
    return render()


def cells(page, encoder):
    """The cells of an encoder's matrix by interaction and head."""
    lines = page.partition(f"### Encoder `{encoder}`\n\n")[2].partition("\n\n")[0].splitlines()
    heads, _, *rows = [[cell.strip(" `") for cell in line.strip("|").split(" | ")] for line in lines]
    return {(row[0], head): cell for row in rows for head, cell in zip(heads[1:], row[1:], strict=True)}


def test_the_page_on_disk_is_the_one_of_today(page):
    assert PAGE.read_text() == page, f"docs/readers.md is old: renew it with `{COMMAND}`"


def test_every_named_reader_has_a_row(page):
    table = page.partition("## Named readers\n\n")[2].partition("\n\n")[0]
    own = sorted(file.stem for file in (Path(readers.__file__).parent / "named").glob("[!_]*.py"))
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == own
    assert "| `dcn_plus` | DCN+ |" in table
    assert "`objective: mixed`" in table
    assert "`pooling: mean`" not in table, "mean is what the head pools by itself"


def test_the_matrix_says_of_every_combination_what_would_be_built(page):
    footnotes = dict(re.findall(r"^\[\^(\d+)\]: (.*)\.$", page, re.MULTILINE))
    shown = {encoder: cells(page, encoder) for encoder in ("recurrent", "transformer")}
    kinds = Counter()
    for one in readers.capabilities():
        cell = shown[one.encoder][one.interaction, one.head]
        if one.reason is not None:
            said = footnotes[cell.strip("[^]")]
            assert said.lower() == one.reason.lower()
        else:
            assert cell == ("with `pooling: summary" if one.options else "✓")
        kinds["reason" if one.reason else "with" if one.options else "✓"] += 1
    assert sum(len(of_encoder) for of_encoder in shown.values()) == sum(kinds.values())
    assert all(kinds.values()) and len(kinds) == 3
    used = re.findall(r"\| \[\^(\d+)\]", page)
    assert set(used) == set(footnotes)


def test_parameters_stand_beside_the_printed_ones(page):
    assert "| POI-Net, table 7 | ALBERT-xxlarge | 212.29 | 212.29 |" in page
    (dcmn,) = re.findall(r"^\| DUMA, table 8 \| \+ DCMN \|.*$", page, re.MULTILINE)
    assert "19.4 | 20.5" in dcmn
    assert "explained by neither" in dcmn
    assert "| DCN | 8,072,632 |" in page
    assert "| one highway maxout network | 2,772,816 |" in page


def test_the_command_prints_the_page_and_explains_itself(page, capsys):
    main([])
    assert capsys.readouterr().out == page
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert COMMAND in " ".join(capsys.readouterr().out.split())
