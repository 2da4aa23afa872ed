"""Disk cache of frozen-encoder outputs: hidden states of sequences, and contextual vectors of words."""

import hashlib
import json
import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch

from coattend.batches.collator import Collator
from coattend.batches.examples import Example, digest
from coattend.batches.sampler import LengthBuckets
from coattend.batches.subword_alignment import SubwordAlignment, TextSpan, pad_subwords, text_spans
from coattend.batches.tokens import Tokens
from coattend.errors import CoattendError
from coattend.io.atomic import matches_checksum, reserve_space, write_with_checksum
from coattend.parallel.progress import track_progress
from coattend.readers.batch import Batch
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.readers.encoders.word_features import ContextVectors
from coattend.readers.reader import Reader
from coattend.text.hashing import json_digest

logger = logging.getLogger(__name__)

VectorsByRow = Generator[tuple[int, np.ndarray], None, None]
"""Rows of a cache in any order, and the vectors of each [length, H]."""


@dataclass(frozen=True)
class CachedVectors:
    """A memory-mapped file of the vectors of many rows [vectors, H], and the offset of each row."""

    vectors: np.ndarray
    offsets: np.ndarray

    def pad(self, rows: Sequence[int], length: int) -> np.ndarray:
        """Pad rows with zeros to a length, in single precision [rows, length, H]."""
        padded = np.zeros((len(rows), length, self.vectors.shape[1]), self.vectors.dtype)
        for index, row in enumerate(rows):
            start, end = self.offsets[row : row + 2]
            padded[index, : end - start] = self.vectors[start:end]
        single: np.ndarray = torch.from_numpy(padded).float().numpy()  # NumPy's own conversion takes six times as long.
        return single


