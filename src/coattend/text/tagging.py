"""Which tagger tags, and what it makes of a text."""

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, Protocol

from coattend.errors import CoattendError
from coattend.parameters import TaggingParameters
from coattend.text import nltk_data
from coattend.text.nltk_tagger import NltkTagger
from coattend.text.tagset import Tagset, tagset
from coattend.text.textblob_tagger import TextblobTagger
from coattend.text.words import Sentence, sentences

VERSION = 1
"""Raised whenever this package's own code would give another word or tag to some text."""


class Tagger(Protocol):
    """Finds sentences and tags their words.

    Attributes:
        name: What a run names it.
    """

    name: str

    @property
    def digest(self) -> str:
        """Equal only where the same data would be used."""

    def sentence_spans(self, line: str) -> Iterable[tuple[int, int]]:
        """Start and end of each sentence of one line."""

    def tag(self, sentences: Sequence[list[str]]) -> list[list[str]]:
        """The tag of each word of each sentence."""


class TaggedWords(NamedTuple):
    """Words of a text in order, none overlapping.

    Attributes:
        starts: Offset of each word in code points.
        ends: Its end, exclusive.
        tag_ids: Its tag.
    """

    starts: list[int]
    ends: list[int]
    tag_ids: list[int]


@dataclass(frozen=True)
class TextTagger:
    """A tagger with its settings, ready to use in any process.

    Attributes:
        tagger: The tagger that was found.
        tagset: Gives its tags their ids.
        lowercase: Whether words are lower-cased before they are tagged.
    """

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
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()

    def __call__(self, text: str) -> TaggedWords:
        """Tag any text, sentence by sentence."""
        return self.many([text])[0]

    def many(self, texts: Sequence[str]) -> list[TaggedWords]:
        """Tag each of some texts, faster than one after the other."""
        found = [list(sentences(text, self.tagger.sentence_spans)) for text in texts]
        forms = [sentence.forms for text in found for sentence in text]
        if self.lowercase:
            forms = [[form.lower() for form in one] for one in forms]
        tags = iter(self.tagger.tag(forms))
        return [self._joined(text, tags) for text in found]

    def _joined(self, found: list[Sentence], tags: Iterator[list[str]]) -> TaggedWords:
        words = TaggedWords([], [], [])
        for sentence in found:
            words.starts.extend(sentence.starts)
            words.ends.extend(sentence.ends)
            words.tag_ids.extend(self.tagset.ids(next(tags)))
        return words


def resolve(tagging: TaggingParameters) -> TextTagger:
    """Find the tagger of a profile, fetching NLTK's data if need be.

    Args:
        tagging: The profile. ``auto`` takes NLTK's tagger, and textblob's with a warning where NLTK's data cannot be
            had.

    Raises:
        CoattendError: If ``nltk`` is asked for and its data cannot be had.
    """
    tagger = TextblobTagger() if tagging.tagger == "textblob" else _nltk() or _instead(tagging.tagger)
    return TextTagger(tagger, tagset(tagging.tagset), tagging.lowercase_before_tagging)


def _nltk() -> NltkTagger | None:
    if any(nltk_data.find(package) is None for package in nltk_data.PACKAGES) and not nltk_data.download():
        return None
    punkt, tagger = (nltk_data.find(package) for package in nltk_data.PACKAGES)
    assert punkt is not None and tagger is not None
    return NltkTagger(punkt, tagger)


def _instead(asked: str) -> TextblobTagger:
    names = " ".join(Path(package).name for package in nltk_data.PACKAGES)
    cure = (
        f"Run `python -m nltk.downloader {names}` where there is a network, "
        f"or put {' and '.join(nltk_data.PACKAGES)} into {nltk_data.raw_folder()}"
    )
    problem = "NLTK's tagger needs data that is neither found nor downloadable"
    if asked == "nltk":
        raise CoattendError(problem, where="tagger 'nltk'", cure=f"{cure}, or set `tagger: auto`")
    _warn(f"{problem}; textblob's lexicon tags instead, less well. {cure}")
    return TextblobTagger()


@cache
def _warn(message: str) -> None:
    # Every benchmark asks again; once is enough.
    logging.getLogger(__name__).warning(message)
