"""NLTK's averaged perceptron tagger on arrays: its weights, its tags, several times its speed."""

import json
from collections.abc import Mapping
from importlib.resources.abc import Traversable

import numpy as np

_START = ("-START-", "-START2-")
_END = ("-END-", "-END2-")


class Perceptron:
    """Greedy tagger of one sentence, left to right.

    Scores are added in NLTK's order and ties go to the last tag of the alphabet, as there, so that no rounding makes
    a difference.

    Args:
        weights: Feature to tag to weight.
        tagdict: Words that have one tag wherever they stand.
        tags: The tags to choose from.
    """

    def __init__(self, weights: Mapping[str, Mapping[str, float]], tagdict: dict[str, str], tags: list[str]) -> None:
        self._tagdict = tagdict
        self._tags = sorted(tags, reverse=True)
        self._rows = {feature: row for row, feature in enumerate(weights)}
        self._weights = np.zeros((len(weights), len(self._tags)))
        columns = {tag: column for column, tag in enumerate(self._tags)}
        cells = [
            (row, columns[tag], weight)
            for row, scores in enumerate(weights.values())
            for tag, weight in scores.items()
            if tag in columns
        ]
        rows, places, values = zip(*cells, strict=True) if cells else ((), (), ())
        self._weights[list(rows), list(places)] = values

    @classmethod
    def load(cls, folder: Traversable) -> "Perceptron":
        """Read the three JSON files of NLTK's package.

        Raises:
            OSError: If one is missing.
            ValueError: If one is not whole.
        """
        files = (f"averaged_perceptron_tagger_eng.{part}.json" for part in ("weights", "tagdict", "classes"))
        return cls(*(json.loads((folder / file).read_bytes()) for file in files))

    def tag(self, forms: list[str]) -> list[str]:
        """The tag of each word of a sentence, as ``nltk.pos_tag`` gives it."""
        context = [*_START, *map(_normalize, forms), *_END]
        before, last = _START[1], _START[0]
        tags = []
        for position, form in enumerate(forms):
            tag = self._tagdict.get(form) or self._best(_features(form, context, position + 2, last, before))
            tags.append(tag)
            before, last = last, tag
        return tags

    def _best(self, features: tuple[str, ...]) -> str:
        rows = [row for feature in features if (row := self._rows.get(feature)) is not None]
        best: str = self._tags[self._weights.take(rows, axis=0).sum(axis=0).argmax()]
        return best


def _normalize(form: str) -> str:
    if "-" in form and form[0] != "-":
        return "!HYPHEN"
    if form.isdigit() and len(form) == 4:
        return "!YEAR"
    return "!DIGITS" if form[:1].isdigit() else form.lower()


def _features(form: str, context: list[str], at: int, last: str, before: str) -> tuple[str, ...]:
    word, left, right = context[at], context[at - 1], context[at + 1]
    return (
        "bias",
        f"i suffix {form[-3:]}",
        f"i pref1 {form[:1]}",
        f"i-1 tag {last}",
        f"i-2 tag {before}",
        f"i tag+i-2 tag {last} {before}",
        f"i word {word}",
        f"i-1 tag+i word {last} {word}",
        f"i-1 word {left}",
        f"i-1 suffix {left[-3:]}",
        f"i-2 word {context[at - 2]}",
        f"i+1 word {right}",
        f"i+1 suffix {right[-3:]}",
        f"i+2 word {context[at + 2]}",
    )