@dataclass(frozen=True)
class CachedHiddenStates(CachedVectors):
    """Hidden states of the real tokens of sequences; ``first_sequence`` numbers each question's first one."""

    first_sequence: Mapping[str, int]

    def __call__(self, examples: Sequence[Example], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return ``hidden`` [S, N, H] of a batch with S sequences, zero at padding."""
        return {"hidden": self.pad(_rows_of(examples, self.first_sequence), arrays["input_ids"].shape[1])}


@dataclass(frozen=True)
class CachedPassageStates(CachedVectors):
    """Hidden states of passages and of the segments that ask about them, for encoders that read passages once.

    Attributes:
        passages: The row of each window of a passage, by the passage's row of tokens, first token and length.
        first_segment: The row of each question's first segment.
    """

    passages: Mapping[tuple[int, int, int], int]
    first_segment: Mapping[str, int]

    def __call__(self, examples: Sequence[Example], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return ``hidden`` [S, N, H] of a batch with S sequences, zero at padding."""
        windows = [self.passages[example.passage, *window] for example in examples for window in example.windows]
        hidden = self.pad(windows, arrays["input_ids"].shape[1])
        for row, segment in enumerate(_rows_of(examples, self.first_segment)):
            mask = arrays["question_mask"][row]
            start, end = self.offsets[segment : segment + 2]
            hidden[row, arrays["question_index"][row][mask]] = self.vectors[start:end]
        return {"hidden": hidden}


@dataclass(frozen=True)
class CachedContextVectors(CachedVectors):
    """Contextual vectors of the words of passages and questions, a row for each."""

    rows: Mapping[TextSpan, int]
    passage_start: int

    def __call__(self, examples: Sequence[Example], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return ``passage_context`` [S, P, H] and ``question_context`` [S, Q, H] of a batch, zero at padding."""
        spans = [pair for example in examples for pair in text_spans(example, self.passage_start)]
        return {
            f"{name}_context": self.pad([self.rows[pair[side]] for pair in spans], arrays[f"{name}_mask"].shape[1])
            for side, name in enumerate(("passage", "question"))
        }


@dataclass(frozen=True)
class FeatureCache:
    """A folder of the outputs of a frozen encoder, which ``encoder`` is a digest of; what it lacks is computed.

    With ``bf16``, matrix products run in bf16 and vectors are stored in half precision, else in single.
    """

    folder: Path
    encoder: str
    tokens_per_batch: int
    bf16: bool

    def hidden_states(
        self, reader: Reader, examples: Sequence[Example], tokens: Tokens, collator: Collator
    ) -> CachedHiddenStates:
        """Return the hidden states of examples."""
        # The name of the file is a hash of all that the states depend on.
        key = json_digest([self.encoder, digest(examples, tokens), self._dtype.name])
        lengths = [
            collator.special_tokens + window[1] + length
            for example in examples
            for length, window in zip(example.lengths, example.windows, strict=True)
        ]
        counts = np.cumsum([0, *(len(example.sequences) for example in examples)]).tolist()
        first_sequence = {example.question_id: row for example, row in zip(examples, counts, strict=False)}

        def encode() -> VectorsByRow:
            logger.info("the encoder reads %s sequences, once", f"{len(lengths):,}")
            for members, _, states in self._read(reader, examples, collator):
                for row, sequence in zip(_rows_of(members, first_sequence), states, strict=True):
                    yield row, sequence[: lengths[row]]

        width = reader.encoder.shape.hidden_size
        return CachedHiddenStates(*self._load(key, lengths, width, encode(), "Encoding"), first_sequence)

    def passage_states(
        self, reader: Reader, examples: Sequence[Example], tokens: Tokens, collator: Collator
    ) -> CachedPassageStates:
        """Return the hidden states of examples' passages, each once, and of the segments that ask about them."""
        key = json_digest(["apart", self.encoder, digest(examples, tokens), self._dtype.name])
        windows = ((example.passage, *window) for example in examples for window in example.windows)
        passages = {window: row for row, window in enumerate(dict.fromkeys(windows))}
        counts = np.cumsum([len(passages), *(len(example.sequences) for example in examples)]).tolist()
        first_segment = {example.question_id: row for example, row in zip(examples, counts, strict=False)}
        layout = collator.layout
        passage_special = len(layout.prefix) + len(layout.middle)
        lengths = [passage_special + count for _, _, count in passages]
        lengths += [len(layout.suffix) + length for example in examples for length in example.lengths]

        def encode() -> VectorsByRow:
            logger.info("the encoder reads %s passages and their questions, once", f"{len(passages):,}")
            for members, batch, states in self._read(reader, examples, collator):
                positions, masks = batch.question_index.cpu().numpy(), batch.question_mask.cpu().numpy()
                sequences = [(example.passage, *window) for example in members for window in example.windows]
                written = set()
                for number, segment in enumerate(_rows_of(members, first_segment)):
                    row = passages[sequences[number]]
                    if row not in written:
                        yield row, states[number, : lengths[row]]
                        written.add(row)
                    yield segment, states[number, positions[number][masks[number]]]

        width = reader.encoder.shape.hidden_size
        loaded = self._load(key, lengths, width, encode(), "Encoding")
        return CachedPassageStates(*loaded, passages, first_segment)

    def _read(
        self, reader: Reader, examples: Sequence[Example], collator: Collator
    ) -> Iterator[tuple[list[Example], Batch, np.ndarray]]:
        """Run a frozen encoder over examples: yield those of each batch, the batch, and its hidden states [S, N, H]."""
        for indices in collator.buckets(examples, tokens_per_batch=self.tokens_per_batch, shuffle=False):
            members = [examples[index] for index in indices]
            batch = Batch(**collator(members)).to(next(reader.parameters()).device)
            with self._inference(batch.input_ids.device):
                hidden = cast(TransformerEncoder, reader.encoder).read(batch)
                states = hidden.to(torch.half if self.bf16 else torch.float).cpu().numpy()
            yield members, batch, states

    def context_vectors(
        self, context: ContextVectors, examples: Sequence[Example], alignment: SubwordAlignment, passage_start: int
    ) -> CachedContextVectors:
        """Return the contextual vectors of examples' words."""
        # A passage is encoded once, however many questions and options share it.
        spans = [span for example in examples for pair in text_spans(example, passage_start) for span in pair]
        rows = {span: row for row, span in enumerate(dict.fromkeys(spans))}
        encoded = [alignment.encode(span) for span in rows]
        lengths = [span.length for span in rows]
        # The length tells texts apart whose last words have no subwords.
        key = hashlib.sha256(json.dumps([self.encoder, self.bf16]).encode())
        for length, ids in zip(lengths, encoded, strict=True):
            key.update(f"{length}|".encode() + ids.tobytes())

        def encode() -> VectorsByRow:
            size = sum(lengths) * context.width * self._dtype.itemsize / 1e6
            logger.info("the encoder reads %s texts, once; their words' vectors take %.0f MB", f"{len(rows):,}", size)
            device = next(context.parameters()).device
            subwords = [ids.shape[1] for ids in encoded]
            ones = [1] * len(encoded)
            for batch in LengthBuckets.from_lengths(
                subwords, ones, tokens_per_batch=self.tokens_per_batch, shuffle=False
            ):
                arrays = pad_subwords([encoded[row] for row in batch], alignment.layout.pad_id)
                ids, words = (torch.from_numpy(array).to(device) for array in arrays)
                with self._inference(device):
                    vectors = context(ids, words, max(lengths[row] for row in batch)).float().cpu().numpy()
                for row, text_vectors in zip(batch, vectors, strict=True):
                    yield row, text_vectors[: lengths[row]]

        loaded = self._load(key.hexdigest(), lengths, context.width, encode(), "Encoding words")
        return CachedContextVectors(*loaded, rows, passage_start)

    @property
    def _dtype(self) -> np.dtype[np.floating]:
        return np.dtype(np.float16 if self.bf16 else np.float32)

    @contextmanager
    def _inference(self, device: torch.device) -> Iterator[None]:
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
            yield

    def _load(
        self, key: str, lengths: Sequence[int], width: int, computed: VectorsByRow, title: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Map the file of a key; if it is missing or damaged, write it first.

        Each row has its number of vectors of a width; the rows are computed only if they are written.
        """
        file = self.folder / f"{key[:16]}.npy"
        offsets = np.cumsum([0, *lengths])
        if not (file.exists() and matches_checksum(file)):
            with write_with_checksum(file) as temporary:
                stored = np.lib.format.open_memmap(temporary, "w+", self._dtype, (int(offsets[-1]), width))
                reserve_space(temporary)
                for row, vectors in track_progress(computed, len(lengths), title):
                    row_slice = slice(offsets[row], offsets[row + 1])
                    stored[row_slice] = vectors
                    if not np.isfinite(stored[row_slice]).all():
                        problem = f"cannot be: outputs of the encoder do not fit into {self._dtype.name}"
                        cure = "Set training.precision to fp32, or train it with frozen: false"
                        raise CoattendError(problem, where="training.frozen", cure=cure)
                stored.flush()
        return np.load(file, mmap_mode="r"), offsets


def _rows_of(examples: Sequence[Example], first_sequence: Mapping[str, int]) -> list[int]:
    """Return the numbers of all sequences of examples."""
    return [
        first_sequence[example.question_id] + sequence
        for example in examples
        for sequence in range(len(example.sequences))
    ]
