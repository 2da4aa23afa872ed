"""The words of all texts as a few flat arrays, and the vocabulary that a recurrent encoder learns of them."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.readers.encoders.words import BOUNDARY, PAD, UNKNOWN
from coattend.text.spans import Spans, offsets_of
from coattend.text.subwords import SpecialLayout
from coattend.text.words import sentences
from coattend.training.tokens import Tokens, flat_columns

if TYPE_CHECKING:
    from coattend.training.examples import Example

ONLY_WORDS = SpecialLayout((), (), (), 0, 1, PAD)
WITH_BOUNDARY = SpecialLayout((BOUNDARY,), (), (), 0, 1, PAD)
"""Passage and question without special tokens; for spans a boundary stands before the passage, for "no answer"."""


@dataclass(frozen=True)
class WordTokens(Tokens):
    """Words in the place of subwords; an id is a place in the lexicon, whatever a reader's own vocabulary is.

    Attributes:
        lexicon: Every word of the texts once, as written.
    """

    lexicon: tuple[str, ...]

    @classmethod
    def from_tags(cls, data: pads.Dataset) -> "WordTokens":
        """Read the stored words of a benchmark."""
        places: dict[str, int] = {}

        def known(words: pa.Array) -> np.ndarray:
            found = words.dictionary_encode()
            own = [places.setdefault(word, len(places)) for word in found.dictionary.to_pylist()]
            return np.array(own, np.int32)[found.indices.to_numpy()]

        columns = flat_columns(data, ["words", "tags", "starts", "ends"], words=known)
        return cls(
            input_ids=columns.pop("words"),
            tag_ids=columns.pop("tags"),
            tagger=(data.schema.metadata or {}).get(b"tagger", b"unknown").decode(),
            tokenizer="",
            lexicon=tuple(places),
            **columns,
        )

    def digest(self, rows: Iterable[int]) -> str:
        """A hash of the words and tags of some rows, in their order; ids depend on the other texts."""
        content = hashlib.sha256()
        for row in rows:
            where = self.slice(row)
            content.update("\x1f".join(self.lexicon[word] for word in self.input_ids[where]).encode())
            content.update(self.tag_ids[where].tobytes() + b"|")
        return content.hexdigest()

    def vocabulary(self, examples: Sequence["Example"], *, most: int, lowercase: bool) -> tuple[str, ...]:
        """The words of examples, the most frequent first and equally frequent ones in alphabetical order.

        Args:
            examples: Each distinct text of theirs counts once.
            most: How many words.
            lowercase: Whether words are counted in lower case.
        """
        rows = {row for one in examples for row in (one.passage, *(text for texts in one.sequences for text in texts))}
        counts = np.zeros(len(self.lexicon), np.int64)
        for row in rows:
            np.add.at(counts, self.input_ids[self.slice(row)], 1)
        total: Counter[str] = Counter()
        for place in np.flatnonzero(counts).tolist():
            total[_written(self.lexicon[place], lowercase)] += int(counts[place])
        return tuple(sorted(total, key=lambda word: (-total[word], word))[:most])

    def lookup(self, words: Sequence[str], *, lowercase: bool) -> np.ndarray:
        """A reader's id of each word of the lexicon; that of an unknown word where its vocabulary lacks it.

        Args:
            words: The vocabulary, the first word of which has the id 3.
            lowercase: Whether words are looked up in lower case.
        """
        ids = {word: place for place, word in enumerate(words, BOUNDARY + 1)}
        return np.array([ids.get(_written(word, lowercase), UNKNOWN) for word in self.lexicon], np.int64)


class LexiconTokenizer:
    """Splits texts as the tagging stage does and gives words their place in a lexicon; -1 where it lacks them.

    Args:
        lexicon: The words.
    """

    source = "words"

    def __init__(self, lexicon: Sequence[str]) -> None:
        self._places = {word: place for place, word in enumerate(lexicon)}

    def encode(self, texts: Sequence[str], options: Sequence[bool]) -> tuple[np.ndarray, Spans]:
        """Words of texts, as `coattend.text.subwords.Subwords.encode` gives subwords."""
        found = [list(sentences(text, lambda line: [(0, len(line))])) for text in texts]
        places = [[(s, e) for one in of_text for s, e in zip(one.starts, one.ends, strict=True)] for of_text in found]
        words = [text[s:e] for text, spans in zip(texts, places, strict=True) for s, e in spans]
        spans = np.array([span for of_text in places for span in of_text], np.int32).reshape(-1, 2)
        ids = np.array([self._places.get(word, -1) for word in words], np.int32)
        return ids, Spans(spans[:, 0], spans[:, 1], offsets_of([len(of_text) for of_text in places]))


def _written(word: str, lowercase: bool) -> str:
    return word.lower() if lowercase else word
