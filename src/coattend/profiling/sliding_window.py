"""The sliding window: an answer is where the question's words are thickest (Richardson et al. 2013, algorithm 1).

Without their distance score. A word weighs log(1 + 1 / how often it stands in the passage).
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Set

import numpy as np

LONGEST = 8
"""Words of the longest span that is answered with."""
_WORD = re.compile(r"\w+")
_STOP = re.compile(r"[.!?]\W*\s")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def option_scores(passage: list[str], asked: list[list[str]]) -> list[float]:
    """The heaviest window for each option, as long as there are different words in question and option.

    Args:
        passage: Its words.
        asked: For each option the words of question and option.
    """
    return [_heaviest(passage, set(words)) for words in asked]


def _heaviest(passage: list[str], wanted: set[str]) -> float:
    held = _held(passage, wanted)
    ends = np.minimum(np.arange(len(passage)) + len(wanted), len(passage))
    return float((held[ends] - held[:-1]).max(initial=0.0))


def span(passage: str, question: str, frequent: Set[str]) -> str:
    """The run of words around which the words of the question are heaviest.

    They are looked for in its sentence, as far to either side as the question is long (Rajpurkar et al. 2016 choose the
    sentence first, too). A run has no frequent word, none of the question, and nothing but spaces between its words.

    Args:
        passage: Its text.
        question: Its text.
        frequent: Words that are in no answer.

    Returns:
        A span of the passage; empty if all of its words are frequent or asked.
    """
    places = list(_WORD.finditer(passage))
    wanted = set(words_of(question))
    held = _held([place.group().lower() for place in places], wanted)
    sentences = _sentences(passage, places)
    heaviest, answer = -1.0, ""
    for first, end in _runs(passage, places, wanted | frequent):
        left = max(first - len(wanted), sentences[first])
        right = min(end + len(wanted), bisect_right(sentences, sentences[first]))
        weight = held[right] - held[left]
        if weight > heaviest:
            heaviest, answer = weight, passage[places[first].start() : places[end - 1].end()]
    return answer


def _held(words: list[str], wanted: Set[str]) -> np.ndarray:
    """The weight of the wanted words before each place, [n + 1]."""
    counts = Counter(words)
    weights = [np.log1p(1 / counts[word]) if word in wanted else 0.0 for word in words]
    return np.concatenate([[0.0], np.cumsum(weights)])


def _sentences(passage: str, places: list[re.Match[str]]) -> list[int]:
    """For each word the first word of its sentence, which ends at a stop with a space behind."""
    first: list[int] = []
    for place, word in enumerate(places):
        ends = not place or _STOP.search(passage, places[place - 1].end(), word.start())
        first.append(place if ends else first[-1])
    return first


def _runs(passage: str, places: list[re.Match[str]], left_out: Set[str]) -> Iterator[tuple[int, int]]:
    """First and end of the runs of words that may be an answer, with nothing but spaces between."""
    first = None
    for place, word in enumerate(places):
        may = word.group().lower() not in left_out
        apart = place and passage[places[place - 1].end() : word.start()].strip()
        if first is not None and (not may or apart or place - first == LONGEST):
            yield first, place
            first = None
        if may and first is None:
            first = place
    if first is not None:
        yield first, len(places)
