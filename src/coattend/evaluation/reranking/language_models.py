"""Classes of words: those with the same tag that occur about as often.

Cui et al. 2017 cluster words by their neighbours with mkcls (Och 1999), a program that is not at hand as a package.
Tags are there already; words that stand in the same places mostly have the same one.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from nltk.lm import NgramCounter, StupidBackoff, Vocabulary

from coattend.errors import CoattendError


def usual_tags(batches: Iterable[pa.RecordBatch]) -> dict[str, int]:
    """The most frequent tag of each word.

    Args:
        batches: The columns ``words`` and ``tags`` of a tags table.

    Returns:
        Word to the id of its tag, the lowest id where several are as frequent.
    """
    counted = [_counts(batch.column("words"), batch.column("tags")) for batch in batches]
    if not counted:
        return {}
    totals = pa.concat_tables(counted).group_by(["word", "tag"]).aggregate([("count_all", "sum")])
    # The last one of a word stays in the dictionary.
    rising = totals.sort_by([("count_all_sum", "ascending"), ("tag", "descending")])
    return dict(zip(rising["word"].to_pylist(), rising["tag"].to_pylist(), strict=True))


def word_classes(counts: Mapping[str, int], tags: Mapping[str, int], *, bands: int, at_least: int) -> dict[str, str]:
    """Put words into classes.

    Args:
        counts: How often each word occurs.
        tags: The tag of each word, as far as it has one.
        bands: Frequencies are divided into so many bands: words that occur up to 1, 3, 7, 15 ... times.
        at_least: Words that occur less often have no class.

    Returns:
        Word to the name of its class.
    """
    return {
        # The bits of a count are its band: 1, 2 to 3, 4 to 7 and so on.
        word: f"{tags.get(word, 'none')}/{min(count.bit_length(), bands)}"
        for word, count in counts.items()
        if count >= at_least
    }


def _counts(words: pa.Array, tags: pa.Array) -> pa.Table:
    pairs = pa.table({"word": pc.list_flatten(words), "tag": pc.list_flatten(tags)})
    return pairs.group_by(["word", "tag"]).aggregate([([], "count_all")])


UNKNOWN = "<UNK>"
"""Every word outside a model's vocabulary."""
_START, _END = "<s>", "</s>"


class LanguageModel:
    """NLTK's n-gram model with stupid backoff (Brants et al. 2007), which asks only for the counts of n-grams.

    Smoothing such as Witten and Bell's looks at all followers of a context, which takes fifteen times as long here.

    Args:
        sentences: The words of each sentence that it is trained on.
        order: Words of the longest n-gram.
        at_least: Words that occur less often are unknown ones: it learns from them where unknown words stand.

    Raises:
        CoattendError: If there are more n-grams than NLTK counts.
    """

    def __init__(self, sentences: Sequence[Sequence[str]], *, order: int, at_least: int = 1) -> None:
        self._order = order
        self._vocabulary = Vocabulary(Counter(word for words in sentences for word in words), at_least)
        try:
            counts = NgramCounter(self._ngrams(words) for words in sentences)
        except ValueError as error:
            cure = "Lower max_words or order of the benchmark's parameter reranking"
            raise CoattendError(f"has too many n-grams ({error})", where="language model", cure=cure) from None
        # A model that knows all words of its texts would give an unknown one the probability 0.
        counts.unigrams[UNKNOWN] += 1
        self._model = StupidBackoff(order=order, vocabulary=self._vocabulary, counter=counts)

    def log_score(self, words: Sequence[str], first: int, end: int) -> float:
        """Score the fit of some words into their sentence.

        Only the n-grams that hold one of them are scored: the others are the same, whatever stands in their place.

        Args:
            words: The sentence.
            first: The first of the words in question.
            end: The place behind the last of them.

        Returns:
            The sum of the natural logarithms of the scores of these words and of the ``order - 1`` behind them, of
            which the end of the sentence is one.
        """
        padded, before = self._padded(words), self._order - 1
        return sum(
            math.log(self._model.unmasked_score(padded[position], tuple(padded[position - before : position])))
            for position in range(first + before, min(end + 2 * before, len(padded)))
        )

    def _padded(self, words: Sequence[str]) -> list[str]:
        return [_START] * (self._order - 1) + list(self._vocabulary.lookup(words)) + [_END]

    def _ngrams(self, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
        padded = self._padded(words)
        for length in range(1, self._order + 1):
            yield from zip(*(padded[shift:] for shift in range(length)), strict=False)
