"""Words of Chinese by jieba, and their tags by the dictionary that its package carries."""

import hashlib
import importlib.util
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from coattend.errors import CoattendError
from coattend.text.tagset import tagset
from coattend.text.word_tokenizer import Sentence

if TYPE_CHECKING:
    from jieba.posseg import POSTokenizer

_LINE = re.compile(r"[^\r\n]+")
# Closing quotes and brackets belong to the sentence before them.
_SENTENCE_END = re.compile(r"[。！？；…!?;]+[”’」』）】》\"')\]]*")
# To jieba a full-width letter or digit is a mark of its own.
_FULL_WIDTH = {
    code: code - 0xFEE0
    for first, last in ((0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A))
    for code in range(first, last + 1)
}
PUNCTUATION, UNKNOWN = "w", "x"


@dataclass(frozen=True)
class JiebaTagger:
    """Jieba's words, whose unknown ones a hidden Markov model finds; each mark is a word, spaces set words apart.

    A word's tag is that of the dictionary, or that of the model where the dictionary lacks it; marks are ``w``.
    """

    name = "jieba"

    def __post_init__(self) -> None:
        """Raise if jieba is not installed: later that would be an error of a worker."""
        _dictionary()

    @property
    def digest(self) -> str:
        """A hash of the dictionary and of jieba's version, whose code has the model."""
        return hashlib.sha256(version("jieba").encode() + _dictionary().read_bytes()).hexdigest()

    def sentence_spans(self, line: str) -> Iterable[tuple[int, int]]:
        """Yield sentences, which end behind full-width or ASCII marks."""
        start = 0
        for end in _SENTENCE_END.finditer(line):
            yield start, end.end()
            start = end.end()
        if start < len(line):
            yield start, len(line)

    def split(self, text: str) -> Iterator[Sentence]:
        """Split a text into the sentences of each of its lines that have a word, and these into words."""
        cut = _load().tokenizer.cut
        for line in _LINE.finditer(text):
            for start, end in self.sentence_spans(line.group()):
                sentence = Sentence([], [], [])
                position = line.start() + start
                for word in cut(line.group()[start:end].translate(_FULL_WIDTH)):
                    if not word.isspace():
                        sentence.forms.append(word)
                        sentence.starts.append(position)
                        sentence.ends.append(position + len(word))
                    position += len(word)
                if sentence.forms:
                    yield sentence

    def tag(self, sentences: Sequence[list[str]]) -> list[list[str]]:
        """Tag the words of each sentence, one by one."""
        return [[_tag(word) for word in words] for words in sentences]


@cache
def _tag(word: str) -> str:
    if not any(character.isalnum() for character in word):
        return PUNCTUATION
    tagger = _load()
    tag: str = tagger.word_tag_tab.get(word) or [flag for _, flag in tagger.cut(word)][-1]
    # Finer tags, such as those of particles, are taken for their class.
    names = tagset("jieba").names
    return next((name for name in (tag, tag[:2], tag[:1]) if name in names), UNKNOWN)


@cache
def _load() -> "POSTokenizer":
    import jieba
    from jieba.posseg import POSTokenizer

    tokenizer = jieba.Tokenizer()
    # Jieba itself would read a marshalled copy of its dictionary from the folder for temporary files, whoever wrote it.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return POSTokenizer(tokenizer)


def _dictionary() -> Path:
    spec = importlib.util.find_spec("jieba")
    if spec is None or not spec.submodule_search_locations:
        raise CoattendError("is not installed", where="jieba", cure="Run `pip install jieba`, or coattend[chinese]")
    return Path(spec.submodule_search_locations[0]) / "dict.txt"
