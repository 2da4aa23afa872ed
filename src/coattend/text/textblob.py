"""A tagger without downloads: the Brill lexicon and rules that textblob's wheel carries."""

import hashlib
import importlib.util
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from coattend.errors import CoattendError
from coattend.text.word_tokenizer import Sentence, split_sentences

_SENTENCE_END = re.compile(r"""(?<![.?!])[.?!]++["'”’)\]]*+\s++(?=["'“‘(\[]?[A-Z0-9])""")
_ABBREVIATION = re.compile(
    r"""(?<![^\s("'])(?:[A-HJ-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|[ap]\.m|(?:[A-Za-z]\.)+[A-Za-z])\.$"""
)
_FILES = ("en-lexicon.txt", "en-morphology.txt", "en-context.txt")


@dataclass(frozen=True)
class TextblobTagger:
    """Textblob's lexicon with Penn tags; unknown words by their form, all words corrected by their neighbours.

    A sentence ends after ``.``, ``?`` or ``!`` (and closing quotes or brackets) if a space and then a capital or a
    digit follow, unless the full stop belongs to an initial or a common abbreviation.
    """

    name = "textblob lexicon"

    @property
    def digest(self) -> str:
        """A hash of the data files and of textblob's version, whose code applies the rules."""
        content = hashlib.sha256(version("textblob").encode())
        for name in _FILES:
            content.update((_data_folder() / name).read_bytes())
        return content.hexdigest()

    def sentence_spans(self, line: str) -> Iterable[tuple[int, int]]:
        """Yield sentences by the rule above."""
        start = 0
        for end in _SENTENCE_END.finditer(line):
            if not _ABBREVIATION.search(line, max(start, end.start() - 16), end.start() + 1):
                yield start, end.end()
                start = end.end()
        yield start, len(line)

    def split(self, text: str) -> Iterable[Sentence]:
        """Split a text into sentences and NLTK's Treebank words."""
        return split_sentences(text, self.sentence_spans)

    def tag(self, sentences: Sequence[list[str]]) -> list[list[str]]:
        """Tag the words of each sentence; of the few double entries of the lexicon (``NN|JJ``) take the first."""
        from textblob._text import find_tags
        from textblob.en import lexicon

        tag = partial(find_tags, lexicon=lexicon, morphology=lexicon.morphology, context=lexicon.context)
        return [[_penn(name) for _, name in tag(forms)] for forms in sentences]


def _penn(tag: str) -> str:
    return "''" if tag == '"' else tag.split("|")[0]


def _data_folder() -> Path:
    spec = importlib.util.find_spec("textblob")
    if spec is None or not spec.submodule_search_locations:
        raise CoattendError("is not installed", where="textblob", cure="Run `pip install textblob`")
    return Path(spec.submodule_search_locations[0]) / "en"
