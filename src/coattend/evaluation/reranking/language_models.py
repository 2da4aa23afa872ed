"""Language models of a candidate's filled sentence: of words, and of classes of words.

Cui et al. 2017 score sentences with n-grams (SRILM, Stolcke 2002) and cluster words with mkcls (Och 1999). Here n-grams
have interpolated Kneser-Ney smoothing with one discount for each length, and classes are those of `word_classes`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import RerankingParameters
from coattend.evaluation.reranking.word_classes import learn_word_classes
from coattend.text.cloze import BLANK, fill_blank

UNKNOWN = "<UNK>"
"""Every word outside a model's vocabulary."""
_START, _END, _UNKNOWN = 0, 1, 2  # Numbers of words that no text has.
_WORDS = 3  # The first number of a word.

NAMES = ("global", "local", "classes")
"""The models: of the training passages, of the question's passage alone, of the training passages' word classes."""
AT_LEAST = 2
"""Training words that occur less often are unknown."""
USUAL_DISCOUNT = 0.5
"""Discount of n-grams of a length if none occurs once, or none twice: these counts estimate it."""


class Span(NamedTuple):
    """Words of a sentence, from ``first`` to before ``end``, whose fit into it is scored."""

    words: Sequence[str]
    first: int
    end: int


class LanguageModel:
    """An n-gram model with interpolated Kneser-Ney smoothing (Chen and Goodman 1998, section 2.7).

    Shorter n-grams count the different words that stand before them; those of one word are interpolated with equal
    probabilities for all words, the end of a sentence and unknown words. Sentences begin with ``order - 1`` marks.

    Args:
        sentences: The words of each sentence.
        order: Length of the longest n-grams.
        at_least: Rarer words are unknown: the model learns from them where unknown words stand.
        discounts: What is taken off the counts of n-grams, by their length; None: n1 / (n1 + 2 n2), where n1 occur
            once and n2 twice (Ney et al. 1994).
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        order: int,
        at_least: int = 1,
        discounts: Sequence[float] | None = None,
    ) -> None:
        self._order = order
        counts = Counter(word for words in sentences for word in words)
        vocabulary = [word for word, count in counts.items() if count >= at_least]
        self._numbers = {word: number for number, word in enumerate(vocabulary, _WORDS)}
        self._levels = self._count(sentences, discounts)

    def log_scores(self, spans: Sequence[Span]) -> np.ndarray:
        """Score the fit of each span into its sentence [spans].

        It is the sum of the natural logarithms of the probabilities of its words and of the ``order - 1`` behind them,
        of which the end of the sentence is one: all others are the same, whatever stands in its place.
        """
        ngrams, owners = [], []
        for owner, (words, first, end) in enumerate(spans):
            padded = self._padded(words)
            for position in range(first, min(end + self._order - 1, len(words) + 1)):
                ngrams.append(padded[position : position + self._order])
                owners.append(owner)
        return np.bincount(owners, np.log(self._probabilities(np.array(ngrams))), len(spans))

    def _padded(self, words: Sequence[str]) -> list[int]:
        return [_START] * (self._order - 1) + [self._numbers.get(word, _UNKNOWN) for word in words] + [_END]

    def _count(self, sentences: Sequence[Sequence[str]], discounts: Sequence[float] | None) -> list["_Level"]:
        """Count the n-grams that end in a word or in the end of a sentence, by their length."""
        size = len(self._numbers) + _WORDS
        # Without any text the end of an empty sentence is all that is known.
        stream = np.array([number for words in sentences or [[]] for number in self._padded(words)])
        positions = np.flatnonzero(stream != _START)
        contexts = [_number_pairs(np.zeros(len(positions), dtype=int), np.zeros(len(positions), dtype=int), size)]
        # A context is numbered by the shorter one that it ends with and by the word before that.
        for distance in range(1, self._order):
            contexts.append(_number_pairs(contexts[-1].of_each, stream[positions - distance], size))
        ngrams = [_number_pairs(context.of_each, stream[positions], size) for context in contexts]
        # The longest n-grams are counted as they occur, the others once for each word before them.
        counts = [
            *(np.bincount(shorter.of_each[longer.first]) for shorter, longer in pairwise(ngrams)),
            np.bincount(ngrams[-1].of_each),
        ]
        return [
            _Level(context.pairs, ngram.pairs, counts[length], None if discounts is None else discounts[length])
            for length, (context, ngram) in enumerate(zip(contexts, ngrams, strict=True))
        ]

    def _probabilities(self, ngrams: np.ndarray) -> np.ndarray:
        """Probability of the last word of each n-gram behind those before it [n-grams, order] to [n-grams]."""
        outcomes = len(self._numbers) + _WORDS - 1  # No sentence goes on with its start.
        probabilities = np.full(len(ngrams), 1 / outcomes)
        contexts = np.zeros(len(ngrams), dtype=int)
        for length, level in enumerate(self._levels):
            if length:
                contexts = level.contexts.numbers(contexts, ngrams[:, -1 - length])
            probabilities = level.interpolate(contexts, ngrams[:, -1], probabilities)
        return probabilities


class _Pairs:
    """Distinct pairs of numbers, numbered in their order; ``keys`` are ``left * size + right``, sorted."""

    def __init__(self, keys: np.ndarray, size: int) -> None:
        self._keys, self._size = keys, size

    @property
    def left(self) -> np.ndarray:
        """The first number of each distinct pair [pairs]."""
        numbers: np.ndarray = self._keys // self._size
        return numbers

    def numbers(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Look pairs up; -1 for those that do not exist, and for all with -1 on the left."""
        keys = left * self._size + right
        positions = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[positions] == keys, positions, -1)


