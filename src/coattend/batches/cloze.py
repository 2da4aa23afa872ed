"""Arrays of a batch for readers that choose a word of the passage."""

from collections.abc import Mapping, Sequence

import numpy as np

from coattend.batches.examples import Example, labels_of
from coattend.batches.tokens import Tokens, pad_rows
from coattend.text.cloze import distinct_words

ABSENT, NONE = -1, -2
"""A candidate that the passage does not contain, and padding of a question with fewer candidates."""


class ClozeArrays:
    """Builds the arrays of words and candidates; ``unknown`` is the token of a candidate that the passage lacks."""

    def __init__(self, tokens: Tokens, passages: Mapping[str, str], *, unknown: int) -> None:
        self._tokens, self._passages, self._unknown = tokens, passages, unknown

    def __call__(
        self, examples: Sequence[Example], arrays: Mapping[str, np.ndarray], passage_start: int
    ) -> dict[str, np.ndarray]:
        """Build the arrays of B examples with one sequence each, from the arrays of the sequences.

        Returns:
            ``word_groups`` [B, P], ``candidates`` [B, C], ``candidate_ids`` [B, C, K], ``blank_mask`` [B, Q] and, if
            every example has one, ``label`` [B].
        """
        word_groups = np.full(arrays["passage_mask"].shape, ABSENT, np.int64)
        blank_mask = np.zeros(arrays["question_mask"].shape, bool)
        candidates, candidate_ids = [], []
        for row, example in enumerate(examples):
            numbers, word_of_token = self.words(example)
            # Positions in the passage domain, behind its special tokens.
            window = slice(passage_start, passage_start + example.windows[0][1])
            word_groups[row, window] = word_of_token
            blank_mask[row, list(example.blank)] = True
            # A candidate counts as absent if the window does not contain it, even if the passage does.
            in_window = set(word_of_token.tolist())
            words = [numbers.get(candidate, ABSENT) for candidate in example.candidates]
            candidates.append([word if word in in_window else ABSENT for word in words])
            ids = arrays["input_ids"][row, window]
            candidate_ids.append([_first_ids(ids, word_of_token, word, self._unknown) for word in candidates[-1]])
        padded_candidates = pad_rows(candidates, NONE)
        # Shorter lists of candidates end with candidates of no tokens.
        missing = padded_candidates.shape[1] - np.array([len(words) for words in candidates])
        padded_ids = pad_rows(
            [ids for row, count in zip(candidate_ids, missing, strict=True) for ids in (*row, *[[]] * count)], ABSENT
        )
        cloze = {
            "word_groups": word_groups,
            "candidates": padded_candidates,
            "candidate_ids": padded_ids.reshape(*padded_candidates.shape, -1),
            "blank_mask": blank_mask,
        }
        return cloze | labels_of(examples)

    def words(self, example: Example) -> tuple[dict[str, int], np.ndarray]:
        """Number the distinct words of an example's passage, and map each token of its window to its word, or to -1."""
        words = distinct_words(self._passages[example.question_id])
        window = example.window_slice(0, self._tokens)
        return words.numbers, words.of_tokens(self._tokens.starts[window], self._tokens.ends[window])


def _first_ids(ids: np.ndarray, word_of_token: np.ndarray, word: int, unknown: int) -> list[int]:
    """Return the tokens of a word's first occurrence."""
    if word == ABSENT:
        return [unknown]
    # A word's tokens are consecutive: they end where another word begins.
    first = int((word_of_token == word).argmax())
    ends = np.flatnonzero(word_of_token[first:] != word)
    stop = first + int(ends[0]) if len(ends) else None
    return [int(token) for token in ids[first:stop]]
