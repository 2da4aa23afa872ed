"""What a batch holds beside its sequences where a word of the passage is asked for."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coattend.text.occurrences import distinct_words
from coattend.training.examples import Example
from coattend.training.tokens import Tokens

ABSENT, NONE = -1, -2
"""A candidate that the passage does not hold, and one that there is not."""


class ClozeArrays:
    """Makes the arrays of words and candidates.

    Args:
        tokens: The benchmark's tokens.
        passages: Passage text by question id.
        unknown: Token of a candidate that does not stand in the passage.
    """

    def __init__(self, tokens: Tokens, passages: Mapping[str, str], *, unknown: int) -> None:
        self._tokens, self._passages, self._unknown = tokens, passages, unknown

    def __call__(
        self, examples: Sequence[Example], arrays: Mapping[str, np.ndarray], before: int
    ) -> dict[str, np.ndarray]:
        """Build the arrays of a batch.

        Args:
            examples: B questions, each with one sequence.
            arrays: The batch's sequences.
            before: Position of the passage's first token in its domain.

        Returns:
            ``word_groups`` [B, P], ``candidates`` [B, C], ``candidate_ids`` [B, C, K], ``blank_mask`` [B, Q] and, if
            all are known, ``label`` [B].
        """
        groups = np.full(arrays["passage_mask"].shape, ABSENT, np.int64)
        blank = np.zeros(arrays["question_mask"].shape, bool)
        numbers, ids = [], []
        for row, example in enumerate(examples):
            words, of_token = self.words(example)
            held = slice(before, before + example.windows[0][1])
            groups[row, held] = of_token
            blank[row, list(example.blank)] = True
            in_sight = set(of_token.tolist())
            places = [words.get(candidate, ABSENT) for candidate in example.candidates]
            numbers.append([place if place in in_sight else ABSENT for place in places])
            known = arrays["input_ids"][row, held]
            ids.append([_first(known, of_token, place, self._unknown) for place in numbers[-1]])
        made: dict[str, Any] = {
            "word_groups": groups,
            "candidates": _padded(numbers, NONE),
            "candidate_ids": _padded_twice(ids),
            "blank_mask": blank,
        }
        if all(example.label is not None for example in examples):
            made["label"] = np.array([example.label for example in examples], np.int64)
        return made

    def words(self, example: Example) -> tuple[dict[str, int], np.ndarray]:
        """The number of each distinct word of an example's passage, and the word that each token in sight lies in.

        Returns:
            Words by spelling, and int64 [tokens]; -1 where a token lies in none.
        """
        found = distinct_words(self._passages[example.question_id])
        where = self._tokens.slice(example.passage)
        first, count = example.windows[0]
        seen = slice(where.start + first, where.start + first + count)
        return found.numbers, found.of_tokens(self._tokens.starts[seen], self._tokens.ends[seen])


def _first(ids: np.ndarray, groups: np.ndarray, place: int, unknown: int) -> list[int]:
    """The tokens of a word where it first stands."""
    if place == ABSENT:
        return [unknown]
    first = int((groups == place).argmax())
    others = np.flatnonzero(groups[first:] != place)
    return ids[first : first + int(others[0]) if len(others) else None].tolist()


def _padded(rows: Sequence[Sequence[int]], filler: int) -> np.ndarray:
    made = np.full((len(rows), max(len(row) for row in rows)), filler, np.int64)
    for place, row in enumerate(rows):
        made[place, : len(row)] = row
    return made


def _padded_twice(rows: Sequence[Sequence[Sequence[int]]]) -> np.ndarray:
    most, longest = max(len(row) for row in rows), max(len(ids) for row in rows for ids in row)
    made = np.full((len(rows), most, longest), ABSENT, np.int64)
    for place, row in enumerate(rows):
        for candidate, ids in enumerate(row):
            made[place, candidate, : len(ids)] = ids
    return made
