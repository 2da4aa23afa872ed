"""Anonymised entities that change their names among themselves in every batch, so that no name means anything.

Hermann et al. 2015 permute the entities of a document whenever it is loaded.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coattend.errors import CoattendError
from coattend.text.identity import text_id
from coattend.text.subwords import Subwords
from coattend.training.examples import Example
from coattend.training.tokens import Tokens

HIGHEST = 2_000
"""Numbers of entities that are known; CNN and Daily Mail have some hundred."""


class Occurrence(NamedTuple):
    """Where an entity stands in a text.

    Attributes:
        first: Its first token.
        number: Its number.
        variant: Whether it begins the text or follows a space, which some tokenizers tell apart.
    """

    first: int
    number: int
    variant: int


class EntityNames:
    """How a tokenizer writes ``@entity0``, ``@entity1`` ...

    Args:
        subwords: The tokenizer.
    """

    def __init__(self, subwords: Subwords) -> None:
        names = [f"@entity{number}" for number in range(HIGHEST)]
        alone, _ = _split(subwords, names)
        behind, lengths = _split(subwords, [f"a {name}" for name in names])
        skipped = len(_split(subwords, ["a"])[0][0])
        self._written = [alone, [ids[skipped:] for ids in behind]]
        self._numbers = [{tuple(ids): number for number, ids in enumerate(written)} for written in self._written]
        self._first = np.unique([ids[0] for written in self._written for ids in written])
        self._digits = {token for written in self._written for ids in written for token in ids[1:]} - set(alone[0][:-1])
        self._longest = max(lengths)

    def length(self, number: int) -> tuple[int, ...]:
        """Tokens of an entity in each variant; entities with equal lengths can change names."""
        return tuple(len(written[number]) for written in self._written)

    def find(self, ids: np.ndarray) -> Iterator[Occurrence]:
        """The entities of a text.

        Args:
            ids: Its tokens.
        """
        tokens = ids.tolist()
        for first in np.flatnonzero(np.isin(ids, self._first)).tolist():
            for end in range(min(first + self._longest, len(tokens)), first, -1):
                known = [(v, numbers.get(tuple(tokens[first:end]))) for v, numbers in enumerate(self._numbers)]
                found = next(((variant, number) for variant, number in known if number is not None), None)
                if found is not None:
                    if end == len(tokens) or tokens[end] not in self._digits:  # Else its number is a higher one.
                        yield Occurrence(first, found[1], found[0])
                    break

    def renamed(self, ids: np.ndarray, names: dict[int, int]) -> np.ndarray:
        """The tokens of a text with other entities in the places of its own.

        Args:
            ids: Its tokens.
            names: Number to new number, of the same length.
        """
        changed = ids.copy()
        for first, number, variant in self.find(ids):
            new = self._written[variant][names.get(number, number)]
            changed[first : first + len(new)] = new
        return changed


def _split(subwords: Subwords, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
    ids, spans = subwords.encode(list(texts), [False] * len(texts))
    cuts = spans.offsets.tolist()
    parts = [ids[start:end].tolist() for start, end in pairwise(cuts)]
    if not all(parts):
        raise CoattendError("cannot write @entity0", where=f"tokenizer {subwords.source!r}", cure="Choose another one")
    return parts, [len(part) for part in parts]


class Permutation:
    """Gives an example's entities other names, in every epoch others; what was drawn before plays no part.

    Args:
        names: How entities are written.
        tokens: The benchmark's tokens.
        seed: The trial's seed.
        epoch: The epoch that a batch is made for.
    """

    def __init__(self, names: EntityNames, tokens: Tokens, *, seed: int, epoch: Callable[[], int]) -> None:
        self._names, self._tokens, self._seed, self._epoch = names, tokens, seed, epoch

    def __call__(self, example: Example) -> Callable[[np.ndarray], np.ndarray]:
        """What gives all texts of an example the same new names."""
        rows = {example.passage, *(row for rows in example.sequences for row in rows)}
        texts = (self._tokens.input_ids[self._tokens.slice(row)] for row in rows)
        numbers = {found.number for text in texts for found in self._names.find(text)}
        name = int(text_id(example.question_id)[:8], 16)
        names = _permuted(numbers, self._names, np.random.default_rng((self._seed, self._epoch(), name)))
        return lambda ids: self._names.renamed(ids, names)


def _permuted(numbers: set[int], names: EntityNames, chance: np.random.Generator) -> dict[int, int]:
    """New numbers by lot, within the entities whose names have as many tokens."""
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number in sorted(numbers):
        groups[names.length(number)].append(number)
    return {
        old: int(new) for group in groups.values() for old, new in zip(group, chance.permutation(group), strict=True)
    }
