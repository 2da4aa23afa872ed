"""What three language models say of a candidate that fills a question's blank."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.evaluation.reranking.language_models import UNKNOWN, LanguageModel
from coattend.evaluation.reranking.sentences import distinct_sentences, filled, sentences_of
from coattend.evaluation.reranking.word_classes import usual_tags, word_classes
from coattend.parameters import RerankingParameters
from coattend.text.identity import text_id

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
    wanted = pc.field("passage_id").isin(passage_ids)

    def texts() -> Iterator[str]:
        for batch in passages.to_batches(columns=["text"], filter=wanted):
            yield from batch.column("text").to_pylist()

    text_ids = pa.array([text_id(text) for text in texts()], pa.string())
    tagged = tags.to_batches(columns=["words", "tags"], filter=pc.field("text_id").isin(text_ids))
    return LanguageFeatures(
        distinct_sentences(texts(), max_words=parameters.max_words),
        usual_tags(tagged),
        order=parameters.order,
        bands=parameters.class_bands,
    )
