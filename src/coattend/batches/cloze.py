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
            words = np.array([numbers.get(candidate, ABSENT) for candidate in example.candidates], np.int64)
            starts, ends = _first_occurrences(word_of_token, words)
            candidates.append(np.where(starts < ends, words, ABSENT))
            ids = arrays["input_ids"][row, window]
            candidate_ids.append(
                [ids[start:end] if start < end else [self._unknown] for start, end in zip(starts, ends, strict=True)]
            )
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


def _first_occurrences(word_of_token: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the tokens of each word's first occurrence start and end [words]; 0 and 0 if it does not occur."""
    # A word's tokens are consecutive: they end where another word begins.
    tokens = np.append(word_of_token, NONE)
    edges = np.append(np.flatnonzero(tokens[1:] != tokens[:-1]) + 1, len(tokens))
    occurs = (tokens == words[:, None]) & (words != ABSENT)[:, None]
    starts = occurs.argmax(1)
    return starts, np.where(occurs.any(1), edges[np.searchsorted(edges, starts, side="right")], 0)
