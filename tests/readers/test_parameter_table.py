"""The papers' tables of parameters, every row to its last printed digit or with a reason."""

import pytest

from coattend import readers
from coattend.readers.parameter_table import TABLE_7, TABLE_8


@pytest.fixture(scope="module")
def table():
    return {(row.table, row.name): row for row in readers.parameter_table()}


def test_every_row_is_as_printed_or_says_why_not(table):
    assert len(table) == 11
    assert {row.name for row in table.values() if row.measured != row.printed} == {"+ DCMN"}
    assert all(row.reason for row in table.values() if row.measured != row.printed)


def test_the_counts_behind_the_digits(table):
    """With a span head of 2H: the papers' 2H + 2 has two biases that change no span."""
    assert table[TABLE_7, "ALBERT-base"].parameters == 11_683_584 + 2 * 768
    block = 4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768
    assert table[TABLE_7, "POI-Net on ALBERT-base"].parameters == 11_683_584 + 4_992 + 2 * 768
    of_block = table[TABLE_7, "Multi-head co-attention on ALBERT-base"].parameters
    assert of_block == table[TABLE_7, "POI-Net on ALBERT-base"].parameters + block + 39 * 768
    duma, plain = table[TABLE_8, "+ DUMA"].parameters, table[TABLE_8, "ALBERT-base"].parameters
    assert duma - plain == 1_771_776 + 768
