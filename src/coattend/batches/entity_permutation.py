"""Permutation of anonymised entities in every batch, so that a reader cannot learn the meaning of a name.

Hermann et al. 2015 permute the entities of a document whenever it is loaded.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coattend.batches.examples import Example
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import LexiconTokenizer
from coattend.errors import CoattendError
from coattend.text.hashing import text_id
from coattend.text.tokenizer import SubwordTokenizer

MAX_ENTITIES = 2_000
"""Entities ``@entity0``, ``@entity1`` ... that are recognised; CNN and Daily Mail have some hundred."""


Tokenizer = SubwordTokenizer | LexiconTokenizer


class Occurrence(NamedTuple):
    """An occurrence of an entity: its first token, its number, and variant 0 at a text's start or 1 after a space."""

    first: int
    number: int
    variant: int


class EntityNames:
    """The token sequences of ``@entity0``, ``@entity1`` ..."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        # A byte-level tokenizer writes a word differently at the start of a text and after a space.
        names = [f"@entity{number}" for number in range(MAX_ENTITIES)]
        at_start = _encode(tokenizer, names)
        after_space = _encode(tokenizer, [f"a {name}" for name in names])
        article_length = len(_encode(tokenizer, ["a"])[0])
        self._ids = [at_start, [ids[article_length:] for ids in after_space]]
        self._numbers = [{tuple(ids): number for number, ids in enumerate(variant)} for variant in self._ids]
        self._first = np.unique([ids[0] for variant in self._ids for ids in variant])
        # Tokens that continue a number: an entity in front of one of these has a number beyond the recognised ones.
        self._digits = {token for variant in self._ids for ids in variant for token in ids[1:]} - set(at_start[0][:-1])
        self._max_length = max(map(len, after_space))

    def length(self, number: int) -> tuple[int, ...]:
        """Return the number of tokens of an entity in each variant; entities of equal lengths can swap names."""
        return tuple(len(variant[number]) for variant in self._ids)

    def find(self, ids: np.ndarray) -> Iterator[Occurrence]:
        """Yield the entities of a text, given its tokens."""
        # Longest match first: @entity12 begins with the tokens of @entity1.
        tokens = ids.tolist()
        for first in np.flatnonzero(np.isin(ids, self._first)).tolist():
            for end in range(min(first + self._max_length, len(tokens)), first, -1):
                candidate = tuple(tokens[first:end])
                matches = ((variant, numbers.get(candidate)) for variant, numbers in enumerate(self._numbers))
                match = next(((variant, number) for variant, number in matches if number is not None), None)
                if match is not None:
                    if end == len(tokens) or tokens[end] not in self._digits:
                        yield Occurrence(first, match[1], match[0])
                    break

    def rename(self, ids: np.ndarray, numbers: dict[int, int]) -> np.ndarray:
        """Replace the entities of a text, given new numbers by present ones; both names have equal lengths."""
        renamed = ids.copy()
        for first, number, variant in self.find(ids):
            name = self._ids[variant][numbers.get(number, number)]
            renamed[first : first + len(name)] = name
        return renamed


def _encode(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    ids, spans = tokenizer.encode(list(texts), [False] * len(texts))
    encoded = [ids[start:end].tolist() for start, end in pairwise(spans.offsets.tolist())]
    if not all(encoded):
        raise CoattendError("cannot write @entity0", where=f"tokenizer {tokenizer.source!r}", cure="Choose another one")
    return encoded


class EntityPermutation:
    """Renames an example's entities; each epoch draws new names, independently of earlier draws."""

    def __init__(self, names: EntityNames, tokens: Tokens, *, seed: int, epoch: Callable[[], int]) -> None:
        self._names, self._tokens, self._seed, self._epoch = names, tokens, seed, epoch

    def __call__(self, example: Example) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that renames the entities in all texts of an example consistently."""
        texts = (self._tokens.input_ids[self._tokens.slice(row)] for row in set(example.rows))
        numbers = {occurrence.number for text in texts for occurrence in self._names.find(text)}
        # The draw depends on seed, epoch and question alone, so that an interrupted training repeats it.
        question = int(text_id(example.question_id)[:8], 16)
        generator = np.random.default_rng((self._seed, self._epoch(), question))
        permuted = _permute(numbers, self._names, generator)
        return lambda ids: self._names.rename(ids, permuted)


def _permute(numbers: set[int], names: EntityNames, generator: np.random.Generator) -> dict[int, int]:
    """Permute numbers at random among the entities whose names have equal lengths."""
    by_length: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number in sorted(numbers):
        by_length[names.length(number)].append(number)
    return {
        present: int(drawn)
        for group in by_length.values()
        for present, drawn in zip(group, generator.permutation(group), strict=True)
    }
