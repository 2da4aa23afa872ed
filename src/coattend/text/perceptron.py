"""NLTK's averaged perceptron tagger on arrays: the same weights and tags, many times faster."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources.abc import Traversable
from itertools import chain
from typing import NamedTuple

import numpy as np

# NLTK's padding of each sentence.
_START = ("-START-", "-START2-")
_END = ("-END-", "-END2-")
_EDGES = (*_START, *_END)

_UNDECIDED = -1
"""Instead of a tag: the weights decide."""

_BATCH_WORDS = 2**15
"""Words of a batch of sentences, padded to the longest, so that memory stays small."""


class _Vocabulary(NamedTuple):
    """The distinct words of some sentences, after NLTK's padding.

    Attributes:
        contexts: Name of each word in features, by its number.
        fixed: Tag of each word that has one tag in every sentence, else `_UNDECIDED`.
        features: Rows of weights [words, 9]: three for the word's own tag, two for the next word's, one for that of the
            second next, two for the previous word's, and one for that of the second previous.
    """

    numbers: dict[str, int]
    contexts: list[str]
    fixed: np.ndarray
    features: np.ndarray


class Perceptron:
    """Greedy left-to-right tagger: the first words of many sentences at once, then their second words, and so on.

    Scores are added in NLTK's order and ties go to the last tag of the alphabet, as there, so that rounding makes no
    difference. Features without weights add zeros, which change no sum. Words of the tagdict have one tag in every
    sentence.
    """

    def __init__(self, weights: Mapping[str, Mapping[str, float]], tagdict: dict[str, str], tags: list[str]) -> None:
        choices, choice_set = sorted(tags, reverse=True), set(tags)
        self._tags = list(dict.fromkeys([*choices, *tagdict.values(), *_START]))
        self._tag_ids = {tag: tag_id for tag_id, tag in enumerate(self._tags)}
        self._tagdict = tagdict
        # Row 0 holds the zeros of features without weights.
        self._rows = {feature: row for row, feature in enumerate(weights, start=1)}
        self._weights = np.zeros((len(weights) + 1, len(choices)))
        cells = [
            (row, self._tag_ids[tag], weight)
            for row, scores in enumerate(weights.values(), start=1)
            for tag, weight in scores.items()
            if tag in choice_set
        ]
        rows, columns, values = zip(*cells, strict=True) if cells else ((), (), ())
        self._weights[list(rows), list(columns)] = values
        # Rows of features of the previous tag, the one before it, and both.
        self._previous = self._rows_of(f"i-1 tag {tag}" for tag in self._tags)
        self._second_previous = self._rows_of(f"i-2 tag {tag}" for tag in self._tags)
        pairs = self._rows_of(f"i tag+i-2 tag {last} {before}" for last in self._tags for before in self._tags)
        self._both_previous = pairs.reshape(len(self._tags), len(self._tags))

    @classmethod
    def load(cls, folder: Traversable) -> "Perceptron":
        """Read the three JSON files of NLTK's package."""
        files = (f"averaged_perceptron_tagger_eng.{part}.json" for part in ("weights", "tagdict", "classes"))
        return cls(*(json.loads((folder / file).read_bytes()) for file in files))

    def tag(self, sentences: Sequence[list[str]]) -> list[list[str]]:
        """Tag each word of each sentence, as ``nltk.pos_tag`` does."""
        vocabulary = self._vocabulary(chain.from_iterable(sentences))
        by_length = sorted(range(len(sentences)), key=lambda index: -len(sentences[index]))
        tags: list[list[str]] = [[] for _ in sentences]
        first = 0
        while first < len(sentences):
            longest = len(sentences[by_length[first]])
            batch = by_length[first : first + max(1, _BATCH_WORDS // max(1, longest))]
            first += len(batch)
            tag_ids = self._tag_batch([sentences[index] for index in batch], vocabulary)
            for index, row in zip(batch, tag_ids.tolist(), strict=True):
                tags[index] = [self._tags[tag_id] for tag_id in row[: len(sentences[index])]]
        return tags

    def _tag_batch(self, sentences: list[list[str]], vocabulary: _Vocabulary) -> np.ndarray:
        """Tag ids [sentences, words] of sentences sorted by length, the longest first."""
        lengths = np.array([len(forms) for forms in sentences])
        words = np.zeros((len(sentences), lengths[0] + len(_EDGES)), np.int64)
        for row, forms in zip(words, sentences, strict=True):
            row[: len(forms) + len(_EDGES)] = [0, 1, *(vocabulary.numbers[form] for form in forms), 2, 3]
        tag_ids = np.empty((len(sentences), lengths[0] + 2), np.int64)
        tag_ids[:, 0], tag_ids[:, 1] = self._tag_ids[_START[1]], self._tag_ids[_START[0]]
        for position in range(lengths[0]):
            # Sentences that have a word at this position come first.
            count = np.count_nonzero(lengths > position)
            window, previous = words[:count, position : position + 5], tag_ids[:count, position : position + 2]
            current = vocabulary.fixed[window[:, 2]]
            undecided = np.flatnonzero(current == _UNDECIDED)
            current[undecided] = self._best(window[undecided], previous[undecided], vocabulary)
            tag_ids[:count, position + 2] = current
        return tag_ids[:, 2:]

    def _best(self, window: np.ndarray, previous_tags: np.ndarray, vocabulary: _Vocabulary) -> np.ndarray:
        """Best tags of words [n], each in the middle of a window [n, 5], after two tags [n, 2]."""
        before, last = previous_tags.T
        second_left, left, word, right, second_right = vocabulary.features[window.T].transpose(0, 2, 1)
        pairs = zip(last.tolist(), window[:, 2].tolist(), strict=True)
        tag_and_word = self._rows_of(
            f"i-1 tag+i word {self._tags[tag]} {vocabulary.contexts[number]}" for tag, number in pairs
        )
        scores = np.zeros((len(window), self._weights.shape[1]))
        scores += self._weights[self._rows.get("bias", 0)]
        for rows in (
            *word[:2],
            self._previous[last],
            self._second_previous[before],
            self._both_previous[last, before],
            word[2],
            tag_and_word,
            *left[3:5],
            second_left[5],
            *right[6:8],
            second_right[8],
        ):
            scores += self._weights[rows]
        best: np.ndarray = scores.argmax(axis=1)
        return best

    def _vocabulary(self, forms: Iterable[str]) -> _Vocabulary:
        distinct = list(dict.fromkeys(forms))
        contexts = [*_EDGES, *map(_normalize, distinct)]
        fixed = [self._tag_ids[self._tagdict[form]] if self._tagdict.get(form) else _UNDECIDED for form in distinct]
        features = self._rows_of(
            feature
            for form, context in zip((*_EDGES, *distinct), contexts, strict=True)
            for feature in _features(form, context)
        )
        return _Vocabulary(
            numbers={form: number for number, form in enumerate(distinct, start=len(_EDGES))},
            contexts=contexts,
            fixed=np.array([*[_UNDECIDED] * len(_EDGES), *fixed]),
            features=features.reshape(len(contexts), -1),
        )

    def _rows_of(self, features: Iterable[str]) -> np.ndarray:
        """Row of each feature's weights."""
        return np.array([self._rows.get(feature, 0) for feature in features], np.int64)


def _normalize(form: str) -> str:
    if "-" in form and form[0] != "-":
        return "!HYPHEN"
    if form.isdigit() and len(form) == 4:
        return "!YEAR"
    return "!DIGITS" if form[:1].isdigit() else form.lower()


def _features(form: str, context: str) -> tuple[str, ...]:
    ending = context[-3:]
    return (
        f"i suffix {form[-3:]}",
        f"i pref1 {form[:1]}",
        f"i word {context}",
        f"i-1 word {context}",
        f"i-1 suffix {ending}",
        f"i-2 word {context}",
        f"i+1 word {context}",
        f"i+1 suffix {ending}",
        f"i+2 word {context}",
    )
