import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import texts

from coattend.config import TaggingParameters, TokenizerParameters
from coattend.text.alignment import Spans, offsets_of, subword_tags, word_index
from coattend.text.tagging import load_tagger
from coattend.text.tagset import ERR
from coattend.text.tokenizer import load_tokenizer


def spans(lists):
    flat = [span for list_spans in lists for span in list_spans]
    bounds = np.array(flat, np.int32).reshape(-1, 2)
    return Spans(bounds[:, 0], bounds[:, 1], offsets_of([len(list_spans) for list_spans in lists]))


def character_by_character(subwords, words):
    """For each subword, the word that owns most of its characters."""
    owner = {position: index for index, (start, end) in enumerate(words) for position in range(start, end)}
    result = []
    for start, end in subwords:
        owners = [owner[position] for position in range(start, end) if position in owner]
        result.append(max(sorted(set(owners)), key=owners.count) if owners else -1)
    return result


@st.composite
def word_spans(draw):
    edges = draw(st.lists(st.integers(0, 30), max_size=12, unique=True).map(sorted))
    return list(zip(edges[::2], edges[1::2], strict=False))


subword_spans = st.lists(
    st.tuples(st.integers(0, 32), st.integers(0, 6)).map(lambda p: (p[0], p[0] + p[1])), max_size=10
)


@given(st.lists(st.tuples(subword_spans, word_spans()), max_size=5))
def test_each_subword_lies_in_the_word_that_it_shares_most_characters_with(cases):
    subwords, words = [pieces for pieces, _ in cases], [pieces for _, pieces in cases]
    expected = [index for pieces, forms in cases for index in character_by_character(pieces, forms)]
    assert word_index(spans(subwords), spans(words)).tolist() == expected


def test_between_words_there_is_no_word_and_the_first_of_equals_wins():
    words = [[(0, 3), (3, 6), (8, 9)]]
    subwords = [[(0, 6), (2, 6), (6, 8), (4, 4), (5, 9)]]
    assert word_index(spans(subwords), spans(words)).tolist() == [0, 1, -1, -1, 1]
    assert word_index(spans(subwords), spans(words)).dtype == np.int32


def test_a_text_that_ends_with_a_word_leaves_the_next_ones_beginning_alone():
    words, subwords = [[(0, 3)], [(0, 1)], [(1, 3)]], [[(0, 3)], [(0, 3)], [(0, 1), (0, 3)]]
    assert word_index(spans(subwords), spans(words)).tolist() == [0, 0, -1, 0]


def test_tags_come_from_the_words_of_the_same_text():
    words, subwords = spans([[(0, 2)], [], [(0, 2), (3, 4)]]), spans([[(0, 2)], [(0, 2)], [(3, 4), (2, 3)]])
    index = word_index(subwords, words)
    assert index.tolist() == [0, -1, 1, -1]
    tags = subword_tags(index, subwords, words, np.array([5, 6, 7], np.int8))
    assert tags.tolist() == [5, ERR, 7, ERR]
    assert tags.dtype == np.int8


def test_nothing_aligns_with_nothing():
    assert word_index(spans([]), spans([])).tolist() == []
    assert word_index(spans([[]]), spans([[(0, 1)]])).tolist() == []
    index = word_index(spans([[(0, 1), (1, 2)]]), spans([[]]))
    assert index.tolist() == [-1, -1]
    assert index.dtype == np.int32


TAGGER, SUBWORDS = load_tagger(TaggingParameters(tagger="textblob")), load_tokenizer(TokenizerParameters())


@settings(deadline=None, max_examples=150)
@given(st.lists(texts, min_size=1, max_size=4))
def test_any_texts_words_and_subwords_align(texts):
    tagged = [TAGGER(text) for text in texts]
    words = [list(zip(pieces.starts, pieces.ends, strict=True)) for pieces in tagged]
    ids, offsets = SUBWORDS.encode(texts, [False] * len(texts))
    lists = [
        [
            (int(offsets.starts[at]), int(offsets.ends[at]))
            for at in range(offsets.offsets[row], offsets.offsets[row + 1])
        ]
        for row in range(len(texts))
    ]
    index = word_index(offsets, spans(words))
    assert len(ids) == len(index)
    assert index.tolist() == [
        position
        for pieces, forms in zip(lists, words, strict=True)
        for position in character_by_character(pieces, forms)
    ]
    for text, pieces in zip(texts, lists, strict=True):
        assert all(0 <= start <= end <= len(text) for start, end in pieces)


def test_each_list_begins_where_those_before_it_end():
    assert offsets_of([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert offsets_of([]).tolist() == [0]
    assert offsets_of([1]).dtype == offsets_of([]).dtype == np.int32


def test_every_span_knows_its_text():
    nothing = np.zeros(5, np.int32)
    assert Spans(nothing, nothing, offsets_of([2, 0, 3])).rows.tolist() == [0, 0, 2, 2, 2]
    assert Spans(nothing[:0], nothing[:0], offsets_of([])).rows.tolist() == []
