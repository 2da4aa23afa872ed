"""Cloze questions from books, the way the Children's Book Test was made (Hill et al. 2016; AoA Reader's slides).

Twenty sentences are the passage; the next one has a gap for a word that occurs in them; nine other words of the passage
are the wrong candidates. The rule for words, fixed before any measurement on its questions:

- A *name* is a word that is tagged as a proper noun, written with one capital, and stands in the passage at least once
  after the start of a sentence (at the start every word has a capital). A *noun* is tagged as a common noun and
  written small. Both consist of two letters or more and nothing else.
- NE: the answer is a name. The other candidates are the passage's other names, sampled if there are more than nine; if
  there are fewer, nouns of the passage fill up, as in the published set. With less than two there is no question.
- CN: the answer and the other candidates are nouns.
- The answer stands in the passage, and in the query only once. It is sampled among the words that fit, and so are the
  other candidates. A query has at least five words.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from random import Random
from typing import Literal, get_args

from coattend.config import BookParameters
from coattend.data.formats.cbt import SENTENCES, SPLITS, format_cloze
from coattend.data.formats.reading import decode, read_bytes
from coattend.data.raw_files import glob_files
from coattend.errors import CoattendError
from coattend.text.tagging import Tagger

Subset = Literal["NE", "CN"]
TaggedSentence = list[tuple[str, str]]
"""The words of a sentence with their tags."""

WRONG_CANDIDATES = 9
MIN_OTHER_NAMES = 2
MIN_QUERY_WORDS = 5

# Project Gutenberg's header and licence, and the publisher's notes.
_HEADER = re.compile(r"^(?:\*\*\* ?START OF .*|.*\*END\*.*)$", re.MULTILINE)
_LICENCE = re.compile(
    r"^(?:\*\*\* ?END OF |.{0,3}End of (?:the |this )?Project Gutenberg)", re.MULTILINE | re.IGNORECASE
)
_NOTE = re.compile(r"\[(?:Illustration|Transcriber)[^\]]*\]")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*$")
_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "_": None, "\ufeff": None})


def find_books(settings: BookParameters, raw_folder: Path, title: str) -> list[Path]:
    """List the books of a benchmark, at least one for each split."""
    folder = raw_folder / settings.folder
    books = glob_files(folder, settings.files)
    splits = 3 if settings.test else 2
    if len(books) < splits:
        problem = f"{title} needs {splits} books or more, one a split, and finds {len(books)}"
        cure = "Put plain-text books there, for example from www.gutenberg.org, or set COATTEND_RAW"
        raise CoattendError(f"{problem} (looked for {', '.join(settings.files)})", where=str(folder), cure=cure)
    return books


def read_book(path: Path, tagger: Tagger) -> list[TaggedSentence]:
    """Read and tag the sentences of a book."""
    text = decode(read_bytes(path), path)
    sentences = (tagger.split(paragraph) for paragraph in paragraphs(text))
    forms = [sentence.forms for sentence in chain.from_iterable(sentences)]
    return [list(zip(words, tags, strict=True)) for words, tags in zip(forms, tagger.tag(forms), strict=True)]


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a book in order, each on one line, without Project Gutenberg's header and licence.

    Headings, tables of contents, single lines of verse and credits are left out: paragraphs that do not end like a
    sentence, or have more capitals than small letters. Quotation marks become plain, and underscores, which mark
    italics, are removed.
    """
    lines = text.replace("\r\n", "\n").translate(_PLAIN)
    blocks = re.split(r"\n\s*\n", _NOTE.sub("", _body(lines)))
    joined = (" ".join(block.split()) for block in blocks)
    return [block for block in joined if _is_prose(block)]


def clozes(book: list[TaggedSentence], subset: Subset, *, step: int, seed: int) -> Iterator[str]:
    """Yield questions in the Children's Book Test's format, in the order of the book.

    A passage begins ``step`` sentences after the last; with 21 no sentence is used twice. The same seed samples the
    same questions from the same book.
    """
    # The content is part of the seed, so that another book of the same length gets other questions.
    content = "\n".join(form for words in book for form, _ in words)
    rng = Random(f"{seed} {subset} {hashlib.sha256(content.encode()).hexdigest()}")
    for start in range(0, len(book) - SENTENCES, step):
        passage, query = book[start : start + SENTENCES], book[start + SENTENCES]
        sample = _sample_candidates(passage, query, subset, rng)
        if sample is not None:
            answer, candidates = sample
            sentences = [" ".join(form for form, _ in words) for words in passage]
            with_gap = " ".join("XXXXX" if form == answer else form for form, _ in query)
            yield format_cloze(sentences, with_gap, answer, candidates)


