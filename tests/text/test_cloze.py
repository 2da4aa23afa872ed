"""Occurrences of words in a passage, against a slow search character by character."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from coattend.text.cloze import candidate_positions, distinct_words, question_domains


def words_by_character(text):
    """For each character the number of the word that it lies in; None between words."""
    numbers, owner, word = {}, [], ""
    for position, character in enumerate(text):
        if character.isspace():
            owner.append(None)
            continue
        if position == 0 or text[position - 1].isspace():
            word = text[position:].split(maxsplit=1)[0]
        owner.append(numbers.setdefault(word, len(numbers)))
    return numbers, owner


any_text = st.one_of(
    st.text(), texts, st.lists(st.sampled_from(["a", "b", "ab", " ", "\n", "\x1c", "\u2003"])).map("".join)
)


@given(any_text)
def test_distinct_words_are_those_between_spaces_by_first_occurrence(text):
    occurrences_found = distinct_words(text)
    assert list(occurrences_found.numbers) == list(dict.fromkeys(text.split()))
    assert list(occurrences_found.numbers.values()) == list(range(len(occurrences_found.numbers)))
    written = [text[start:end] for start, end in zip(occurrences_found.starts, occurrences_found.ends, strict=True)]
    assert written == text.split()
    assert [occurrences_found.numbers[word] for word in written] == occurrences_found.word.tolist()


@given(any_text, st.data())
def test_every_token_lies_in_the_first_word_that_it_shares_a_character_with(text, data):
    numbers, owner = words_by_character(text)
    edges = st.integers(0, len(text))
    cuts = data.draw(st.lists(st.tuples(edges, edges).filter(lambda cut: cut[0] < cut[1]), max_size=8)) if text else []
    occurrences_found = distinct_words(text)
    assert occurrences_found.numbers == numbers
    starts, ends = np.array(cuts, np.int64).reshape(-1, 2).T
    expected = [next((word for word in owner[start:end] if word is not None), -1) for start, end in cuts]
    assert occurrences_found.of_tokens(starts, ends).tolist() == expected


@pytest.mark.parametrize("text", ["", " \n\u2003"])
def test_a_token_of_a_passage_without_words_lies_in_none(text):
    occurrences_found = distinct_words(text)
    assert occurrences_found.numbers == {}
    assert occurrences_found.of_tokens(np.array([0, 0]), np.array([0, 1])).tolist() == [-1, -1]


def test_a_token_without_characters_at_a_words_beginning_lies_in_none():
    """Byte-level tokenizers give the space before a text a token of its own."""
    assert distinct_words("one two").of_tokens(np.array([0, 4]), np.array([0, 4])).tolist() == [-1, -1]


@given(any_text, st.lists(st.sampled_from(["a", "b", "ab", "ba", "."]), max_size=4))
def test_candidates_are_found_at_every_word_that_is_written_like_them(text, candidates):
    occurrences_found = candidate_positions(text, candidates)
    words = text.split()
    assert occurrences_found == [
        tuple(n for n, word in enumerate(words) if word == candidate) for candidate in candidates
    ]


@pytest.mark.parametrize(
    ("task", "options", "words_as_options", "domains"),
    [
        ("span", None, False, [["Who _ here?"]]),
        # Options of a span's row, which nothing reads, make no sequences of their own.
        ("span", ["Ann", "Bob"], True, [["Who _ here?"]]),
        ("word", ["Ann", "Bob"], False, [["Who _ here?"]]),
        ("word", ["Ann", "Bob"], True, [["Who Ann here?"], ["Who Bob here?"]]),
        ("options", ["Ann", "Bob"], False, [["Who _ here?", "Ann"], ["Who _ here?", "Bob"]]),
    ],
)
def test_a_task_decides_on_the_sequences_of_a_question(task, options, words_as_options, domains):
    sequences = question_domains(task, "Who _ here?", options, fill_blanks=False, words_as_options=words_as_options)
    assert sequences == domains
