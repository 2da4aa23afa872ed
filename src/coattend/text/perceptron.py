"""NLTK's averaged perceptron tagger on arrays: its weights, its tags, many times its speed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources.abc import Traversable
from itertools import chain
from typing import NamedTuple

import numpy as np

_START = ("-START-", "-START2-")
_END = ("-END-", "-END2-")
_EDGES = (*_START, *_END)

_OPEN = -1
"""In the place of a tag: the weights decide."""

_AT_ONCE = 2**15
"""Words of sentences that are read side by side, the longest's for each: memory stays small, whatever is tagged."""


class _Words(NamedTuple):
    """The distinct words of some sentences; before them stand what NLTK puts around each sentence.

    Attributes:
        numbers: Form to number.
        contexts: What features call each word, by its number.
        fixed: The tag of those that have one tag wherever they stand.
        features: Rows of weights [words, 9]: three of its own, two for the word after it, one for the word after that,
            two for the word before it, and one for the word before that.
    """

    numbers: dict[str, int]
    contexts: list[str]
    fixed: np.ndarray
    features: np.ndarray


class Perceptron:
    """Greedy tagger, left to right: the first words of many sentences at once, then their second words, and so on.

    Scores are added in NLTK's order and ties go to the last tag of the alphabet, as there, so that no rounding makes
    a difference. Features without weights add zeros, which change no sum.

    Args:
        weights: Feature to tag to weight.
        tagdict: Words that have one tag wherever they stand.
        tags: The tags to choose from.
    """

    def __init__(self, weights: Mapping[str, Mapping[str, float]], tagdict: dict[str, str], tags: list[str]) -> None:
        choices, chosen = sorted(tags, reverse=True), set(tags)
        self._tags = list(dict.fromkeys([*choices, *tagdict.values(), *_START]))
        self._numbers = {tag: number for number, tag in enumerate(self._tags)}
        self._tagdict = tagdict
        self._rows = {feature: row for row, feature in enumerate(weights, start=1)}
        self._weights = np.zeros((len(weights) + 1, len(choices)))
        cells = [
            (row, self._numbers[tag], weight)
            for row, scores in enumerate(weights.values(), start=1)
            for tag, weight in scores.items()
            if tag in chosen
        ]
        rows, places, values = zip(*cells, strict=True) if cells else ((), (), ())
        self._weights[list(rows), list(places)] = values
        self._last = self._find(f"i-1 tag {tag}" for tag in self._tags)
        self._before = self._find(f"i-2 tag {tag}" for tag in self._tags)
        both = self._find(f"i tag+i-2 tag {last} {before}" for last in self._tags for before in self._tags)
        self._both = both.reshape(len(self._tags), len(self._tags))

    @classmethod
    def load(cls, folder: Traversable) -> "Perceptron":
        """Read the three JSON files of NLTK's package.

        Raises:
            OSError: If one is missing.
            ValueError: If one is not whole.
        """
        files = (f"averaged_perceptron_tagger_eng.{part}.json" for part in ("weights", "tagdict", "classes"))
        return cls(*(json.loads((folder / file).read_bytes()) for file in files))

    def tag(self, sentences: Sequence[list[str]]) -> list[list[str]]:
        """The tag of each word of each sentence, as ``nltk.pos_tag`` gives it."""
        words = self._look_up(chain.from_iterable(sentences))
        longest_first = sorted(range(len(sentences)), key=lambda place: -len(sentences[place]))
        tags: list[list[str]] = [[] for _ in sentences]
        first = 0
        while first < len(sentences):
            longest = len(sentences[longest_first[first]])
            places = longest_first[first : first + max(1, _AT_ONCE // max(1, longest))]
            first += len(places)
            chosen = self._tag_together([sentences[place] for place in places], words)
            for place, row in zip(places, chosen.tolist(), strict=True):
                tags[place] = [self._tags[tag] for tag in row[: len(sentences[place])]]
        return tags

    def _tag_together(self, sentences: list[list[str]], words: _Words) -> np.ndarray:
        """Numbers of tags [sentences, words], of sentences in the order of their lengths, the longest first."""
        lengths = np.array([len(forms) for forms in sentences])
        context = np.zeros((len(sentences), lengths[0] + len(_EDGES)), np.int64)
        for row, forms in zip(context, sentences, strict=True):
            row[: len(forms) + len(_EDGES)] = [0, 1, *(words.numbers[form] for form in forms), 2, 3]
        chosen = np.empty((len(sentences), lengths[0] + 2), np.int64)
        chosen[:, 0], chosen[:, 1] = self._numbers[_START[1]], self._numbers[_START[0]]
        for position in range(lengths[0]):
            among = np.count_nonzero(lengths > position)
            around, tags_before = context[:among, position : position + 5], chosen[:among, position : position + 2]
            tags = words.fixed[around[:, 2]]
            undecided = np.flatnonzero(tags == _OPEN)
            tags[undecided] = self._best(around[undecided], tags_before[undecided], words)
            chosen[:among, position + 2] = tags
        return chosen[:, 2:]

    def _best(self, around: np.ndarray, tags_before: np.ndarray, words: _Words) -> np.ndarray:
        """The tags of words [words], each in the middle of five [words, 5], after two tags [words, 2]."""
        before, last = tags_before.T
        second_left, left, word, right, second_right = words.features[around.T].transpose(0, 2, 1)
        named = zip(last.tolist(), around[:, 2].tolist(), strict=True)
        with_word = self._find(f"i-1 tag+i word {self._tags[tag]} {words.contexts[number]}" for tag, number in named)
        scores = np.zeros((len(around), self._weights.shape[1]))
        scores += self._weights[self._rows.get("bias", 0)]
        for rows in (
            *word[:2],
            self._last[last],
            self._before[before],
            self._both[last, before],
            word[2],
            with_word,
            *left[3:5],
            second_left[5],
            *right[6:8],
            second_right[8],
        ):
            scores += self._weights[rows]
        best: np.ndarray = scores.argmax(axis=1)
        return best

    def _look_up(self, forms: Iterable[str]) -> _Words:
        distinct = list(dict.fromkeys(forms))
        contexts = [*_EDGES, *map(_normalize, distinct)]
        tags = [self._tagdict.get(form) for form in distinct]
        features = self._find(
            feature
            for form, context in zip((*_EDGES, *distinct), contexts, strict=True)
            for feature in _features(form, context)
        )
        return _Words(
            numbers={form: number for number, form in enumerate(distinct, start=len(_EDGES))},
            contexts=contexts,
            fixed=np.array([*[_OPEN] * len(_EDGES), *(self._numbers[tag] if tag else _OPEN for tag in tags)]),
            features=features.reshape(len(contexts), -1),
        )

    def _find(self, features: Iterable[str]) -> np.ndarray:
        """The row of each feature's weights, that of the zeros where it has none."""
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
