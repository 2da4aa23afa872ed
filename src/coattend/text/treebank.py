"""NLTK's Treebank words several times faster: its own rules, each only where it can find something."""

import re
from functools import cache
from typing import Any, NamedTuple

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
"""NLTK's patterns, and what every match of each has one of, in lower case; read off the patterns, and tested.

Of a pattern that is not here nothing is taken for granted: it is searched everywhere, by NLTK's engine.
"""


class _Rule(NamedTuple):
    pattern: Any
    becomes: str
    needs: tuple[str, ...]


class _Rules(NamedTuple):
    """NLTK's three groups of rules, in its order; the last takes no notice of case."""

    before: list[_Rule]
    padded: list[_Rule]
    contractions: list[_Rule]


def forms(sentence: str) -> list[str]:
    """The words of a sentence, equal to those of ``nltk.tokenize.NLTKWordTokenizer().tokenize``.

    Python's engine is faster than NLTK's and differs from it outside of printable ASCII: in what is a space, a digit,
    a part of a word, or the other case of a letter. So it is used there alone.
    """
    plain = sentence.isascii() and sentence.isprintable()
    rules = _rules(plain)
    text = _apply(rules.padded, f" {_apply(rules.before, sentence)} ")
    lowered = text.lower()
    if not plain or any(need in lowered for rule in rules.contractions for need in rule.needs):
        for pattern, becomes, _ in rules.contractions:
            text = pattern.sub(becomes, text)
    return text.split()


def _apply(rules: list[_Rule], text: str) -> str:
    for pattern, becomes, needs in rules:
        # The text as it is now: a rule may need what an earlier one wrote, such as `` for ".
        for need in needs:
            if need in text:
                text = pattern.sub(becomes, text)
                break
    return text


@cache
def _rules(plain: bool) -> _Rules:
    from nltk.tokenize import NLTKWordTokenizer

    nltks = NLTKWordTokenizer()
    before = [*nltks.STARTING_QUOTES, *nltks.PUNCTUATION, nltks.PARENS_BRACKETS, nltks.DOUBLE_DASHES]
    contractions = [(pattern, r" \1 \2 ") for pattern in (*nltks.CONTRACTIONS2, *nltks.CONTRACTIONS3)]
    kinds = (before, nltks.ENDING_QUOTES, contractions)
    return _Rules(*([_rule(pattern, becomes, plain) for pattern, becomes in rules] for rules in kinds))


def _rule(pattern: Any, becomes: str, plain: bool) -> _Rule:
    needs = _NEEDS.get(pattern.pattern)
    if plain and needs is not None:
        return _Rule(re.compile(pattern.pattern), becomes, tuple(need for need in needs if need.isascii()))
    return _Rule(_unlimited(pattern), becomes, ("",) if needs is None else tuple(needs))


def _unlimited(pattern: Any) -> Any:
    """NLTK's pattern without its time limit.

    With it, words would depend on how busy the machine is, and take half as long again.
    """
    from nltk import redos

    return redos.compile(pattern, timeout=None) if isinstance(pattern, redos.TimedPattern) else pattern
