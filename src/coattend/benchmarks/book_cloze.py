"""Cloze questions from books, the way the Children's Book Test was made (Hill et al. 2016; AoA Reader's slides).

Twenty sentences are the passage; in the next one a word is missing that stands in them; nine other words of the passage
are the wrong candidates. The rule for words, fixed before anything was measured on what it gives:

- A *name* is a word that is tagged as a proper noun, written with one capital, and stands in the passage at least once
  where a sentence does not begin (there every word has a capital). A *noun* is tagged as a common noun and written
  small. Both consist of two letters or more and nothing else.
- NE: the answer is a name. The other candidates are the passage's other names, by lot if there are more than nine;
  where there are fewer, nouns of the passage fill up, as in the published set. With less than two there is no question.
- CN: the answer and the other candidates are nouns.
- The answer stands in the passage, and in the query only once. It is drawn by lot among the words that fit, and so are
  the other candidates. A query has at least five words.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Literal

from coattend.benchmarks.books import paragraphs
from coattend.benchmarks.cbt import SENTENCES, written
from coattend.benchmarks.files import decode, read_bytes
from coattend.text.tagging import Tagger
from coattend.text.words import sentences

Kind = Literal["NE", "CN"]
Words = list[tuple[str, str]]
"""The words of a sentence with their tags."""

WRONG = 9
FEWEST_OTHER_NAMES = 2
FEWEST_WORDS = 5


def read_book(path: Path, tagger: Tagger) -> list[Words]:
    """The sentences of a book, tagged.

    Raises:
        CoattendError: If the file cannot be read, or is not UTF-8.
    """
    text = decode(read_bytes(path), path)
    forms = [one.forms for block in paragraphs(text) for one in sentences(block, tagger.sentence_spans)]
    return [list(zip(words, tags, strict=True)) for words, tags in zip(forms, tagger.tag(forms), strict=True)]


def clozes(book: list[Words], kind: Kind, *, step: int, seed: int) -> Iterator[str]:
    """Questions of one kind in the Children's Book Test's format, in the order of the book.

    Args:
        book: Its sentences.
        kind: NE or CN.
        step: From so many sentences to so many begins a new passage; 21: no sentence is used twice.
        seed: The same seed draws the same questions from the same book.
    """
    content = "\n".join(form for words in book for form, _ in words)
    chance = Random(f"{seed} {kind} {hashlib.sha256(content.encode()).hexdigest()}")
    for start in range(0, len(book) - SENTENCES, step):
        passage, query = book[start : start + SENTENCES], book[start + SENTENCES]
        drawn = _draw(passage, query, kind, chance)
        if drawn is not None:
            yield _written(passage, query, *drawn)


def _draw(passage: list[Words], query: Words, kind: Kind, chance: Random) -> tuple[str, list[str]] | None:
    """An answer and all candidates in alphabetical order, or None where the rule finds none."""
    names = {form for words in passage for form, tag in _behind_the_first(words) if _is_name(form, tag)}
    called = {name.lower() for name in names}
    nouns = {form for words in passage for form, tag in words if _is_noun(form, tag)} - called
    lower = [form.lower() for form, _ in query]
    fits = {form for form, tag in query if lower.count(form.lower()) == 1 and _is_kind(kind, form, tag)}
    answers = sorted(fits & (names if kind == "NE" else nouns))
    if len(query) < FEWEST_WORDS or not answers:
        return None
    answer = chance.choice(answers)
    pools = ((names, FEWEST_OTHER_NAMES), (nouns, 0)) if kind == "NE" else ((nouns, WRONG),)
    wrong: list[str] = []
    for pool, fewest in pools:
        others = sorted(pool - {answer})
        if len(others) < fewest:
            return None
        wrong += chance.sample(others, min(len(others), WRONG - len(wrong)))
    return (answer, sorted([answer, *wrong])) if len(wrong) == WRONG else None


def _behind_the_first(words: Words) -> Words:
    """The words behind a sentence's first one, which may stand behind a quotation mark."""
    first = next((place for place, (form, _) in enumerate(words) if form[0].isalnum()), len(words))
    return words[first + 1 :]


def _is_kind(kind: Kind, form: str, tag: str) -> bool:
    return _is_name(form, tag) if kind == "NE" else _is_noun(form, tag)


def _is_name(form: str, tag: str) -> bool:
    return tag in ("NNP", "NNPS") and len(form) > 1 and form.isalpha() and form[0].isupper() and form[1:].islower()


def _is_noun(form: str, tag: str) -> bool:
    return tag in ("NN", "NNS") and len(form) > 1 and form.isalpha() and form.islower()


def _written(passage: list[Words], query: Words, answer: str, candidates: list[str]) -> str:
    sentences_of_passage = [" ".join(form for form, _ in words) for words in passage]
    asked = " ".join("XXXXX" if form == answer else form for form, _ in query)
    return written(sentences_of_passage, asked, answer, candidates)


def split_books(digests: Mapping[Path, str], *, dev: float, test: float) -> dict[str, list[Path]]:
    """Books by split, chosen by a hash of their content, so that neither names nor order matter.

    Args:
        digests: Files, with hashes of their content.
        dev: Share of the books, at least one.
        test: Share of the books, at least one unless it is 0. One is left to train on.

    Returns:
        Split to its books.
    """
    ordered, count = sorted(digests, key=digests.__getitem__), len(digests)
    held = min(max(1, round(dev * count)), count - (2 if test else 1))
    kept_back = min(max(1, round(test * count)), count - held - 1) if test else 0
    return {"dev": ordered[:held], "test": ordered[held : held + kept_back], "train": ordered[held + kept_back :]}
