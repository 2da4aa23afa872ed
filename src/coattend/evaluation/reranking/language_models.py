"""Language models of a candidate's filled sentence: of words, and of classes of words.

Cui et al. 2017 cluster words by their neighbours with mkcls (Och 1999), a program that is not at hand as a package.
Tags are there already; words that stand in the same places mostly have the same one. A class has the words with the
same tag that occur about as often.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from nltk.lm import NgramCounter, StupidBackoff, Vocabulary

from coattend.config import RerankingParameters
from coattend.errors import CoattendError
from coattend.text.cloze import BLANK, fill_blank
from coattend.text.hashing import text_id

UNKNOWN = "<UNK>"
"""Every word outside a model's vocabulary."""
_START, _END = "<s>", "</s>"

NAMES = ("global", "local", "classes")
"""The models: of the training passages, of the question's passage alone, of the training passages' word classes."""
AT_LEAST = 2
"""Training words that occur less often are unknown."""


class LanguageModel:
    """NLTK's n-gram model with stupid backoff (Brants et al. 2007), which asks only for the counts of n-grams.

    Smoothing such as Witten and Bell's looks at all followers of a context, which takes fifteen times as long here.
    ``order`` is that of the longest n-gram. Words that occur less than ``at_least`` times are unknown ones: the model
    learns from them where unknown words stand.

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
        """Score the fit of the words from ``first`` to before ``end`` into their sentence.

        It is the sum of the natural logarithms of the scores of these words and of the ``order - 1`` behind them, of
        which the end of the sentence is one: all other n-grams are the same, whatever stands in their place.
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


class LanguageFeatures:
    """The three models; usual tags and bands of frequency divide the training passages' words into classes."""

    def __init__(self, sentences: Sequence[Sequence[str]], tags: Mapping[str, int], *, order: int, bands: int) -> None:
        counts = Counter(word for words in sentences for word in words)
        self._order = order
        self._class_of = word_classes(counts, tags, bands=bands, at_least=AT_LEAST)
        self._global = LanguageModel(sentences, order=order, at_least=AT_LEAST)
        self._classes = LanguageModel([self._classed(words) for words in sentences], order=order)
        self.learned_from = {
            "words": counts.total(),
            "distinct words": len(counts),
            "word classes": len(set(self._class_of.values())),
        }

    @classmethod
    def train(
        cls, passages: pads.Dataset, tags: pads.Dataset, passage_ids: pa.Array, parameters: RerankingParameters
    ) -> "LanguageFeatures":
        """Train the models on some of a benchmark's passages."""
        selected = pc.field("passage_id").isin(passage_ids)

        def texts() -> Iterator[str]:
            for batch in passages.to_batches(columns=["text"], filter=selected):
                yield from batch.column("text").to_pylist()

        # Tags are stored by the hash of their text, not by passage.
        text_ids = pa.array([text_id(text) for text in texts()], pa.string())
        tagged = tags.to_batches(columns=["words", "tags"], filter=pc.field("text_id").isin(text_ids))
        sentences = distinct_sentences(texts(), max_words=parameters.max_words)
        return cls(sentences, usual_tags(tagged), order=parameters.order, bands=parameters.class_bands)

    def of(self, question: str, passage: str, candidates: Sequence[str]) -> np.ndarray:
        """The logarithms of the models' scores of candidates for a question's blank, by `NAMES` [candidates, 3]."""
        local = LanguageModel(sentences_of(passage), order=self._order)
        rows = []
        for words, first, end in (filled(question, candidate) for candidate in candidates):
            models = ((self._global, words), (local, words), (self._classes, self._classed(words)))
            rows.append([model.log_score(sentence, first, end) for model, sentence in models])
        return np.array(rows)

    def _classed(self, words: Sequence[str]) -> list[str]:
        return [self._class_of.get(word, UNKNOWN) for word in words]


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


def filled(question: str, candidate: str) -> tuple[list[str], int, int]:
    """Fill a question's blank: its words, the first of the candidate's, and the place behind the last of them."""
    text = fill_blank(question, candidate)
    start = BLANK.search(question).start()  # type: ignore[union-attr]
    # A stand-in after the text before the blank makes a word that touches the blank count as the candidate's.
    return text.split(), len(f"{text[:start]}_".split()) - 1, len(text[: start + len(candidate)].split())


def usual_tags(batches: Iterable[pa.RecordBatch]) -> dict[str, int]:
    """The id of the most frequent tag of each word in a tags table, the lowest where several are as frequent."""
    counted = []
    for batch in batches:
        pairs = pa.table({"word": pc.list_flatten(batch["words"]), "tag": pc.list_flatten(batch["tags"])})
        counted.append(pairs.group_by(["word", "tag"]).aggregate([([], "count_all")]))
    if not counted:
        return {}
    totals = pa.concat_tables(counted).group_by(["word", "tag"]).aggregate([("count_all", "sum")])
    # The last one of a word stays in the dictionary.
    rising = totals.sort_by([("count_all_sum", "ascending"), ("tag", "descending")])
    return dict(zip(rising["word"].to_pylist(), rising["tag"].to_pylist(), strict=True))


def word_classes(counts: Mapping[str, int], tags: Mapping[str, int], *, bands: int, at_least: int) -> dict[str, str]:
    """The name of each word's class, by its tag, if it has one, and the band of its frequency: up to 1, 3, 7, 15 ...

    Words that occur less than ``at_least`` times have no class.
    """
    return {
        # The bits of a count are its band: 1, 2 to 3, 4 to 7 and so on.
        word: f"{tags.get(word, 'none')}/{min(count.bit_length(), bands)}"
        for word, count in counts.items()
        if count >= at_least
    }
