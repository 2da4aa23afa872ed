"""Sentences and words of a text with their offsets: NLTK's Treebank words."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nltk.tokenize import NLTKWordTokenizer

SentenceSpans = Callable[[str], Iterable[tuple[int, int]]]
"""Splits one line into sentences: (start, end) of each."""

_LINE = re.compile(r"[^\r\n]+")
_WORD = re.compile(r"\S+")


class Sentence(NamedTuple):
    """Words in order, none overlapping; ``text[start:end]`` of the whole text is the word as written.

    Attributes:
        forms: Each word as taggers expect it: double quotes are `` and ''.
    """

    forms: list[str]
    starts: list[int]
    ends: list[int]


def split_sentences(text: str, sentence_spans: SentenceSpans) -> Iterator[Sentence]:
    """Split a text into the sentences that have a word, and each into NLTK's Treebank words.

    A sentence never crosses the end of a line, so the turns of a dialogue stay separate.
    """
    for line in _LINE.finditer(text):
        for start, end in sentence_spans(line.group()):
            sentence = line.group()[start:end]
            plain = sentence.isascii() and sentence.isprintable()
            forms: list[str] = word_tokenizer(plain=plain).tokenize(sentence)
            spans = _locate(forms, sentence)
            if spans is None:
                forms, spans = _by_space(sentence)
            if forms:
                shift = line.start() + start
                yield Sentence(forms, [shift + start for start, _ in spans], [shift + end for _, end in spans])


@cache
def word_tokenizer(*, plain: bool) -> "NLTKWordTokenizer":
    """Return NLTK's tokenizer without its time limit, by which words would depend on the load of the machine.

    In plain text, printable ASCII alone, Python's regular expressions find what NLTK's do, in less time. Elsewhere they
    differ in spaces, digits, word characters, and the other case of a letter.
    """
    from nltk import redos
    from nltk.tokenize import NLTKWordTokenizer

    def unlimited(pattern: "redos.TimedPattern", replacement: str) -> tuple[object, str]:
        return re.compile(pattern.pattern) if plain else redos.compile(pattern, timeout=None), replacement

    tokenizer = NLTKWordTokenizer()
    for name in ("STARTING_QUOTES", "PUNCTUATION", "ENDING_QUOTES"):
        setattr(tokenizer, name, [unlimited(*rule) for rule in getattr(tokenizer, name)])
    for name in ("PARENS_BRACKETS", "DOUBLE_DASHES"):
        setattr(tokenizer, name, unlimited(*getattr(tokenizer, name)))
    return tokenizer


def _locate(forms: list[str], sentence: str) -> list[tuple[int, int]] | None:
    """Return the span of each form, or None if NLTK changed more than spaces and quotes."""
    spans, position = [], 0
    for form in forms:
        match = _WORD.search(sentence, position)
        if match is None:
            return None
        start = match.start()
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