def cloze_files(
    books: Mapping[Path, list[TaggedSentence]], digests: Mapping[Path, str], settings: BookParameters
) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the name of each raw file, and its questions."""
    for split, paths in split_books(digests, dev=settings.dev, test=settings.test).items():
        for subset in get_args(Subset):
            of_books = (clozes(books[path], subset, step=settings.step, seed=settings.seed) for path in paths)
            if paths:
                yield f"cbt/cbtest_{subset}_{SPLITS[split]}.txt", chain.from_iterable(of_books)


def split_books(digests: Mapping[Path, str], *, dev: float, test: float) -> dict[str, list[Path]]:
    """Assign books to splits by a hash of their content, so that neither names nor order matter.

    At least one book is left to train on, and one is in each scored split unless ``test``, a share as ``dev``, is 0.
    """
    ordered, count = sorted(digests, key=digests.__getitem__), len(digests)
    dev_count = min(max(1, round(dev * count)), count - (2 if test else 1))
    test_count = min(max(1, round(test * count)), count - dev_count - 1) if test else 0
    scored = dev_count + test_count
    return {"dev": ordered[:dev_count], "test": ordered[dev_count:scored], "train": ordered[scored:]}


def _body(text: str) -> str:
    # The old header's last line may follow a line that looks like the new header's.
    headers = [match.end() for match in _HEADER.finditer(text, 0, len(text) // 2)]
    text = text[headers[-1] :] if headers else text
    licence = _LICENCE.search(text)
    return text[: licence.start()] if licence else text


def _is_prose(block: str) -> bool:
    small = sum(letter.islower() for letter in block)
    capitals = sum(letter.isupper() for letter in block)
    return small > capitals and _SENTENCE_END.search(block) is not None


def _sample_candidates(
    passage: list[TaggedSentence], query: TaggedSentence, subset: Subset, rng: Random
) -> tuple[str, list[str]] | None:
    """Return an answer and all candidates in alphabetical order, or None if the rule permits no question."""
    names = {form for words in passage for form, tag in _after_first_word(words) if _is_name(form, tag)}
    nouns = {form for words in passage for form, tag in words if _is_noun(form, tag)}
    nouns -= {name.lower() for name in names}
    # The answer must not give itself away by another occurrence in the query.
    lower = [form.lower() for form, _ in query]
    fits = _is_name if subset == "NE" else _is_noun
    fitting = {form for form, tag in query if lower.count(form.lower()) == 1 and fits(form, tag)}
    answers = sorted(fitting & (names if subset == "NE" else nouns))
    if len(query) < MIN_QUERY_WORDS or not answers:
        return None
    answer = rng.choice(answers)
    pools = ((names, MIN_OTHER_NAMES), (nouns, 0)) if subset == "NE" else ((nouns, WRONG_CANDIDATES),)
    wrong: list[str] = []
    for pool, minimum in pools:
        words = sorted(pool - {answer})
        if len(words) < minimum:
            return None
        wrong += rng.sample(words, min(len(words), WRONG_CANDIDATES - len(wrong)))
    return (answer, sorted([answer, *wrong])) if len(wrong) == WRONG_CANDIDATES else None


def _after_first_word(words: TaggedSentence) -> TaggedSentence:
    """Return the words after a sentence's first one, which may follow a quotation mark."""
    first = next((index for index, (form, _) in enumerate(words) if form[0].isalnum()), len(words))
    return words[first + 1 :]


def _is_name(form: str, tag: str) -> bool:
    return tag in ("NNP", "NNPS") and len(form) > 1 and form.isalpha() and form[0].isupper() and form[1:].islower()


def _is_noun(form: str, tag: str) -> bool:
    return tag in ("NN", "NNS") and len(form) > 1 and form.isalpha() and form.islower()