class _NumberedPairs(NamedTuple):
    """Distinct pairs, the first position of each [pairs], and the number of the pair at each position [positions]."""

    pairs: _Pairs
    first: np.ndarray
    of_each: np.ndarray


def _number_pairs(left: np.ndarray, right: np.ndarray, size: int) -> _NumberedPairs:
    """Number pairs of numbers, those on the right below ``size``."""
    keys, first, of_each = np.unique(left * size + right, return_index=True, return_inverse=True)
    return _NumberedPairs(_Pairs(keys, size), first, of_each)


class _Level:
    """N-grams of one length, with their counts by context."""

    def __init__(self, contexts: _Pairs, ngrams: _Pairs, counts: np.ndarray, discount: float | None) -> None:
        self.contexts = contexts
        self._ngrams, self._counts = ngrams, counts
        self._totals, self._kinds = np.bincount(ngrams.left, counts), np.bincount(ngrams.left)
        self._discount = _estimated_discount(counts) if discount is None else discount

    def interpolate(self, contexts: np.ndarray, words: np.ndarray, shorter: np.ndarray) -> np.ndarray:
        """Mix the words' probabilities in their contexts with those behind shorter ones, which alone count in a context
        that never occurs."""
        numbers = self._ngrams.numbers(contexts, words)
        discounted = np.where(numbers < 0, 0, np.maximum(self._counts[numbers] - self._discount, 0))
        mixed = (discounted + self._discount * self._kinds[contexts] * shorter) / self._totals[contexts]
        return np.where(contexts < 0, shorter, mixed)


def _estimated_discount(counts: np.ndarray) -> float:
    once, twice = int(np.sum(counts == 1)), int(np.sum(counts == 2))
    # With 0 a word that does not occur would have no probability, with 1 those that occur once would not count.
    return once / (once + 2 * twice) if once and twice else USUAL_DISCOUNT


class LanguageFeatures:
    """The three models; words of the training passages have learned classes."""

    def __init__(self, sentences: Sequence[Sequence[str]], parameters: RerankingParameters) -> None:
        self._order = parameters.order
        self._class_of = learn_word_classes(
            sentences, classes=parameters.classes, at_least=AT_LEAST, passes=parameters.class_passes
        )
        self._global = LanguageModel(sentences, order=self._order, at_least=AT_LEAST)
        self._classes = LanguageModel([self._classed(words) for words in sentences], order=self._order)
        counts = Counter(word for words in sentences for word in words)
        self.learned_from = {
            "words": counts.total(),
            "distinct words": len(counts),
            "word classes": len(set(self._class_of.values())),
        }

    @classmethod
    def train(
        cls, passages: pads.Dataset, passage_ids: pa.Array, parameters: RerankingParameters
    ) -> "LanguageFeatures":
        """Train the models on some of a benchmark's passages."""
        selected = pc.field("passage_id").isin(passage_ids)
        texts = (
            text
            for batch in passages.to_batches(columns=["text"], filter=selected)
            for text in batch.column("text").to_pylist()
        )
        return cls(distinct_sentences(texts, max_words=parameters.max_words), parameters)

    def of(self, question: str, passage: str, candidates: Sequence[str]) -> np.ndarray:
        """The logarithms of the models' scores of candidates for a question's blank, by `NAMES` [candidates, 3]."""
        spans = [filled(question, candidate) for candidate in candidates]
        classed = [Span(self._classed(words), first, end) for words, first, end in spans]
        local = LanguageModel(sentences_of(passage), order=self._order)
        return np.column_stack(
            [self._global.log_scores(spans), local.log_scores(spans), self._classes.log_scores(classed)]
        )

    def _classed(self, words: Sequence[str]) -> list[str]:
        return [str(self._class_of.get(word, UNKNOWN)) for word in words]


def sentences_of(text: str) -> list[list[str]]:
    """The words of each line that has any."""
    return [words for line in text.splitlines() if (words := line.split())]


def distinct_sentences(texts: Iterable[str], *, max_words: int) -> list[list[str]]:
    """The words of the sentences of many texts, each once and in order: passages from one book overlap.

    Stop at the sentence with which there would be more than so many words; no more texts are read than needed.
    """
    distinct: dict[tuple[str, ...], None] = {}
    total = 0
    for text in texts:
        for words in map(tuple, sentences_of(text)):
            if words in distinct:
                continue
            total += len(words)
            if total > max_words:
                return [list(words) for words in distinct]
            distinct[words] = None
    return [list(words) for words in distinct]


def filled(question: str, candidate: str) -> Span:
    """Fill a question's blank with a candidate, whose words are the span."""
    text = fill_blank(question, candidate)
    start = BLANK.search(question).start()  # type: ignore[union-attr]
    # A stand-in after the text before the blank makes a word that touches the blank count as the candidate's.
    first, end = len(f"{text[:start]}_".split()) - 1, len(text[: start + len(candidate)].split())
    return Span(text.split(), first, end)
