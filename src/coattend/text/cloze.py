"""Questions with a blank, the texts of a question's sequences, and candidates for a missing word in the passage."""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np

from coattend.schemas import QuestionRow

BLANK = re.compile(r"@placeholder|(?<!_)_(?!_)|_{2,}")


def is_cloze(question: str) -> bool:
    """Check if a question has a blank that an option can fill."""
    return BLANK.search(question) is not None


def blank_to_fill(task: str, question: str, *, fill_blanks: bool) -> tuple[int, int] | None:
    """Return start and end of the blank that options fill; None if they follow the question. See `question_domains`."""
    blank = BLANK.search(question) if fill_blanks or task == "word" else None
    return None if blank is None else blank.span()


def fill_blank(question: str, option: str) -> str:
    """Replace the first blank of a question by an option; the result is tagged and tokenised as one text."""
    return BLANK.sub(lambda _: option, question, count=1)


def question_domains(
    task: str, question: str, options: Sequence[str] | None, *, fill_blanks: bool, words_as_options: bool
) -> list[list[str]]:
    """Return the texts in the question domain of each of a question's sequences, in order.

    Args:
        task: The form of the answer: ``options``, ``span`` or ``word``.
        question: The question.
        options: Its options, if any.
        fill_blanks: An option fills the question's blank, if it has one, instead of following the question.
        words_as_options: Candidates for a word are read like options, each filled into the blank.

    Returns:
        For each option the filled question, or the question and then the option; the question alone, once, if the
        answer is a part of the passage.
    """
    if task == "span" or (task == "word" and not words_as_options):
        return [[question]]
    fill = blank_to_fill(task, question, fill_blanks=fill_blanks) is not None
    return [[fill_blank(question, option)] if fill else [question, option] for option in options or ()]


class DomainRules(Protocol):
    """What decides on the texts of a question's sequences: a benchmark's parameters, or a source of its questions."""

    @property
    def fill_blanks(self) -> bool:
        """True if an option fills the question's blank."""

    @property
    def words_as_options(self) -> bool:
        """True if candidates for a word are read like options."""


def domains_of(question: QuestionRow, rules: DomainRules) -> list[list[str]]:
    """Return the `question_domains` of a row of the questions table."""
    return question_domains(
        question["task"],
        question["question"],
        question["options"],
        fill_blanks=rules.fill_blanks,
        words_as_options=rules.words_as_options,
    )


class DistinctWords(NamedTuple):
    """The distinct words of a passage, numbered by first occurrence, and their n occurrences.

    Attributes:
        word: The number of the word that occurs [n].
    """

    numbers: dict[str, int]
    starts: np.ndarray
    ends: np.ndarray
    word: np.ndarray

    def of_tokens(self, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return the number of the word that each token lies in [tokens]; -1 if it lies in none."""
        if not len(self.ends):
            return np.full(len(starts), -1)
        occurrence = np.searchsorted(self.ends, starts, side="right")
        nearest = np.minimum(occurrence, len(self.ends) - 1)
        overlaps = (occurrence < len(self.ends)) & (ends > self.starts[nearest])
        return np.where(overlaps, self.word[nearest], -1)


def distinct_words(passage: str) -> DistinctWords:
    """Split a passage at spaces."""
    forms = passage.split()
    numbers = dict(zip(dict.fromkeys(forms), count()))
    word = np.fromiter(map(numbers.__getitem__, forms), np.int64, len(forms))
    characters = np.frombuffer(passage.encode("utf-32-le", "surrogatepass"), np.uint32)
    # Words begin and end where a character that is no space meets one, or an end of the passage.
    is_space = np.ones(len(characters) + 2, bool)
    is_space[1:-1] = False
    for space in filter(str.isspace, set(passage)):
        is_space[1:-1] |= characters == ord(space)
    edges = np.flatnonzero(is_space[1:] != is_space[:-1])
    return DistinctWords(numbers, edges[::2], edges[1::2], word)


def candidate_positions(passage: str, candidates: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the positions of each candidate, a single word, among the words of a passage; none if it does not occur.

    Cloze benchmarks publish passages as words and punctuation with spaces between.
    """
    positions: dict[str, list[int]] = defaultdict(list)
    for position, word in enumerate(passage.split()):
        positions[word].append(position)
    return [tuple(positions.get(candidate, ())) for candidate in candidates]
