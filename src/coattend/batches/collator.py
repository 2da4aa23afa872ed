"""Collate examples into batches of sequences ``[CLS] P [SEP] Q O [SEP]``, padded to the longest."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from coattend.batches.cloze import ClozeArrays
from coattend.batches.examples import Example, token_span
from coattend.batches.memory_mapped import release_pages
from coattend.batches.subword_alignment import SubwordAlignment, pad_subwords, text_spans
from coattend.batches.tokens import Tokens

if TYPE_CHECKING:
    from coattend.readers.batch import Reward
    from coattend.text.tokenizer import SpecialLayout


PAD_TAG, SPECIAL_TAG = 0, 1

RenameEntities = Callable[[np.ndarray], np.ndarray]
"""Maps the tokens of a text to as many others."""

CachedFeatures = Callable[[Sequence[Example], Mapping[str, np.ndarray]], dict[str, np.ndarray]]
"""Returns fields to add to a batch, given its examples and its other fields."""


class Collator:
    """Makes the tensors of a batch from examples.

    Args:
        tokens: The benchmark's tokens.
        layout: Special tokens of the tokenizer.
        task: ``"options"`` makes a row for each option, ``"span"`` one for each window of a passage, ``"word"`` one.
        multiple: Sequences are padded to a multiple of this, so that few different shapes occur.
        permutation: Returns the function that renames an example's entities.
        lookup: Maps token ids to a reader's own ids.
        cloze: Builds the arrays of words and candidates.
        alignment: Subwords aligned with words, for contextual vectors of words.
        reward: Returns the reward of a batch's spans.
        features: Cached outputs of a frozen encoder, which is not run then.
    """

    def __init__(
        self,
        tokens: Tokens,
        layout: "SpecialLayout",
        task: str,
        *,
        multiple: int = 8,
        permutation: Callable[[Example], RenameEntities] | None = None,
        lookup: np.ndarray | None = None,
        cloze: ClozeArrays | None = None,
        alignment: SubwordAlignment | None = None,
        reward: Callable[[Sequence[Example]], "Reward"] | None = None,
        features: CachedFeatures | None = None,
    ) -> None:
        self._tokens, self._layout, self._task, self._multiple = tokens, layout, task, multiple
        self._permutation, self._lookup = permutation, lookup
        self._cloze, self._alignment, self._reward, self._features = cloze, alignment, reward, features

    def padded_to(self, multiple: int) -> "Collator":
        """Return a collator that pads sequences to a multiple of another number."""
        collator = copy(self)
        collator._multiple = multiple
        return collator

    @property
    def passage_start(self) -> int:
        """Position of the passage's first token in a sequence."""
        return len(self._layout.prefix)

    @property
    def special_tokens(self) -> int:
        """Number of special tokens in a sequence."""
        return self._layout.count

    def sequence_length(self, example: Example) -> int:
        """Return the padded length of an example's longest sequence."""
        length = example.longest + self._layout.count
        return -(-length // self._multiple) * self._multiple

    def losses(self, example: Example) -> int:
        """Return the number of an example's terms in a batch's mean loss: one for each window of a span, else one."""
        return len(example.sequences) if self._task == "span" else 1

    def words(self, example: Example) -> list[str]:
        """Return the distinct words of an example's passage, by their numbers in a batch."""
        return list(self._cloze.words(example)[0]) if self._cloze else []

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Build a batch.

        Args:
            examples: B examples with S sequences in all.

        Returns:
            The fields of `coattend.readers.batch.Batch` by name: sequences [S, N], passage domain [S, P], question
            domain [S, Q], options or candidates [B, C].
        """
        import torch

        # Sequences are the same for all tasks; gold answers and candidates depend on the task.
        arrays = self._sequences(examples)
        if self._task == "options":
            arrays |= _options(examples)
        elif self._task == "span":
            arrays |= self._spans(examples, arrays["passage_mask"].shape[1])
        elif self._cloze is not None:
            arrays |= self._cloze(examples, arrays, self.passage_start)
        # Cached features replace the encoder's inputs.
        if self._features is not None:
            arrays |= self._features(examples, arrays)
        elif self._alignment is not None:
            arrays |= self._subwords(examples, self._alignment)
        reward = {"reward": self._reward(examples)} if self._reward else {}
        release_pages()
        return {name: torch.from_numpy(array) for name, array in arrays.items()} | reward

    def _sequences(self, examples: Sequence[Example]) -> dict[str, np.ndarray]:
        layout = self._layout
        count = sum(len(example.sequences) for example in examples)
        length = max(self.sequence_length(example) for example in examples)
        # The passage domain includes [CLS] and the first [SEP], the question domain the last [SEP].
        passage = len(layout.prefix) + len(layout.middle) + max(example.passage_tokens for example in examples)
        question = len(layout.suffix) + max(max(example.lengths) for example in examples)
        arrays = {
            "input_ids": np.full((count, length), layout.pad_id, np.int64),
            "attention_mask": np.zeros((count, length), bool),
            "token_type_ids": np.zeros((count, length), np.int64),
            "tag_ids": np.full((count, length), PAD_TAG, np.int64),
            "passage_mask": np.zeros((count, passage), bool),
            "question_index": np.zeros((count, question), np.int64),
            "question_mask": np.zeros((count, question), bool),
            "option_mask": np.zeros((count, question), bool),
        }
        row = 0
        for example in examples:
            # One renaming holds for all texts of an example.
            rename = self._permutation(example) if self._permutation else _identity
            passage_slice = self._tokens.slice(example.passage)
            ids = self._reader_ids(rename(self._tokens.input_ids[passage_slice]))
            tags = self._tokens.tag_ids[passage_slice]
            for texts, text_length, (first, size) in zip(
                example.sequences, example.lengths, example.windows, strict=True
            ):
                window = ids[first : first + size], tags[first : first + size]
                self._write(arrays, row, texts, text_length, window, rename)
                row += 1
        return arrays

    def _write(
        self,
        arrays: dict[str, np.ndarray],
        row: int,
        texts: tuple[int, ...],
        text_length: int,
        window: tuple[np.ndarray, np.ndarray],
        rename: RenameEntities,
    ) -> None:
        """Write one sequence into a row of the arrays.

        Args:
            arrays: The arrays.
            row: The row.
            texts: Rows of the texts in the question domain.
            text_length: Their tokens.
            window: Ids and tags of the passage's window.
            rename: Renames entities.
        """
        layout, tokens = self._layout, self._tokens
        ids, tags = arrays["input_ids"][row], arrays["tag_ids"][row]
        start = len(layout.prefix)
        stop = start + len(window[0])
        split = stop + len(layout.middle)
        end = split + text_length + len(layout.suffix)
        # [CLS] P [SEP]
        tags[:end] = SPECIAL_TAG
        ids[:start] = layout.prefix
        ids[start:stop], tags[start:stop] = window
        ids[stop:split] = layout.middle
        # Q O [SEP]
        start = split
        for text in texts:
            text_slice = tokens.slice(text)
            stop = start + text_slice.stop - text_slice.start
            ids[start:stop] = self._reader_ids(rename(tokens.input_ids[text_slice]))
            tags[start:stop] = tokens.tag_ids[text_slice]
            start = stop
        ids[start:end] = layout.suffix
        # Masks and indices of the two domains.
        arrays["attention_mask"][row, :end] = True
        arrays["token_type_ids"][row, :split] = layout.passage_type
        arrays["token_type_ids"][row, split:end] = layout.question_type
        arrays["passage_mask"][row, :split] = True
        arrays["question_index"][row, : end - split] = np.arange(split, end)
        arrays["question_mask"][row, : end - split] = True
        # The option follows the question; the last special token belongs to it.
        if len(texts) > 1:
            arrays["option_mask"][row, tokens.length(texts[0]) : end - split] = True

    def _reader_ids(self, ids: np.ndarray) -> np.ndarray:
        return ids if self._lookup is None else self._lookup[ids]

    def _subwords(self, examples: Sequence[Example], alignment: SubwordAlignment) -> dict[str, np.ndarray]:
        spans = [pair for example in examples for pair in text_spans(example, self.passage_start)]
        arrays = {}
        for side, name in enumerate(("passage", "question")):
            encoded = [alignment.encode(pair[side]) for pair in spans]
            arrays[f"{name}_pieces"], arrays[f"{name}_piece_words"] = pad_subwords(encoded, alignment.layout.pad_id)
        return arrays

    def _spans(self, examples: Sequence[Example], passage_length: int) -> dict[str, np.ndarray]:
        rows = [(example, window) for example in examples for window in example.windows]
        answer_mask = np.zeros((len(rows), passage_length), bool)
        start = np.zeros(len(rows), np.int64)
        end = np.zeros(len(rows), np.int64)
        for row, (example, window) in enumerate(rows):
            answer_mask[row, self.passage_start : self.passage_start + window[1]] = True
            span = token_span(example, window, self._tokens)
            # Windows without the answer point at position 0.
            if span is not None:
                start[row], end[row] = span[0] + self.passage_start, span[1] + self.passage_start
        return {"answer_mask": answer_mask, "start": start, "end": end}


def _identity(ids: np.ndarray) -> np.ndarray:
    return ids


def _options(examples: Sequence[Example]) -> dict[str, np.ndarray]:
    """Return the sequence of each option [B, C], -1 at padding, and the labels [B] if all are known."""
    width = max(len(example.sequences) for example in examples)
    option_index = np.full((len(examples), width), -1, np.int64)
    row = 0
    for index, example in enumerate(examples):
        count = len(example.sequences)
        option_index[index, :count] = np.arange(row, row + count)
        row += count
    arrays = {"option_index": option_index}
    if all(example.label is not None for example in examples):
        arrays["label"] = np.array([example.label for example in examples], np.int64)
    return arrays
