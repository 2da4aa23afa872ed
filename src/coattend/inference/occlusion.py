"""Leave-one-out occlusion: the drop in an answer's probability when one word of the passage is masked."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from coattend.batches.collator import Collator
from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.batches.word_tokens import WordTokens
from coattend.config import TokenizerParameters
from coattend.inference.decoding import Answer, SpanAnswer
from coattend.readers.batch import Batch
from coattend.readers.encoders.word_embeddings import UNKNOWN
from coattend.readers.interfaces import require
from coattend.readers.reader import Reader
from coattend.readers.windows import read_batch
from coattend.text.cloze import distinct_words
from coattend.text.tagset import ERR
from coattend.text.tokenizer import SpecialLayout, load_tokenizer, mask_id
from coattend.trials.build import build_collator
from coattend.trials.experiment import Experiment


@dataclass(frozen=True)
class Occlusion:
    """Effect of masking each word of a passage.

    Attributes:
        words: Index of the word of each token in the passage domain of the answer's sequence [P]; -1 for special
            tokens.
        drops: Drop in the answer's probability without each word [words]; NaN for words that the
            answer's sequence does not contain. A word is masked in all sequences.
    """

    words: np.ndarray
    drops: np.ndarray

    def token_drops(self) -> np.ndarray:
        """Return the drop of each token's word [P]; 0 for special tokens."""
        return np.where(self.words >= 0, self.drops[self.words], 0.0)


def occlude(reader: Reader, experiment: Experiment, questions: QuestionSet, answer: Answer) -> Occlusion:
    """Mask one word of the passage after the other.

    Words are separated by spaces. Their tokens become the tokenizer's mask, or an unknown word, and their tags ERR.
    Only the input is masked: the positions stay, and may still be chosen.
    """
    example, sequence = answer.example, answer.sequence
    # Windows of a span do not see each other, so only that of the answer is read again; options have one score of all.
    if isinstance(answer, SpanAnswer):
        example = example.alone(sequence)
        sequence = 0
    collator = build_collator(experiment, reader, questions).unanswered()
    words_by_sequence, word_count = _words_of_tokens(questions, example, experiment.layout)
    words = words_by_sequence[sequence]
    # Copies of the question share batches under the budget of tokens.
    tokens_per_copy = collator.sequence_length(example) * len(example.sequences)
    copies_per_batch = max(1, experiment.training.tokens_per_batch // tokens_per_copy)
    occluder = Occluder.of(experiment, questions, collator)

    def probabilities(masked_words: Sequence[int | None]) -> torch.Tensor:
        batch = occluder.copies(example, masked_words, words_by_sequence).to(next(reader.parameters()).device)
        with torch.inference_mode():
            output = read_batch(reader, batch, experiment.training.over_windows)
        return answer.probability(output, softmaxed=experiment.scores_are_softmaxed)

    original = probabilities([None])[0]
    drops = np.full(word_count, np.nan)
    read_words = np.unique(words[words >= 0]).tolist()
    for first in range(0, len(read_words), copies_per_batch):
        masked_words = read_words[first : first + copies_per_batch]
        drops[masked_words] = (original - probabilities(masked_words)).cpu().numpy()
    return Occlusion(words, drops)


def _words_of_tokens(questions: QuestionSet, example: Example, layout: SpecialLayout) -> tuple[list[np.ndarray], int]:
    """Return the index of the word of each token in each sequence's passage domain, and the number of words in the
    passage."""
    distinct = distinct_words(questions.texts[example.question_id])
    # Number occurrences instead of distinct words.
    occurrences = distinct._replace(word=np.arange(len(distinct.starts)))
    before, after = np.full(len(layout.prefix), -1), np.full(len(layout.middle), -1)
    by_window: dict[tuple[int, int], np.ndarray] = {}
    for sequence, window in enumerate(example.windows):
        if window not in by_window:
            read = example.window_slice(sequence, questions.tokens)
            words = occurrences.of_tokens(questions.tokens.starts[read], questions.tokens.ends[read])
            by_window[window] = np.concatenate([before, words, after])
    return [by_window[window] for window in example.windows], len(distinct.starts)


@dataclass(frozen=True)
class Occluder:
    """Masks words in copies of a question; ``subword_mask`` replaces masked subwords beside words."""

    collator: Collator
    mask: int
    subword_mask: int

    @classmethod
    def of(cls, experiment: Experiment, questions: QuestionSet, collator: Collator) -> "Occluder":
        """Create an occluder for an experiment's tokens."""
        subword_mask = mask_id(load_tokenizer(TokenizerParameters(source=experiment.encoder.source)))
        mask = UNKNOWN if isinstance(questions.tokens, WordTokens) else subword_mask
        return cls(collator, mask, subword_mask)

    def copies(self, example: Example, masked_words: Sequence[int | None], words: Sequence[np.ndarray]) -> Batch:
        """Batch copies of a question, each with one word masked or none; ``words`` are those of each sequence's passage
        tokens [P]."""
        batch = Batch(**self.collator([example] * len(masked_words)))
        # Copies with different words masked are different passages to an encoder that reads each once.
        if batch.passage_of is not None:
            copy_of_row = torch.arange(len(masked_words)).repeat_interleave(len(words))
            batch.passage_of = batch.passage_of + len(set(example.windows)) * copy_of_row
        for row, (word, words_of_row) in enumerate(product(masked_words, words)):
            if word is None:
                continue
            positions = torch.from_numpy(np.flatnonzero(words_of_row == word))
            batch.input_ids[row, positions] = self.mask
            batch.tag_ids[row, positions] = ERR
            # Contextual vectors are computed from subwords that are read beside the words.
            if batch.passage_pieces is not None:
                piece_words = require(batch.passage_piece_words, "batch.passage_piece_words")
                batch.passage_pieces[row][torch.isin(piece_words[row], positions)] = self.subword_mask
        return batch
