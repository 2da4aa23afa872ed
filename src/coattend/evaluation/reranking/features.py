"""Features of a candidate's filled sentence: language models and word classes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.config import RerankingParameters
from coattend.evaluation.reranking.language_models import UNKNOWN, LanguageModel, usual_tags, word_classes
from coattend.text.cloze import BLANK, fill_blank
from coattend.text.hashing import text_id


def sentences_of(text: str) -> list[list[str]]:
    """The words of each line that has any."""
    return [words for line in text.splitlines() if (words := line.split())]


def distinct_sentences(texts: Iterable[str], *, max_words: int) -> list[list[str]]:
    """The sentences of many texts, each once: passages from one book overlap.

    Args:
        texts: The texts; no more of them are read than needed.
        max_words: Stop at the sentence with which there would be more words.

    Returns:
        The words of each, in the order of their first occurrence.
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
    """A question whose blank holds a candidate.

    Args:
        question: A question with a blank.
        candidate: One or more words.

    Returns:
        Its words, the first of the candidate's, and the place behind the last of them. Signs that touch the blank
        belong to the candidate's words.
    """
    text = fill_blank(question, candidate)
    start = BLANK.search(question).start()  # type: ignore[union-attr]
    # A stand-in after the text before the blank makes a word that touches the blank count as the candidate's.
    return text.split(), len(f"{text[:start]}_".split()) - 1, len(text[: start + len(candidate)].split())


NAMES = ("global", "local", "classes")
"""The models: of the training passages, of the question's passage alone, of the training passages' word classes."""
AT_LEAST = 2
"""Training words that occur less often are unknown."""


class LanguageFeatures:
    """The three models.

    Args:
        sentences: The words of each sentence of the training passages.
        tags: The usual tag of each word.
        order: Words of the longest n-gram.
        bands: Bands of frequency that divide the words of a tag into classes.
    """

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

    def of(self, question: str, passage: str, candidates: Sequence[str]) -> np.ndarray:
        """The logarithms of the models' scores.

        Args:
            question: A question with a blank.
            passage: Its passage.
            candidates: What may fill the blank.

        Returns:
            A column for each of `NAMES` [candidates, 3].
        """
        local = LanguageModel(sentences_of(passage), order=self._order)
        rows = []
        for words, first, end in (filled(question, candidate) for candidate in candidates):
            models = ((self._global, words), (local, words), (self._classes, self._classed(words)))
            rows.append([model.log_score(sentence, first, end) for model, sentence in models])
        return np.array(rows)

    def _classed(self, words: Sequence[str]) -> list[str]:
        return [self._class_of.get(word, UNKNOWN) for word in words]


def train(
    passages: pads.Dataset, tags: pads.Dataset, passage_ids: pa.Array, parameters: RerankingParameters
) -> LanguageFeatures:
    """Train the models on some of a benchmark's passages.

    Args:
        passages: Its passages.
        tags: The tags of its texts.
        passage_ids: The passages to train on.
        parameters: How much to read, and how to make the models.

    Raises:
        CoattendError: If there are more n-grams than can be counted.
    """
    selected = pc.field("passage_id").isin(passage_ids)

    def texts() -> Iterator[str]:
        for batch in passages.to_batches(columns=["text"], filter=selected):
            yield from batch.column("text").to_pylist()

    # Tags are stored by the hash of their text, not by passage.
    text_ids = pa.array([text_id(text) for text in texts()], pa.string())
    tagged = tags.to_batches(columns=["words", "tags"], filter=pc.field("text_id").isin(text_ids))
    return LanguageFeatures(
        distinct_sentences(texts(), max_words=parameters.max_words),
        usual_tags(tagged),
        order=parameters.order,
        bands=parameters.class_bands,
    )
