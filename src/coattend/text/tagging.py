"""Taggers and their settings: words, offsets and tag ids of any text."""

import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

from coattend.config import TaggingParameters
from coattend.errors import CoattendError
from coattend.text.hashing import json_digest
from coattend.text.jieba import JiebaTagger
from coattend.text.nltk import PACKAGES, NltkTagger, download_packages, find_package, raw_data_folder
from coattend.text.tagset import Tagset, tagset
from coattend.text.textblob import TextblobTagger
from coattend.text.word_tokenizer import Sentence

VERSION = 1
"""Increased if this package's own code gives another word or tag to some text."""


REMEMBERED = 64
"""Texts whose tags a `RememberingTagger` keeps."""


class Tagger(Protocol):
    """A splitter of sentences and words, and tagger of the words; logs and tables have its name."""

    name: str

    @property
    def digest(self) -> str:
        """A hash of its data."""

    def sentence_spans(self, line: str) -> Iterable[tuple[int, int]]:
        """Yield start and end of each sentence of one line."""

    def split(self, text: str) -> Iterable[Sentence]:
        """Split a text into sentences and words."""

    def tag(self, sentences: Sequence[list[str]]) -> list[list[str]]:
        """Tag the words of each sentence."""


@dataclass(frozen=True)
class WholeTexts:
    """A stand-in where neither words nor tags are read: each text counts as one word, with a tag that no tagset has."""

    name = "none"
    digest = ""

    def sentence_spans(self, line: str) -> Iterable[tuple[int, int]]:
        """Yield the whole line."""
        yield 0, len(line)

    def split(self, text: str) -> Iterable[Sentence]:
        """Yield the whole text as one word."""
        yield Sentence([text], [0], [len(text)])

    def tag(self, sentences: Sequence[list[str]]) -> list[list[str]]:
        """Give each word no tag."""
        return [[""] * len(words) for words in sentences]


class TaggedWords(NamedTuple):
    """Words of a text in order, none overlapping; offsets count code points, ends are exclusive."""

    starts: list[int]
    ends: list[int]
    tag_ids: list[int]


@dataclass(frozen=True)
class TextTagger:
    """A tagger with its settings, ready to use in any process; words may be lower-cased before they are tagged."""

    tagger: Tagger
    tagset: Tagset
    lowercase: bool = False

    @property
    def name(self) -> str:
        """Name of the tagger, for logs and tables."""
        return self.tagger.name

    @cached_property
    def digest(self) -> str:
        """A hash of everything that decides about words and tags."""
        settings = [VERSION, version("nltk"), self.name, self.tagger.digest, self.tagset.names, self.lowercase]
        return json_digest(settings)

    def __call__(self, text: str) -> TaggedWords:
        """Tag a text, sentence by sentence."""
        return self.tag_all([text])[0]

    def tag_all(self, texts: Sequence[str]) -> list[TaggedWords]:
        """Tag several texts, faster than one after the other."""
        sentences = [list(self.tagger.split(text)) for text in texts]
        forms = [sentence.forms for of_text in sentences for sentence in of_text]
        if self.lowercase:
            forms = [[form.lower() for form in words] for words in forms]
        tags = iter(self.tagger.tag(forms))
        return [self._join(of_text, tags) for of_text in sentences]

    def _join(self, sentences: list[Sentence], tags: Iterator[list[str]]) -> TaggedWords:
        words = TaggedWords([], [], [])
        for sentence in sentences:
            words.starts.extend(sentence.starts)
            words.ends.extend(sentence.ends)
            words.tag_ids.extend(self.tagset.ids(next(tags)))
        return words


@dataclass(frozen=True)
class RememberingTagger(TextTagger):
    """A tagger that tags the texts that were asked about last only once; threads may share it."""

    _known: "OrderedDict[str, TaggedWords]" = field(default_factory=OrderedDict, repr=False, compare=False)
    _turn: Lock = field(default_factory=Lock, repr=False, compare=False)

    def tag_all(self, texts: Sequence[str]) -> list[TaggedWords]:
        """Tag several texts, those that it remembers without effort."""
        with self._turn:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            tagged = dict(self._known) | dict(zip(new, super().tag_all(new), strict=True))
            for text in texts:
                self._known[text] = tagged[text]
                self._known.move_to_end(text)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return [tagged[text] for text in texts]


def load_tagger(tagging: TaggingParameters) -> TextTagger:
    """Load the tagger of a profile, and download NLTK's data if need be.

    Without that data, ``auto`` takes textblob's tagger, with a warning; ``nltk`` is an error, and so is ``jieba``
    without its package.
    """
    tagger: Tagger
    if tagging.tagger == "jieba":
        tagger = JiebaTagger()
    else:
        tagger = TextblobTagger() if tagging.tagger == "textblob" else _nltk_tagger() or _fallback(tagging.tagger)
    return TextTagger(tagger, tagset(tagging.tagset), tagging.lowercase_before_tagging)


def load_named_tagger(name: str, tagging: TaggingParameters) -> TextTagger:
    """Load the tagger that tables and trained readers name, with the settings of a profile, whatever tagger the profile
    would choose here and now.

    Raises:
        CoattendError: If no tagger has that name, or NLTK's data is neither found nor downloadable.
    """
    tagger: Tagger | None = TextblobTagger() if name == TextblobTagger.name else None
    if name == JiebaTagger.name:
        tagger = JiebaTagger()
    if name == NltkTagger.name:
        tagger = _nltk_tagger()
        if tagger is None:
            raise CoattendError("its data is neither found nor downloadable", where=name, cure=_nltk_data_cure())
    if tagger is None:
        raise CoattendError("there is no such tagger", where=name, cure="Use the version that it was trained with")
    return TextTagger(tagger, tagset(tagging.tagset), tagging.lowercase_before_tagging)


def _nltk_tagger() -> NltkTagger | None:
    if any(find_package(package) is None for package in PACKAGES) and not download_packages():
        return None
    punkt, tagger = map(find_package, PACKAGES)
    assert punkt is not None and tagger is not None
    return NltkTagger(punkt, tagger)


def _fallback(requested: str) -> TextblobTagger:
    cure = _nltk_data_cure()
    problem = "NLTK's tagger needs data that is neither found nor downloadable"
    if requested == "nltk":
        raise CoattendError(problem, where="tagger 'nltk'", cure=f"{cure}, or set `tagger: auto`")
    _warn_once(f"{problem}; textblob's lexicon tags instead, less well. {cure}")
    return TextblobTagger()


def _nltk_data_cure() -> str:
    names = " ".join(Path(package).name for package in PACKAGES)
    fetch = f"Run `python -m nltk.downloader {names}` where there is a network"
    return f"{fetch}, or put {' and '.join(PACKAGES)} into {raw_data_folder()}"


@cache
def _warn_once(message: str) -> None:
    # Every benchmark loads the tagger again.
    logging.getLogger(__name__).warning(message)
