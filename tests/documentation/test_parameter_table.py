"""The papers' tables of parameters, every row to its last printed digit or with a reason."""

import pytest
from docs._tools.parameter_table import TABLE_7, TABLE_8, dcn_parameters, parameter_table


@pytest.fixture(scope="module")
def table():
    return {(row.table, row.name): row for row in parameter_table()}


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


def test_dcn_counts_what_its_equations_do():
    """At l = 200 and pools of 16; PyTorch's LSTM has two biases, and both networks begin from 2l-wide vectors."""
    width, pool = 200, 16

    def lstm(read, hidden):
        return 4 * hidden * (read + hidden) + 8 * hidden

    network = width * 5 * width + (3 * width * pool * width + pool * width) + (width * pool * width + pool * width)
    network += 2 * width * pool + pool
    encoders = lstm(300, width) + width * width + width + 2 * width + 2 * lstm(3 * width, width)
    decoder = lstm(4 * width, width)
    assert dcn_parameters() == {"DCN": 8_072_632, "one highway maxout network": 2_772_816}
    assert (encoders + decoder + 2 * network, network) == (8_072_632, 2_772_816)
