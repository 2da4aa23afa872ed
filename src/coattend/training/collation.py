"""Puts sequences together when a batch is made: ``[CLS] P [SEP] Q O [SEP]``, padded to the longest."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from coattend.training.cloze import ClozeArrays
from coattend.training.examples import Example, token_span
from coattend.training.mapped import let_go
from coattend.training.pieces import Pieces, padded, sides
from coattend.training.tokens import Tokens

if TYPE_CHECKING:
    from coattend.readers.batch import Reward
    from coattend.text.subwords import SpecialLayout

PAD_TAG, SPECIAL_TAG = 0, 1

Rename = Callable[[np.ndarray], np.ndarray]
"""Makes other tokens of a text's, as many."""

Kept = Callable[[Sequence[Example], Mapping[str, np.ndarray]], dict[str, np.ndarray]]
"""What is added to the arrays of a batch of examples."""


class Collator:
    """Makes the tensors of a batch from examples.

    Args:
        tokens: The benchmark's tokens.
        layout: Special tokens of the tokenizer.
        task: ``"options"`` makes a row for each option, ``"span"`` one for each window of a passage, ``"word"`` one.
        multiple: Sequences are padded to a multiple of this, so that few different shapes occur.
        permute: Gives each example's entities other names; None: they keep theirs.
        lookup: A reader's own id of each token; None: they are its own already.
        cloze: Makes what a batch holds of words and candidates.
        pieces: Subwords beside words, for vectors of words in their context.
        reward: Makes the reward of a batch's spans.
        kept: What a frozen encoder made of examples, and so is not made again.
    """

    def __init__(
        self,
        tokens: Tokens,
        layout: "SpecialLayout",
        task: str,
        *,
        multiple: int = 8,
        permute: Callable[[Example], Rename] | None = None,
        lookup: np.ndarray | None = None,
        cloze: ClozeArrays | None = None,
        pieces: Pieces | None = None,
        reward: Callable[[Sequence[Example]], "Reward"] | None = None,
        kept: Kept | None = None,
    ) -> None:
        self._tokens, self._layout, self._task, self._multiple = tokens, layout, task, multiple
        self._permute, self._lookup = permute, lookup
        self._cloze, self._pieces, self._reward, self._kept = cloze, pieces, reward, kept

    def padded_to(self, multiple: int) -> "Collator":
        """The same, with sequences padded to a multiple of something else."""
        other = copy(self)
        other._multiple = multiple
        return other

    @property
    def passage_start(self) -> int:
        """Position of the passage's first token in a sequence."""
        return len(self._layout.prefix)

    @property
    def special_tokens(self) -> int:
        """How many special tokens a sequence has."""
        return self._layout.count

    def sequence_length(self, example: Example) -> int:
        """Tokens of an example's longest sequence as it is padded."""
        length = example.longest + self._layout.count
        return -(-length // self._multiple) * self._multiple

    def losses(self, example: Example) -> int:
        """How many terms of a batch's mean loss are an example's: one for each window of its passage, else one."""
        return len(example.sequences) if self._task == "span" else 1

    def words(self, example: Example) -> list[str]:
        """The distinct words of an example's passage, by their numbers in a batch."""
        return list(self._cloze.words(example)[0]) if self._cloze else []

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Build a batch.

        Args:
            examples: B questions with S sequences in all.

        Returns:
            The fields of `coattend.readers.batch.Batch` by name: sequences [S, N], passage domain [S, P], question
            domain [S, Q], options or candidates [B, C].
        """
        import torch

        arrays = self._sequences(examples)
        if self._task == "options":
            arrays |= _options(examples)
        elif self._task == "span":
            arrays |= self._spans(examples, arrays["passage_mask"].shape[1])
        elif self._cloze is not None:
            arrays |= self._cloze(examples, arrays, self.passage_start)
        if self._kept is not None:
            arrays |= self._kept(examples, arrays)
        elif self._pieces is not None:
            arrays |= self._of_pieces(examples, self._pieces)
        rewarded = {"reward": self._reward(examples)} if self._reward else {}
        let_go()
        return {name: torch.from_numpy(array) for name, array in arrays.items()} | rewarded

    def _sequences(self, examples: Sequence[Example]) -> dict[str, np.ndarray]:
        layout = self._layout
        before, between = len(layout.prefix), len(layout.middle)
        count = sum(len(example.sequences) for example in examples)
        length = max(self.sequence_length(example) for example in examples)
        longest = before + between + max(example.passage_tokens for example in examples)
        question = len(layout.suffix) + max(max(example.lengths) for example in examples)
        arrays = {
            "input_ids": np.full((count, length), layout.pad_id, np.int64),
            "attention_mask": np.zeros((count, length), bool),
            "token_type_ids": np.zeros((count, length), np.int64),
            "tag_ids": np.full((count, length), PAD_TAG, np.int64),
            "passage_mask": np.zeros((count, longest), bool),
            "question_index": np.zeros((count, question), np.int64),
            "question_mask": np.zeros((count, question), bool),
            "option_mask": np.zeros((count, question), bool),
        }
        row = 0
        for example in examples:
            rename = self._permute(example) if self._permute else _same
            where = self._tokens.slice(example.passage)
            passage = self._known(rename(self._tokens.input_ids[where])), self._tokens.tag_ids[where]
            for texts, size, window in zip(example.sequences, example.lengths, example.windows, strict=True):
                held = tuple(of_all[window[0] : window[0] + window[1]] for of_all in passage)
                self._write(arrays, row, texts, size, held, rename)
                row += 1
        return arrays

    def _write(
        self,
        arrays: dict[str, np.ndarray],
        row: int,
        texts: tuple[int, ...],
        size: int,
        passage: tuple[np.ndarray, ...],
        rename: Rename,
    ) -> None:
        layout, tokens = self._layout, self._tokens
        held = len(passage[0])
        ids, tags = arrays["input_ids"][row], arrays["tag_ids"][row]
        first = len(layout.prefix)
        split = first + held + len(layout.middle)
        end = split + size + len(layout.suffix)
        tags[:end] = SPECIAL_TAG
        ids[:first] = layout.prefix
        ids[first : first + held], tags[first : first + held] = passage
        ids[first + held : split] = layout.middle
        at = split
        for text in texts:
            where = tokens.slice(text)
            stop = at + where.stop - where.start
            ids[at:stop], tags[at:stop] = self._known(rename(tokens.input_ids[where])), tokens.tag_ids[where]
            at = stop
        ids[at:end] = layout.suffix
        arrays["attention_mask"][row, :end] = True
        arrays["token_type_ids"][row, :split] = layout.passage_type
        arrays["token_type_ids"][row, split:end] = layout.question_type
        arrays["passage_mask"][row, :split] = True
        arrays["question_index"][row, : end - split] = np.arange(split, end)
        arrays["question_mask"][row, : end - split] = True
        if len(texts) > 1:  # The option stands behind the question; the last special token goes with it.
            arrays["option_mask"][row, tokens.length(texts[0]) : end - split] = True

    def _known(self, ids: np.ndarray) -> np.ndarray:
        return ids if self._lookup is None else self._lookup[ids]

    def _of_pieces(self, examples: Sequence[Example], pieces: Pieces) -> dict[str, np.ndarray]:
        asked = [pair for example in examples for pair in sides(example, self.passage_start)]
        passages, questions = ([pieces.text(pair[place]) for pair in asked] for place in (0, 1))
        both = {"passage": padded(passages, pieces.layout.pad_id), "question": padded(questions, pieces.layout.pad_id)}
        return {f"{side}_pieces": ids for side, (ids, _) in both.items()} | {
            f"{side}_piece_words": words for side, (_, words) in both.items()
        }

    def _spans(self, examples: Sequence[Example], passage: int) -> dict[str, np.ndarray]:
        before = len(self._layout.prefix)
        rows = [(example, window) for example in examples for window in example.windows]
        answer = np.zeros((len(rows), passage), bool)
        start = np.zeros(len(rows), np.int64)
        end = np.zeros(len(rows), np.int64)
        for row, (example, window) in enumerate(rows):
            answer[row, before : before + window[1]] = True
            span = token_span(example, window, self._tokens)
            if span is not None:
                start[row], end[row] = span[0] + before, span[1] + before
        return {"answer_mask": answer, "start": start, "end": end}


def _same(ids: np.ndarray) -> np.ndarray:
    return ids


def _options(examples: Sequence[Example]) -> dict[str, np.ndarray]:
    most = max(len(example.sequences) for example in examples)
    index = np.full((len(examples), most), -1, np.int64)
    row = 0
    for question, example in enumerate(examples):
        count = len(example.sequences)
        index[question, :count] = np.arange(row, row + count)
        row += count
    arrays: dict[str, Any] = {"option_index": index}
    if all(example.label is not None for example in examples):
        arrays["label"] = np.array([example.label for example in examples], np.int64)
    return arrays
