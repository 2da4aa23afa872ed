"""From texts to a reader's tokens, by the functions of the data stages."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from coattend import readers
from coattend.answering.recipe import Recipe
from coattend.benchmarks.distinct import DistinctTexts
from coattend.errors import CoattendError
from coattend.parameters import TokenizerParameters
from coattend.text.nltk_tagger import NltkTagger
from coattend.text.stored import tagged, tokenized
from coattend.text.subwords import SpecialLayout, Subwords, load_tokenizer, special_layout
from coattend.text.tagging import TextTagger, resolve
from coattend.text.tagset import tagset
from coattend.training.pieces import Pieces
from coattend.training.texts import Texts
from coattend.training.tokens import Tokens
from coattend.training.words import ONLY_WORDS, WITH_BOUNDARY, WordTokens

TOKENIZER, NLTK = "tokenizer", "nltk_data"
"""Folders of a packed reader."""


@dataclass(frozen=True)
class Processing:
    """What makes a reader's tokens of texts.

    Attributes:
        recipe: How the reader is asked.
        tagger: Finds words and tags them.
        subwords: Its tokenizer; None where it reads words alone.
        layout: The special tokens of that.
    """

    recipe: Recipe
    tagger: TextTagger
    subwords: Subwords | None
    layout: SpecialLayout | None

    @classmethod
    def of(cls, recipe: Recipe, folder: Path) -> "Processing":
        """Load a reader's tokenizer and tagger: those that its folder carries, else where they came from.

        Raises:
            CoattendError: If one cannot be had, or is another than the reader was trained with.
        """
        tagger = _tagger(recipe, folder)
        if tagger.name != recipe.tagger:
            problem = f"was trained with tags by {recipe.tagger}, and here {tagger.name} is found"
            cure = "Put NLTK's data where it is found, as the README says"
            raise CoattendError(problem, where=f"trial {recipe.trial_id}", cure=cure)
        if not recipe.tokenizer:
            return cls(recipe, tagger, None, None)
        own = folder / TOKENIZER
        subwords = load_tokenizer(TokenizerParameters(source=str(own) if own.is_dir() else recipe.encoder))
        if subwords.digest != recipe.tokenizer:
            problem = f"was trained with another tokenizer than that of {subwords.source!r}"
            raise CoattendError(problem, where=f"trial {recipe.trial_id}", cure="Restore its files, or train it again")
        return cls(recipe, tagger, subwords, special_layout(subwords))

    @property
    def source(self) -> str:
        """Where its tokenizer was found."""
        return self.recipe.encoder if self.subwords is None else self.subwords.source

    def __call__(self, questions: Iterable[dict[str, Any]]) -> Texts:
        """The tokens of all texts of questions.

        Args:
            questions: Rows of a questions table, each with its ``passage``.
        """
        texts = self._texts(questions)
        tags = tagged(self.tagger, texts)
        if self.subwords is None:
            return Texts(WordTokens.from_tags(pads.dataset(tags)), self._around_words)
        tokens = pads.dataset(tokenized(self.subwords, texts, tags))
        if not self.recipe.reads_words:
            return Texts(Tokens.from_table(tokens), self.layout)
        words = WordTokens.from_tags(pads.dataset(tags))
        pieces = Pieces.beside(words, Tokens.from_table(tokens, of_words=True), self.layout)
        return Texts(words, self._around_words, pieces)

    @property
    def _around_words(self) -> SpecialLayout:
        return WITH_BOUNDARY if readers.task_of(self.recipe.head) == "span" else ONLY_WORDS

    def _texts(self, questions: Iterable[dict[str, Any]]) -> pa.Table:
        """Each distinct text once, of one kind, as ingestion gathers them."""
        how = {"fill_blanks": self.recipe.fill_blanks, "words_as_options": self.recipe.words_as_options}
        texts = DistinctTexts(1)
        for one in questions:
            texts.add(one["passage"], "passage")
            texts.add_question(one["task"], one["question"], one["options"], **how)
        (name,) = texts.keys()
        return texts.table(name)


def _tagger(recipe: Recipe, folder: Path) -> TextTagger:
    own = folder / NLTK
    if not own.is_dir():
        return resolve(recipe.tagging)
    found = NltkTagger(own.absolute(), own.absolute())
    return TextTagger(found, tagset(recipe.tagging.tagset), recipe.tagging.lowercase_before_tagging)
