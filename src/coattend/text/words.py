"""Sentences and words of a text, with the place of each word in it."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from coattend.text import treebank

SentenceSpans = Callable[[str], Iterable[tuple[int, int]]]
"""Finds the sentences of one line: (start, end) of each."""

_LINE = re.compile(r"[^\r\n]+")
_WORD = re.compile(r"\S+")


class Sentence(NamedTuple):
    """Words in order, none overlapping.

    Attributes:
        forms: Each word as taggers know it: double quotes are `` and ''.
        starts: Offset of each word in the whole text, in code points.
        ends: Its end, exclusive; ``text[start:end]`` is the word as written.
    """

    forms: list[str]
    starts: list[int]
    ends: list[int]


def sentences(text: str, sentence_spans: SentenceSpans) -> Iterator[Sentence]:
    """Split a text into sentences and each into NLTK's Treebank words.

    A sentence never goes over the end of a line, so the turns of a dialogue stay apart.

    Args:
        text: Any text.
        sentence_spans: Finds the sentences of one line.

    Yields:
        The sentences that have a word.
    """
    for line in _LINE.finditer(text):
        for start, end in sentence_spans(line.group()):
            sentence = line.group()[start:end]
            forms = treebank.forms(sentence)
            spans = _locate(forms, sentence)
            if spans is None:
                forms, spans = _by_space(sentence)
            if forms:
                shift = line.start() + start
                yield Sentence(forms, [shift + start for start, _ in spans], [shift + end for _, end in spans])


def _locate(forms: list[str], sentence: str) -> list[tuple[int, int]] | None:
    """The span of each form, or None where NLTK changed more than spaces and quotes."""
    spans, position = [], 0
    for form in forms:
        found = _WORD.search(sentence, position)
        if found is None:
            return None
        start = found.start()
        if sentence.startswith(form, start):
            position = start + len(form)
        elif form in ("``", "''") and sentence[start] == '"':
            position = start + 1
        elif form == "``" and sentence.startswith("''", start):
            position = start + 2
        else:
            return None
        spans.append((start, position))
    return spans if _WORD.search(sentence, position) is None else None


def _by_space(sentence: str) -> tuple[list[str], list[tuple[int, int]]]:
    words = list(_WORD.finditer(sentence))
    return [word.group() for word in words], [word.span() for word in words]
