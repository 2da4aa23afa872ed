"""Sentences as cloze benchmarks publish them: lines, with spaces between words and around punctuation."""

from collections.abc import Iterable

from coattend.text.questions import BLANK, fill


def sentences_of(text: str) -> list[list[str]]:
    """The words of each line that has any."""
    return [words for line in text.splitlines() if (words := line.split())]


def distinct_sentences(texts: Iterable[str], *, max_words: int) -> list[list[str]]:
    """The sentences of many texts, each once: passages from one book overlap.

    Args:
        texts: The texts; no more of them are read than needed.
        max_words: Stop at the sentence with which there would be more words.

    Returns:
        The words of each, in the order of their first occurrence.
    """
    found: dict[tuple[str, ...], None] = {}
    total = 0
    for text in texts:
        for words in map(tuple, sentences_of(text)):
            if words in found:
                continue
            total += len(words)
            if total > max_words:
                return [list(words) for words in found]
            found[words] = None
    return [list(words) for words in found]


def filled(question: str, candidate: str) -> tuple[list[str], int, int]:
    """A question whose blank holds a candidate.

    Args:
        question: A question with a blank.
        candidate: One or more words.

    Returns:
        Its words, the first of the candidate's, and the place behind the last of them. Signs that touch the blank
        belong to the candidate's words.
    """
    text = fill(question, candidate)
    start = BLANK.search(question).start()  # type: ignore[union-attr]
    return text.split(), len(f"{text[:start]}_".split()) - 1, len(text[: start + len(candidate)].split())
