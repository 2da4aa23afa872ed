"""Tokens of a table that several readers share are loaded once, as long as it is open."""

import gc
import weakref

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.batches.tokens import Tokens
from coattend.schemas import TOKENS


def stored_tokens():
    row = {"text_id": "a" * 16, "input_ids": [7, 8], "tag_ids": [1, 2], "word_index": [0, 1]}
    return pads.dataset(pa.Table.from_pylist([row | {"starts": [0, 4], "ends": [3, 7]}], schema=TOKENS))


def test_an_open_table_is_loaded_once():
    table = stored_tokens()
    tokens = Tokens.from_table(table)
    assert Tokens.from_table(table) is tokens
    assert Tokens.from_table(stored_tokens()) is not tokens


def test_the_index_of_words_is_loaded_where_it_is_asked_for():
    table = stored_tokens()
    assert len(Tokens.from_table(table).word_index) == 0
    assert Tokens.from_table(table, with_word_index=True).word_index.tolist() == [0, 1]
    assert len(Tokens.from_table(table).word_index) == 0


def test_tokens_do_not_outlive_their_table():
    table = stored_tokens()
    tokens = weakref.ref(Tokens.from_table(table))
    assert tokens() is not None
    del table
    gc.collect()
    assert tokens() is None
