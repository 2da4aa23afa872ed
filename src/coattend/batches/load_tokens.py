"""Load a benchmark's texts in the form that a reader takes: subwords, or words."""

from typing import NamedTuple

import pyarrow.dataset as pads

from coattend.batches.subword_alignment import SubwordAlignment
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import WordTokens, word_layout
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
    """Load the subwords of a benchmark from its tokens table, with the index of their words or without.

    Raises:
        CoattendError: If the tokenizer that made the table is not the encoder's.
    """
    tokens = Tokens.from_table(table, with_word_index=with_word_index)
    # Another tokenizer's ids mean other words to the encoder.
    if load_tokenizer(TokenizerParameters(source=encoder.source)).digest != tokens.tokenizer:
        # Either the profile is another encoder's, or its tokenizer's files have changed since.
        if encoder.source != tokenizer.source:
            cure = f"Give it a tokenizer profile of its own, with the source {encoder.source!r}"
        else:
            cure = "Run the pipeline tokenization again, with the same parameters"
        where = f"encoder {encoder.source!r}"
        raise CoattendError("has another tokenizer than the stored tokens", where=where, cure=cure)
    return ReaderTexts(tokens, special_layout(load_tokenizer(tokenizer)))


def load_words(tags: pads.Dataset, task: str, *, subwords: SubwordTable | None = None) -> ReaderTexts:
    """Load the words of a benchmark from its tags table, in the layout of a task, with subwords aligned if given.

    Raises:
        CoattendError: If the subwords' tokenizer is not the encoder's.
    """
    words = WordTokens.from_tags(tags)
    alignment = None
    if subwords is not None:
        texts = load_subwords(*subwords, with_word_index=True)
        alignment = SubwordAlignment.between(words, texts.tokens, texts.layout)
    return ReaderTexts(words, word_layout(task), alignment)
