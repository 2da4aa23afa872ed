"""Disk cache of frozen-encoder outputs: hidden states of sequences, and contextual vectors of words."""

import hashlib
import json
import logging
from collections.abc import Generator, Mapping, Sequence
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
from coattend.io.atomic import matches_checksum, reserve_space, write_with_checksum
from coattend.parallel.progress import track_progress
from coattend.readers.batch import Batch
from coattend.readers.encoders.contextual import ContextVectors
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.readers.reader import Reader

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CachedHiddenStates:
    """Hidden states of examples' sequences.

    Attributes:
        states: States of the real tokens of all sequences, one after the other [tokens, H].
        offsets: Start of each sequence, and end of the last one.
        first_sequence: Number of each question's first sequence, by question id.
    """

    states: np.ndarray
    offsets: np.ndarray
    first_sequence: dict[str, int]

    def __call__(self, examples: Sequence[Example], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return ``hidden`` [S, N, H] of a batch, zero at padding.

        Args:
            examples: B examples with S sequences in all.
            arrays: The batch's other fields.
        """
        length = arrays["input_ids"].shape[1]
        return {"hidden": pad_vectors(self.states, self.offsets, _rows_of(examples, self.first_sequence), length)}


@dataclass(frozen=True)
class CachedContextVectors:
    """Contextual vectors of the words of examples' passages and questions.

    Attributes:
        vectors: Vectors of all passages and questions, one after the other [words, H].
        offsets: Start of each passage or question, and end of the last one.
        rows: Number of each passage or question.
        passage_start: Position of a passage's first word in its domain.
    """

    vectors: np.ndarray
    offsets: np.ndarray
    rows: Mapping[TextSpan, int]
    passage_start: int

    def __call__(self, examples: Sequence[Example], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return ``passage_context`` [S, P, H] and ``question_context`` [S, Q, H] of a batch, zero at padding.

        Args:
            examples: B examples with S sequences in all.
            arrays: The batch's other fields.
        """
        spans = [pair for example in examples for pair in text_spans(example, self.passage_start)]
        passages, questions = ([self.rows[pair[side]] for pair in spans] for side in (0, 1))
        passage_length, question_length = (arrays[f"{side}_mask"].shape[1] for side in ("passage", "question"))
        return {
            "passage_context": pad_vectors(self.vectors, self.offsets, passages, passage_length),
            "question_context": pad_vectors(self.vectors, self.offsets, questions, question_length),
        }


def pad_vectors(vectors: np.ndarray, offsets: np.ndarray, rows: Sequence[int], length: int) -> np.ndarray:
    """Pad rows of cached vectors with zeros, in single precision [rows, length, H].

    Args:
        vectors: All rows, one after the other [vectors, H].
        offsets: Start of each row, and end of the last one.
        rows: Numbers of the rows.
        length: Length to pad to.
    """
    padded = np.zeros((len(rows), length, vectors.shape[1]), vectors.dtype)
    for index, row in enumerate(rows):
        start, end = offsets[row : row + 2]
        padded[index, : end - start] = vectors[start:end]
    single: np.ndarray = torch.from_numpy(padded).float().numpy()  # NumPy's own conversion takes six times as long.
    return single


def cache_dtype(bf16: bool) -> np.dtype[np.floating]:
    """Return the precision of the cache: half if matrix products run in bf16, else single."""
    return np.dtype(np.float16 if bf16 else np.float32)


def cache_hidden_states(
    reader: Reader,
    examples: Sequence[Example],
    *,
    tokens: Tokens,
    collator: Collator,
    folder: Path,
    encoder: str,
    tokens_per_batch: int,
    bf16: bool,
) -> CachedHiddenStates:
    """Compute the hidden states of examples, unless the cache has them.

    Args:
        reader: The reader with the frozen encoder, on the device to use.
        examples: The examples.
        tokens: Their tokens.
        collator: Makes a batch's tensors.
        folder: Folder of the cache.
        encoder: Digest of the encoder.
        tokens_per_batch: Maximum of padded tokens in a batch.
        bf16: Run matrix products in bf16; states are stored in half precision then.
    """
    # The name of the file is a hash of all that the states depend on.
    key = json.dumps([encoder, digest(examples, tokens), cache_dtype(bf16).name])
    file = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.npy"
    lengths = [
        collator.special_tokens + window[1] + length
        for example in examples
        for length, window in zip(example.lengths, example.windows, strict=True)
    ]
    offsets = np.cumsum([0, *lengths])
    counts = np.cumsum([0, *(len(example.sequences) for example in examples)]).tolist()
    first_sequence = {example.question_id: row for example, row in zip(examples, counts, strict=False)}
    if not (file.exists() and matches_checksum(file)):
        logger.info("the encoder reads %s sequences, once", f"{len(offsets) - 1:,}")
        with write_with_checksum(file) as temporary:
            shape = int(offsets[-1]), reader.encoder.shape.hidden_size
            states = np.lib.format.open_memmap(temporary, "w+", cache_dtype(bf16), shape)
            reserve_space(temporary)
            batches = LengthBuckets.from_examples(
                examples, collator.sequence_length, tokens_per_batch=tokens_per_batch, shuffle=False
            )
            for batch in track_progress((batch for batch in batches), len(batches), "Encoding"):
                members = [examples[index] for index in batch]
                encoded = _encode(reader, Batch(**collator(members)), bf16)
                for index, row in enumerate(_rows_of(members, first_sequence)):
                    start, end = offsets[row : row + 2]
                    states[start:end] = encoded[index, : end - start]
            states.flush()
    return CachedHiddenStates(np.load(file, mmap_mode="r"), offsets, first_sequence)


def _rows_of(examples: Sequence[Example], first_sequence: Mapping[str, int]) -> list[int]:
    """Return the numbers of all sequences of examples."""
    return [
        first_sequence[example.question_id] + sequence
        for example in examples
        for sequence in range(len(example.sequences))
    ]


def _encode(reader: Reader, batch: Batch, bf16: bool) -> np.ndarray:
    """Return the hidden states of a batch [S, N, H]."""
    batch = batch.to(next(reader.parameters()).device)
    with torch.inference_mode(), torch.autocast(batch.input_ids.device.type, torch.bfloat16, enabled=bf16):
        hidden = cast(TransformerEncoder, reader.encoder).read(batch)
        states: np.ndarray = hidden.to(torch.half if bf16 else torch.float).cpu().numpy()
        return states


def cache_context_vectors(
    context: ContextVectors,
    examples: Sequence[Example],
    *,
    alignment: SubwordAlignment,
    passage_start: int,
    folder: Path,
    encoder: str,
    tokens_per_batch: int,
    bf16: bool,
) -> CachedContextVectors:
    """Compute the contextual vectors of examples' words, unless the cache has them.

    Args:
        context: The module that computes them, on the device to use.
        examples: The examples.
        alignment: Subwords of their texts.
        passage_start: Position of a passage's first word in its domain.
        folder: Folder of the cache.
        encoder: Digest of the transformer.
        tokens_per_batch: Maximum of padded subwords in a batch.
        bf16: Run matrix products in bf16; vectors are stored in half precision then.
    """
    # A passage is encoded once, however many questions and options share it.
    rows: dict[TextSpan, int] = {}
    for example in examples:
        for pair in text_spans(example, passage_start):
            for span in pair:
                rows.setdefault(span, len(rows))
    encoded = [alignment.encode(span) for span in rows]
    key = hashlib.sha256(json.dumps([encoder, bf16]).encode())
    for span, subwords in zip(rows, encoded, strict=True):
        # The length tells texts apart whose last words have no subwords.
        key.update(f"{span.length}|".encode() + subwords.tobytes())
    file = folder / f"{key.hexdigest()[:16]}.npy"
    offsets = np.cumsum([0, *(span.length for span in rows)])
    if not (file.exists() and matches_checksum(file)):
        shape, dtype = (int(offsets[-1]), context.width), cache_dtype(bf16)
        size = shape[0] * shape[1] * dtype.itemsize / 1e6
        logger.info("the encoder reads %s texts, once; their words' vectors take %.0f MB", f"{len(rows):,}", size)
        with write_with_checksum(file) as temporary:
            stored = np.lib.format.open_memmap(temporary, "w+", dtype, shape)
            reserve_space(temporary)
            vectors_by_row = _context_vectors(
                context, encoded, offsets, alignment.layout.pad_id, tokens_per_batch, bf16
            )
            for row, vectors in track_progress(vectors_by_row, len(rows), "Encoding words"):
                stored[offsets[row] : offsets[row + 1]] = vectors
            stored.flush()
    return CachedContextVectors(np.load(file, mmap_mode="r"), offsets, rows, passage_start)


def _context_vectors(
    context: ContextVectors,
    encoded: Sequence[np.ndarray],
    offsets: np.ndarray,
    pad_id: int,
    tokens_per_batch: int,
    bf16: bool,
) -> Generator[tuple[int, np.ndarray], None, None]:
    """Yield the row of each text and the vectors of its words."""
    device = next(context.parameters()).device
    lengths = [subwords.shape[1] for subwords in encoded]
    for rows in LengthBuckets(lengths, [1] * len(encoded), tokens_per_batch=tokens_per_batch, shuffle=False):
        arrays = pad_subwords([encoded[row] for row in rows], pad_id)
        ids, words = (torch.from_numpy(array).to(device) for array in arrays)
        longest = int(max(offsets[row + 1] - offsets[row] for row in rows))
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            vectors = context(ids, words, longest).float().cpu().numpy()
        for row, text_vectors in zip(rows, vectors, strict=True):
            yield row, text_vectors[: offsets[row + 1] - offsets[row]]
