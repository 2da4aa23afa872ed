"""Load a benchmark's texts in the form that a reader takes: subwords, or words."""

from typing import NamedTuple

import pyarrow.dataset as pads

from coattend.batches.subword_alignment import SubwordAlignment
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import ONLY_WORDS, WITH_BOUNDARY, WordTokens
from coattend.config import EncoderParameters, TokenizerParameters
from coattend.errors import CoattendError
from coattend.text.tokenizer import SpecialLayout, load_tokenizer, special_layout

SubwordTable = tuple[pads.Dataset, TokenizerParameters, EncoderParameters]
"""A tokens table, the tokenizer that made it, and the encoder that reads it."""


class ReaderTexts(NamedTuple):
    """The texts of a benchmark as a reader takes them.

    Attributes:
        tokens: Subwords or words.
        layout: Special tokens around them.
        alignment: Subwords aligned with words, for contextual vectors of words.
    """

    tokens: Tokens
    layout: SpecialLayout
    alignment: SubwordAlignment | None = None


def load_subwords(
    table: pads.Dataset, tokenizer: TokenizerParameters, encoder: EncoderParameters, *, with_word_index: bool = False
) -> ReaderTexts:
    """Load the subwords of a benchmark.

    Args:
        table: Its tokens table.
        tokenizer: The tokenizer that made it.
        encoder: The encoder that reads it.
        with_word_index: Load the index of the word that each subword lies in, too.

    Raises:
        CoattendError: If the table's tokenizer is not the encoder's.
    """
    tokens = Tokens.from_table(table, with_word_index=with_word_index)
    _check_tokenizer(tokens, tokenizer, encoder)
    return ReaderTexts(tokens, special_layout(load_tokenizer(tokenizer)))


def load_words(tags: pads.Dataset, task: str, *, subwords: SubwordTable | None = None) -> ReaderTexts:
    """Load the words of a benchmark.

    Args:
        tags: Its tags table.
        task: The reader's task; for spans a boundary token precedes each passage.
        subwords: Subwords to align with the words.

    Raises:
        CoattendError: If the subwords' tokenizer is not the encoder's.
    """
    words = WordTokens.from_tags(tags)
    alignment = None
    if subwords is not None:
        texts = load_subwords(*subwords, with_word_index=True)
        alignment = SubwordAlignment.between(words, texts.tokens, texts.layout)
    return ReaderTexts(words, WITH_BOUNDARY if task == "span" else ONLY_WORDS, alignment)


def _check_tokenizer(tokens: Tokens, tokenizer: TokenizerParameters, encoder: EncoderParameters) -> None:
    """Raise unless the encoder's tokenizer made the tokens: another tokenizer's ids mean other words to it."""
    if load_tokenizer(TokenizerParameters(source=encoder.source)).digest == tokens.tokenizer:
        return
    # Either the profile is another encoder's, or its tokenizer's files have changed since.
    if encoder.source != tokenizer.source:
        cure = f"Give it a tokenizer profile of its own, with the source {encoder.source!r}"
    else:
        cure = "Run the pipeline tokenization again, with the same parameters"
    raise CoattendError("has another tokenizer than the stored tokens", where=f"encoder {encoder.source!r}", cure=cure)
