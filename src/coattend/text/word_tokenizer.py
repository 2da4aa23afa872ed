"""Sentences and words of a text with their offsets: NLTK's Treebank words, several times faster.

NLTK's own rules are applied, each only to texts that it can change.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Union

if TYPE_CHECKING:
    from nltk.redos import TimedPattern

SentenceSpans = Callable[[str], Iterable[tuple[int, int]]]
"""Splits one line into sentences: (start, end) of each."""
Pattern = Union[re.Pattern[str], "TimedPattern"]

_LINE = re.compile(r"[^\r\n]+")
_WORD = re.compile(r"\S+")

# NLTK's patterns, and for each the substrings of which every match has one, in lower case; read off the patterns, and
# tested. A pattern that is missing here, as of another version, is searched in every text by NLTK's engine.
_NEEDS = {
    r"([«“‘„]|[`]+)": [*"«“‘„`"],
    r"^\"": ['"'],
    r"(``)": ["``"],
    r"([ \(\[{<])(\"|\'{2})": ['"', "''"],
    r"(?i)(?<!\w)(\')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)": ["'"],
    r"""([^\.])(\.)([\]\)}>"\'»”’ ]*+)\s*$""": ["."],
    r"([:,])([^\d])": [":", ","],
    r"([:,])$": [":", ","],
    r"\.{2,}": [".."],
    r"[;@#$%&]": [*";@#$%&"],
    r"[\u2012-\u2015]": [*"\u2012\u2013\u2014\u2015"],
    r"""([^\.])(\.)([\]\)}>"\']*)\s*$""": ["."],
    r"[?!]": ["?", "!"],
    r"([^'])' ": ["' "],
    r"[*]": ["*"],
    r"[\]\[\(\)\{\}\<\>]": [*"][(){}<>"],
    r"--": ["--"],
    r"([»”’])": [*"»”’"],
    r"''": ["''"],
    r'"': ['"'],
    r"\s+": [""],
    r"([^' ])('[sS]|'[mM]|'[dD]|') ": ["'"],
    r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ": ["'"],
    r"(?i)\b(can)(?#X)(not)\b": ["cannot"],
    r"(?i)\b(d)(?#X)('ye)\b": ["d'ye"],
    r"(?i)\b(gim)(?#X)(me)\b": ["gimme"],
    r"(?i)\b(gon)(?#X)(na)\b": ["gonna"],
    r"(?i)\b(got)(?#X)(ta)\b": ["gotta"],
    r"(?i)\b(lem)(?#X)(me)\b": ["lemme"],
    r"(?i)\b(more)(?#X)('n)\b": ["more'n"],
    r"(?i)\b(wan)(?#X)(na)(?=\s)": ["wanna"],
    r"(?i) ('t)(?#X)(is)\b": [" 'tis"],
    r"(?i) ('t)(?#X)(was)\b": [" 'twas"],
}


class Sentence(NamedTuple):
    """Words in order, none overlapping.

    Attributes:
        forms: Each word as taggers expect it: double quotes are `` and ''.
        starts: Offset of each word in the whole text, in code points.
        ends: Its end, exclusive; ``text[start:end]`` is the word as written.
    """

    forms: list[str]
    starts: list[int]
    ends: list[int]


def split_sentences(text: str, sentence_spans: SentenceSpans) -> Iterator[Sentence]:
    """Split a text into sentences and each into NLTK's Treebank words.

    A sentence never crosses the end of a line, so the turns of a dialogue stay separate.

    Args:
        text: Any text.
        sentence_spans: Splits one line into sentences.

    Yields:
        The sentences that have a word.
    """
    for line in _LINE.finditer(text):
        for start, end in sentence_spans(line.group()):
            sentence = line.group()[start:end]
            forms = treebank_words(sentence)
            spans = _locate(forms, sentence)
            if spans is None:
                forms, spans = _by_space(sentence)
            if forms:
                shift = line.start() + start
                yield Sentence(forms, [shift + start for start, _ in spans], [shift + end for _, end in spans])


def treebank_words(sentence: str) -> list[str]:
    """Split a sentence into the words of ``nltk.tokenize.NLTKWordTokenizer().tokenize``.

    Python's regular expressions are faster than NLTK's and differ from them outside of printable ASCII: in spaces,
    digits, word characters, and the other case of a letter. So they are used for printable ASCII alone.
    """
    plain = sentence.isascii() and sentence.isprintable()
    rules = _rules(plain)
    text = _apply(rules.padded, f" {_apply(rules.initial, sentence)} ")
    lower = text.lower()
    # Contractions ignore case, which the substrings of other rules do not.
    if not plain or any(need in lower for rule in rules.contractions for need in rule.needs):
        for pattern, replacement, _ in rules.contractions:
            text = pattern.sub(replacement, text)
    return text.split()


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


class _Rule(NamedTuple):
    """A substitution, and the substrings of which a text that it changes has one."""

    pattern: Pattern
    replacement: str
    needs: tuple[str, ...]


class _Rules(NamedTuple):
    """NLTK's three groups of rules, in its order: for the sentence, the padded sentence, and contractions."""

    initial: list[_Rule]
    padded: list[_Rule]
    contractions: list[_Rule]


def _apply(rules: list[_Rule], text: str) -> str:
    for pattern, replacement, needs in rules:
        # In the current text: a rule may need the result of an earlier one, such as `` for ".
        for need in needs:
            if need in text:
                text = pattern.sub(replacement, text)
                break
    return text


@cache
def _rules(plain: bool) -> _Rules:
    from nltk.tokenize import NLTKWordTokenizer

    nltk_rules = NLTKWordTokenizer()
    initial = [
        *nltk_rules.STARTING_QUOTES,
        *nltk_rules.PUNCTUATION,
        nltk_rules.PARENS_BRACKETS,
        nltk_rules.DOUBLE_DASHES,
    ]
    contractions = [(pattern, r" \1 \2 ") for pattern in (*nltk_rules.CONTRACTIONS2, *nltk_rules.CONTRACTIONS3)]
    groups = (initial, nltk_rules.ENDING_QUOTES, contractions)
    return _Rules(*([_rule(pattern, replacement, plain) for pattern, replacement in group] for group in groups))


def _rule(pattern: Pattern, replacement: str, plain: bool) -> _Rule:
    needs = _NEEDS.get(pattern.pattern)
    if plain and needs is not None:
        return _Rule(re.compile(pattern.pattern), replacement, tuple(need for need in needs if need.isascii()))
    return _Rule(_without_time_limit(pattern), replacement, ("",) if needs is None else tuple(needs))


def _without_time_limit(pattern: Pattern) -> Pattern:
    """With NLTK's time limit, words would depend on the load of the machine, and take half as long again."""
    from nltk import redos

    if not isinstance(pattern, redos.TimedPattern):
        return pattern
    unlimited: Pattern = redos.compile(pattern, timeout=None)
    return unlimited
