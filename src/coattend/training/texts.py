"""The texts of a benchmark as a reader reads them: subwords, or words."""

from typing import NamedTuple

import pyarrow.dataset as pads

from coattend.errors import CoattendError
from coattend.parameters import EncoderParameters, TokenizerParameters
from coattend.text.subwords import SpecialLayout, load_tokenizer, special_layout
from coattend.training.pieces import Pieces
from coattend.training.tokens import Tokens
from coattend.training.words import ONLY_WORDS, WITH_BOUNDARY, WordTokens

Subwords = tuple[pads.Dataset, TokenizerParameters, EncoderParameters]
"""A tokens table, where its subwords come from, and who shall read them."""


class Texts(NamedTuple):
    """What a reader reads.

    Attributes:
        tokens: Subwords or words.
        layout: The special ones around them.
        pieces: Subwords beside words, for vectors of words in their context.
    """

    tokens: Tokens
    layout: SpecialLayout
    pieces: Pieces | None = None


def subwords(
    tokens: pads.Dataset, tokenizer: TokenizerParameters, encoder: EncoderParameters, *, of_words: bool = False
) -> Texts:
    """The subwords of a benchmark.

    Args:
        tokens: Its tokens table.
        tokenizer: Where they come from.
        encoder: Who shall read them.
        of_words: Whether to read which word each lies in.

    Raises:
        CoattendError: If the table's subwords are not the encoder's own.
    """
    stored = Tokens.from_table(tokens, of_words=of_words)
    _check_tokenizer(stored, tokenizer, encoder)
    return Texts(stored, special_layout(load_tokenizer(tokenizer)))


def words(tags: pads.Dataset, task: str, *, beside: Subwords | None = None) -> Texts:
    """The words of a benchmark.

    Args:
        tags: Its tags table.
        task: What is asked for: for spans a boundary stands before each passage.
        beside: The subwords to bring along.

    Raises:
        CoattendError: If those are not the encoder's own.
    """
    read = WordTokens.from_tags(tags)
    pieces = None
    if beside is not None:
        of_words = subwords(*beside, of_words=True)
        pieces = Pieces.beside(read, of_words.tokens, of_words.layout)
    return Texts(read, WITH_BOUNDARY if task == "span" else ONLY_WORDS, pieces)


def _check_tokenizer(tokens: Tokens, tokenizer: TokenizerParameters, encoder: EncoderParameters) -> None:
    """The stored tokens must be the encoder's own: another tokenizer's ids would mean other words to it."""
    if load_tokenizer(TokenizerParameters(source=encoder.source)).digest == tokens.tokenizer:
        return
    if encoder.source != tokenizer.source:
        cure = f"Give it a tokenizer profile of its own, with the source {encoder.source!r}"
    else:
        cure = "Run the pipeline tokenization again, with the same parameters"
    raise CoattendError("has another tokenizer than the stored tokens", where=f"encoder {encoder.source!r}", cure=cure)
