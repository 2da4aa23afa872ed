"""Lists of several texts that stand one after the other."""

import numpy as np

from coattend.text.alignment import Spans, offsets_of


def test_each_list_begins_where_those_before_it_end():
    assert offsets_of([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert offsets_of([]).tolist() == [0]
    assert offsets_of([1]).dtype == offsets_of([]).dtype == np.int32


def test_every_span_knows_its_text():
    nothing = np.zeros(5, np.int32)
    assert Spans(nothing, nothing, offsets_of([2, 0, 3])).rows.tolist() == [0, 0, 2, 2, 2]
    assert Spans(nothing[:0], nothing[:0], offsets_of([])).rows.tolist() == []
