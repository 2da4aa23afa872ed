"""Leave-one-out: how much less probable a reader's answer is when one word of the passage is hidden."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from coattend.parameters import TokenizerParameters
from coattend.readers.batch import Batch
from coattend.readers.encoders.words import UNKNOWN
from coattend.readers.reader import Reader
from coattend.text.occurrences import distinct_words
from coattend.text.subwords import load_tokenizer, mask_id
from coattend.text.tagset import ERR
from coattend.training.chosen import Chosen
from coattend.training.collation import Collator
from coattend.training.data import QuestionSet
from coattend.training.examples import Example
from coattend.training.plan import Plan
from coattend.training.words import WordTokens


@dataclass(frozen=True)
class Occlusion:
    """What hiding each word of a passage did.

    Attributes:
        words: The word, counted from 0, that each token of the chosen sequence's passage domain lies in [P]; -1 for
            special tokens.
        drops: How much less probable the answer is without each word [words]; NaN for words that are not read.
    """

    words: np.ndarray
    drops: np.ndarray

    def of_tokens(self) -> np.ndarray:
        """The drop of each token's word [P]; 0 for special tokens."""
        return np.where(self.words >= 0, self.drops[self.words], 0.0)


def occlude(reader: Reader, plan: Plan, asked: QuestionSet, example: Example, answer: Chosen) -> Occlusion:
    """Hide one word of the passage after the other.

    A word is what stands between spaces. Its tokens give way to the tokenizer's mask, or to an unknown word, and their
    tags to ERR. Only what is read is hidden: its place stays, and may still be chosen.

    Args:
        reader: A reader, on the device to use.
        plan: Its plan.
        asked: The question among others.
        example: The question.
        answer: What the reader chose for it.
    """
    if answer.span is not None:  # Windows do not see each other.
        one = slice(answer.sequence, answer.sequence + 1)
        parts = {name: getattr(example, name)[one] for name in ("sequences", "lengths", "windows")}
        example = replace(example, **parts)
        answer = replace(answer, sequence=0)
    words, count = _words(asked, example, answer.sequence)
    collator = plan.collator(reader, asked)
    domain = np.full(collator.passage_start, -1), words, np.full(len(plan.layout.middle), -1)
    words = np.concatenate(domain)
    tokens = collator.sequence_length(example) * len(example.sequences)
    at_once = max(1, plan.training.tokens_per_batch // tokens)
    softmaxed = plan.scores_are_softmaxed
    hide = Hiding.of(plan, asked, collator)
    whole = answer.probability(_read(reader, hide.copies(example, [None], words)), softmaxed=softmaxed)[0]
    drops = np.full(count, np.nan)
    there = np.unique(words[words >= 0]).tolist()
    for first in range(0, len(there), at_once):
        hidden = there[first : first + at_once]
        output = _read(reader, hide.copies(example, hidden, words))
        drops[hidden] = (whole - answer.probability(output, softmaxed=softmaxed)).cpu().numpy()
    return Occlusion(words, drops)


def _words(asked: QuestionSet, example: Example, sequence: int) -> tuple[np.ndarray, int]:
    """The word that each token of a sequence's passage lies in, and how many the passage has."""
    found = distinct_words(asked.texts[example.question_id])
    occurring = found._replace(word=np.arange(len(found.starts)))
    first, count = example.windows[sequence]
    start = asked.tokens.slice(example.passage).start + first
    where = slice(start, start + count)
    return occurring.of_tokens(asked.tokens.starts[where], asked.tokens.ends[where]), len(found.starts)


def _read(reader: Reader, batch: Batch) -> object:
    with torch.inference_mode():
        return reader(batch.to(next(reader.parameters()).device))


@dataclass(frozen=True)
class Hiding:
    """Hides words in copies of a question.

    Attributes:
        collator: Makes the batches.
        hidden: Id that stands in a hidden token's place.
        hidden_piece: The same of a subword beside words.
    """

    collator: Collator
    hidden: int
    hidden_piece: int

    @classmethod
    def of(cls, plan: Plan, asked: QuestionSet, collator: Collator) -> "Hiding":
        """As a plan's tokens have it."""
        piece = mask_id(load_tokenizer(TokenizerParameters(source=plan.encoder.source)))
        return cls(collator, UNKNOWN if isinstance(asked.tokens, WordTokens) else piece, piece)

    def copies(self, example: Example, hidden: Sequence[int | None], words: np.ndarray) -> Batch:
        """As many copies of a question as words, each without one of them.

        Args:
            example: The question.
            hidden: The word that each copy lacks; None: it is whole.
            words: The word that each token of the passage domain lies in.
        """
        batch = Batch(**self.collator([example] * len(hidden)))
        of_copy = len(example.sequences)
        for number, word in enumerate(hidden):
            if word is None:
                continue
            rows = slice(number * of_copy, (number + 1) * of_copy)
            places = torch.from_numpy(np.flatnonzero(words == word))
            batch.input_ids[rows, places] = self.hidden
            batch.tag_ids[rows, places] = ERR
            if batch.passage_pieces is not None:
                batch.passage_pieces[rows][torch.isin(batch.passage_piece_words[rows], places)] = self.hidden_piece
        return batch
