"""The words of all texts of a benchmark, and the vocabulary that a recurrent encoder learns from them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.batches.tokens import Tokens, flat_columns
from coattend.readers.encoders.word_embeddings import BOUNDARY, PAD, UNKNOWN
from coattend.text.alignment import Spans, offsets_of
from coattend.text.tokenizer import SpecialLayout
from coattend.text.word_tokenizer import split_sentences

if TYPE_CHECKING:
    from coattend.batches.examples import Example


ONLY_WORDS = SpecialLayout((), (), (), 0, 1, PAD)
WITH_BOUNDARY = SpecialLayout((BOUNDARY,), (), (), 0, 1, PAD)
"""Layouts without special tokens; for spans a boundary precedes the passage, and stands for "no answer"."""


def word_layout(task: str) -> SpecialLayout:
    """Return the special tokens around the words that readers of a task read."""
    return WITH_BOUNDARY if task == "span" else ONLY_WORDS


@dataclass(frozen=True)
class WordTokens(Tokens):
    """Words in place of subwords; ids index the lexicon of distinct words as written, not a reader's vocabulary."""

    lexicon: tuple[str, ...]

    @classmethod
    def from_tags(cls, table: pads.Dataset) -> "WordTokens":
        """Load the stored words of a benchmark from its tags table."""
        ids: dict[str, int] = {}

        def lexicon_ids(words: pa.Array) -> np.ndarray:
            # Python sees each distinct word of a batch once.
            encoded = words.dictionary_encode()
            batch_ids = np.array([ids.setdefault(word, len(ids)) for word in encoded.dictionary.to_pylist()], np.int32)
            numbers: np.ndarray = batch_ids[encoded.indices.to_numpy()]
            return numbers

        columns = flat_columns(table, ["words", "tags", "starts", "ends"], words=lexicon_ids)
        return cls(
            input_ids=columns.pop("words"),
            tag_ids=columns.pop("tags"),
            tagger=(table.schema.metadata or {}).get(b"tagger", b"unknown").decode(),
            tokenizer="",
            lexicon=tuple(ids),
            **columns,
        )

    def _content(self, ids: np.ndarray) -> bytes:
        # Ids would depend on the other texts.
        return "\x1f".join(self.lexicon[word] for word in ids).encode()

    def vocabulary(self, examples: Sequence["Example"], *, size: int | None, lowercase: bool) -> tuple[str, ...]:
        """Return the words of examples, most frequent first, equally frequent ones in alphabetical order: the first
        ``size`` of them, or all if it is None.

        A text counts once, however many questions are about it.
        """
        rows = {row for example in examples for row in example.rows}
        counts = np.zeros(len(self.lexicon), np.int64)
        for row in rows:
            np.add.at(counts, self.input_ids[self.slice(row)], 1)
        total: Counter[str] = Counter()
        for word in np.flatnonzero(counts).tolist():
            total[_spelling(self.lexicon[word], lowercase)] += int(counts[word])
        return tuple(sorted(total, key=lambda word: (-total[word], word))[:size])

    def lookup(self, words: Sequence[str], *, lowercase: bool) -> np.ndarray:
        """Map each word of the lexicon to its id in a reader's vocabulary, from 3 on, or else to ``UNKNOWN``."""
        ids = {word: number for number, word in enumerate(words, BOUNDARY + 1)}
        return np.array([ids.get(_spelling(word, lowercase), UNKNOWN) for word in self.lexicon], np.int64)


class LexiconTokenizer:
    """Splits texts as the tagging stage does, into ids of a lexicon; -1 for words that it lacks."""

    source = "words"

    def __init__(self, lexicon: Sequence[str]) -> None:
        self._ids = {word: number for number, word in enumerate(lexicon)}

    def encode(self, texts: Sequence[str], options: Sequence[bool]) -> tuple[np.ndarray, Spans]:
        """Encode texts into word ids, as `coattend.text.tokenizer.SubwordTokenizer.encode` does into subword ids."""
        offsets_by_text = [
            [
                span
                for sentence in split_sentences(text, lambda line: [(0, len(line))])
                for span in zip(sentence.starts, sentence.ends, strict=True)
            ]
            for text in texts
        ]
        words = [text[start:end] for text, spans in zip(texts, offsets_by_text, strict=True) for start, end in spans]
        offsets = np.array([span for spans in offsets_by_text for span in spans], np.int32).reshape(-1, 2)
        ids = np.array([self._ids.get(word, -1) for word in words], np.int32)
        return ids, Spans(offsets[:, 0], offsets[:, 1], offsets_of([len(spans) for spans in offsets_by_text]))


def _spelling(word: str, lowercase: bool) -> str:
    return word.lower() if lowercase else word
