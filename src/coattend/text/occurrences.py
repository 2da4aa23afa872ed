"""Where the candidates for a missing word stand in a passage whose words are set apart by spaces."""

from collections import defaultdict
from collections.abc import Sequence


def occurrences(passage: str, candidates: Sequence[str]) -> list[tuple[int, ...]]:
    """The places of each candidate, as numbers of words from 0; none if it does not occur.

    Args:
        passage: As cloze benchmarks publish it: words and punctuation with spaces between.
        candidates: Single words.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(passage.split()):
        places[word].append(place)
    return [tuple(places.get(candidate, ())) for candidate in candidates]
