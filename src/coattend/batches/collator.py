"""Collate examples into batches of sequences ``[CLS] P [SEP] Q O [SEP]``, padded to the longest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coattend.batches.cloze import ClozeArrays
from coattend.batches.examples import Example, labels_of, token_span
from coattend.batches.memory_mapped import release_pages
from coattend.batches.sampler import LengthBuckets
from coattend.batches.subword_alignment import SubwordAlignment, pad_subwords, text_spans
from coattend.batches.tokens import Tokens
from coattend.evaluation import SpanScorer

if TYPE_CHECKING:
    from torch import Tensor

    from coattend.readers.batch import Reward
    from coattend.text.tokenizer import SpecialLayout


PAD_TAG, SPECIAL_TAG = 0, 1

RenameEntities = Callable[[np.ndarray], np.ndarray]
"""Maps the tokens of a text to as many others."""

CachedFeatures = Callable[[Sequence[Example], Mapping[str, np.ndarray]], dict[str, np.ndarray]]
"""Returns fields to add to a batch, given its examples and its other fields."""


@dataclass(frozen=True, eq=False)
class Collator:
    """Makes the tensors of a batch from examples.

    Attributes:
        task: ``"options"`` makes a row for each option in each window of a passage that it is read with, ``"span"`` one
            for each window, ``"word"`` one.
        multiple: Sequences are padded to a multiple of this, so that few different shapes occur.
        permutation: Returns the function that renames an example's entities.
        lookup: Maps token ids to a reader's own ids.
        features: Cached outputs of a frozen encoder, which is not run then.
        apart: True for readers that read a passage once for all of its questions: these share a batch then.
        answered: True where batches of spans have their answers, from which a loss is computed.
    """

    tokens: Tokens
    layout: "SpecialLayout"
    task: str
    _: KW_ONLY
    multiple: int = 8
    permutation: Callable[[Example], RenameEntities] | None = None
    lookup: np.ndarray | None = None
    cloze: ClozeArrays | None = None
    alignment: SubwordAlignment | None = None
    reward: "Callable[[Sequence[Example]], Reward] | None" = None
    features: CachedFeatures | None = None
    apart: bool = False
    answered: bool = True

    def padded_to(self, multiple: int) -> "Collator":
        """Return a collator that pads sequences to a multiple of another number."""
        return replace(self, multiple=multiple)

    def unanswered(self) -> "Collator":
        """Return a collator that leaves out the answers of spans: a reader that is asked computes no loss."""
        return replace(self, answered=False, reward=None)

    @property
    def passage_start(self) -> int:
        """Position of the passage's first token in a sequence."""
        return len(self.layout.prefix)

    @property
    def special_tokens(self) -> int:
        """Number of special tokens in a sequence."""
        return self.layout.count

    def sequence_length(self, example: Example) -> int:
        """Return the padded length of an example's longest sequence."""
        length = example.longest + self.layout.count
        return -(-length // self.multiple) * self.multiple

    def buckets(
        self, examples: Sequence[Example], *, tokens_per_batch: int, seed: int = 0, shuffle: bool = True
    ) -> LengthBuckets:
        """Cut examples into batches under a budget of padded tokens; the questions about a passage share one if the
        reader reads it once."""
        if self.apart:
            return LengthBuckets.from_passages(
                examples, self._room, tokens_per_batch=tokens_per_batch, seed=seed, shuffle=shuffle
            )
        return LengthBuckets.from_examples(
            examples, self.sequence_length, tokens_per_batch=tokens_per_batch, seed=seed, shuffle=shuffle
        )

    def _room(self, example: Example) -> tuple[int, int, int]:
        """Return the number of an example's windows, the padded tokens of the longest one, and those of the segments
        that ask about each."""
        layout, windows = self.layout, len(set(example.windows))
        passage = len(layout.prefix) + example.passage_tokens + len(layout.middle)
        segments = sum(example.lengths) + len(layout.suffix) * len(example.lengths)
        return windows, -(-passage // self.multiple) * self.multiple, -(-segments // windows)

    def loss_terms(self, example: Example) -> int:
        """Return the number of an example's terms in a batch's mean loss: one for each window of a span, else one."""
        return len(example.sequences) if self.task == "span" else 1

    def words(self, example: Example) -> list[str]:
        """Return the distinct words of an example's passage, by their numbers in a batch."""
        return list(self.cloze.words(example)[0]) if self.cloze else []

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Build a batch of B examples with S sequences in all.

        Returns:
            The fields of `coattend.readers.batch.Batch` by name: sequences [S, N], passage domain [S, P], question
            domain [S, Q], options or candidates [B, C].
        """
        import torch

        # Sequences are the same for all tasks; gold answers and candidates depend on the task.
        arrays = self._sequences(examples)
        if self.task == "options":
            arrays |= _options(examples)
        elif self.task == "span":
            arrays |= self._spans(examples, arrays["passage_mask"].shape[1])
        elif self.cloze is not None:
            arrays |= self.cloze(examples, arrays, self.passage_start)
        # Cached features replace the encoder's inputs.
        if self.features is not None:
            arrays |= self.features(examples, arrays)
        elif self.alignment is not None:
            arrays |= self._subwords(examples, self.alignment)
        reward = {"reward": self.reward(examples)} if self.reward else {}
        release_pages()
        return {name: torch.from_numpy(array) for name, array in arrays.items()} | reward

    def _sequences(self, examples: Sequence[Example]) -> dict[str, np.ndarray]:
        layout = self.layout
        count = sum(len(example.sequences) for example in examples)
        length = max(self.sequence_length(example) for example in examples)
        # The passage domain includes [CLS] and the first [SEP], the question domain the last [SEP].
        passage = len(layout.prefix) + len(layout.middle) + max(example.passage_tokens for example in examples)
        question = len(layout.suffix) + max(max(example.lengths) for example in examples)
        arrays: dict[str, np.ndarray] = {
            "input_ids": np.full((count, length), layout.pad_id, np.int64),
            "attention_mask": np.zeros((count, length), bool),
            "token_type_ids": np.zeros((count, length), np.int64),
            "tag_ids": np.full((count, length), PAD_TAG, np.int64),
            "passage_mask": np.zeros((count, passage), bool),
            "question_index": np.zeros((count, question), np.int64),
            "question_mask": np.zeros((count, question), bool),
            "option_mask": np.zeros((count, question), bool),
        }
        if self.apart:
            arrays["passage_of"] = np.zeros(count, np.int64)
        passages: dict[tuple[object, ...], int] = {}
        row = 0
        for example in examples:
            # One renaming holds for all texts of an example.
            rename = self.permutation(example) if self.permutation else None
            ids, tags = self._ids_and_tags(example.passage, rename)
            for texts, (first, size) in zip(example.sequences, example.windows, strict=True):
                window = ids[first : first + size], tags[first : first + size]
                if self.apart:  # A renamed passage is another one.
                    key = example.passage, first, size, example.question_id if rename else None
                    arrays["passage_of"][row] = passages.setdefault(key, len(passages))
                sequence = {name: array[row] for name, array in arrays.items()}
                self._write(sequence, window, [self._ids_and_tags(text, rename) for text in texts])
                row += 1
        return arrays

    def _ids_and_tags(self, row: int, rename: RenameEntities | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens of a text as ids of the reader, and their tags."""
        row_slice = self.tokens.slice(row)
        ids = self.tokens.input_ids[row_slice]
        if rename is not None:
            ids = rename(ids)
        return ids if self.lookup is None else self.lookup[ids], self.tokens.tag_ids[row_slice]

    def _write(
        self,
        sequence: Mapping[str, np.ndarray],
        window: tuple[np.ndarray, np.ndarray],
        texts: Sequence[tuple[np.ndarray, np.ndarray]],
    ) -> None:
        """Write one sequence into its row of the arrays, given ids and tags of the passage's window and of the texts in
        its question domain."""
        layout, ids, tags = self.layout, sequence["input_ids"], sequence["tag_ids"]
        start = len(layout.prefix)
        stop = start + len(window[0])
        split = stop + len(layout.middle)
        end = split + sum(len(text_ids) for text_ids, _ in texts) + len(layout.suffix)
        # [CLS] P [SEP]
        tags[:end] = SPECIAL_TAG
        ids[:start] = layout.prefix
        ids[start:stop], tags[start:stop] = window
        ids[stop:split] = layout.middle
        # Q O [SEP]
        start = split
        for text_ids, text_tags in texts:
            stop = start + len(text_ids)
            ids[start:stop], tags[start:stop] = text_ids, text_tags
            start = stop
        ids[start:end] = layout.suffix
        # Masks and indices of the two domains.
        sequence["attention_mask"][:end] = True
        sequence["token_type_ids"][:split] = layout.passage_type
        sequence["token_type_ids"][split:end] = layout.question_type
        sequence["passage_mask"][:split] = True
        sequence["question_index"][: end - split] = np.arange(split, end)
        sequence["question_mask"][: end - split] = True
        # The option follows the question; the last special token belongs to it.
        if len(texts) > 1:
            sequence["option_mask"][len(texts[0][0]) : end - split] = True

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
        # Windows without the answer point at position 0.
        start_and_end = np.zeros((2, len(rows)), np.int64)
        for row, (example, window) in enumerate(rows):
            answer_mask[row, self.passage_start : self.passage_start + window[1]] = True
            span = token_span(example, window, self.tokens) if self.answered else None
            if span is not None:
                start_and_end[:, row] = np.add(span, self.passage_start)
        if not self.answered:
            return {"answer_mask": answer_mask}
        return {"answer_mask": answer_mask, "start": start_and_end[0], "end": start_and_end[1]}


def _options(examples: Sequence[Example]) -> dict[str, np.ndarray]:
    """Return the sequence of each option [B, C], or of each option in each window [B, C, W] where a passage has
    several, -1 at padding, and the labels [B] if all are known."""
    shapes = [(len(example.sequences) // example.option_count, example.option_count) for example in examples]
    most_windows, most_options = np.max(shapes, axis=0)
    index = np.full((len(examples), most_options, most_windows), -1, np.int64)
    row = 0
    for question, (windows, options) in enumerate(shapes):
        rows = np.arange(row, row + windows * options).reshape(windows, options)
        index[question, :options, :windows] = rows.T
        row += windows * options
    return {"option_index": index if most_windows > 1 else index[..., 0]} | labels_of(examples)


class SpanReward:
    """F1 of a span's text against the gold answers, after the official normalisation (DCN+, equation 13).

    Position 0 is "no answer", which is right if the window contains no answer; a span that ends before it starts is
    worth nothing.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        passages: Mapping[str, str],
        tokens: Tokens,
        *,
        passage_start: int,
        scorer: SpanScorer,
    ) -> None:
        self._rows = [(example, index) for example in examples for index in range(len(example.windows))]
        self._passages, self._tokens, self._passage_start = passages, tokens, passage_start
        self._scorer = scorer
        self._golds = [self._golds_of(example, index) for example, index in self._rows]

    def __call__(self, start: "Tensor", end: "Tensor") -> "Tensor":
        """Return the reward of the spans between first and last positions [S], as [S]."""
        import torch

        rewards = [self._f1(row, *span) for row, span in enumerate(zip(start.tolist(), end.tolist(), strict=True))]
        return torch.tensor(rewards, dtype=torch.float32, device=start.device)

    def _f1(self, row: int, start: int, end: int) -> float:
        if start == 0 or end == 0:
            text = ""
        elif end < start:
            return 0.0
        else:
            # From positions in the passage domain to characters of the passage.
            example, window = self._rows[row]
            first, last = start - self._passage_start, end - self._passage_start
            text = self._passages[example.question_id][slice(*example.characters(window, first, last, self._tokens))]
        return self._scorer.best(text, self._golds[row])[1]

    def _golds_of(self, example: Example, window: int) -> list[str]:
        if token_span(example, example.windows[window], self._tokens) is None:
            return []
        passage = self._passages[example.question_id]
        return [passage[start:end] for start, end in example.spans]
