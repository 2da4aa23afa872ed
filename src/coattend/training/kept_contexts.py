"""Vectors of words in their context, computed once for each distinct text and kept on disk.

Trials that share the transformer and texts share these files, whatever else their readers are.
"""

import hashlib
import json
import logging
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from coattend.datasets.atomic import reserve
from coattend.datasets.seals import is_whole, sealed
from coattend.engines.progress import shown
from coattend.readers.encoders.context import ContextVectors
from coattend.training.batching import LengthBuckets
from coattend.training.examples import Example
from coattend.training.kept_vectors import kept_as, padded_vectors
from coattend.training.pieces import Pieces, Side, padded, sides

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptContexts:
    """Vectors of the words of both sides of examples' sequences.

    Attributes:
        vectors: Those of all sides, one after the other [words, H].
        offsets: Where each side begins, and where the last one ends.
        rows: The place of each side among them.
        before: Positions before a passage's first word.
    """

    vectors: np.ndarray
    offsets: np.ndarray
    rows: Mapping[Side, int]
    before: int

    def __call__(self, examples: Sequence[Example], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What they add to a batch: vectors of passages [S, P, H] and questions [S, Q, H], zero at padding.

        Args:
            examples: B questions with S sequences in all.
            arrays: The batch's other fields.
        """
        asked = [side for example in examples for side in sides(example, self.before)]
        return {
            f"{name}_context": padded_vectors(
                self.vectors, self.offsets, [self.rows[pair[place]] for pair in asked], arrays[f"{name}_mask"].shape[1]
            )
            for place, name in enumerate(("passage", "question"))
        }


def keep_contexts(
    context: ContextVectors,
    examples: Sequence[Example],
    *,
    pieces: Pieces,
    before: int,
    folder: Path,
    encoder: str,
    tokens_per_batch: int,
    bf16: bool,
) -> KeptContexts:
    """The vectors of examples' words, computed unless they are kept already.

    Args:
        context: What makes them, on the device to use.
        examples: The questions.
        pieces: Subwords of their texts.
        before: Positions before a passage's first word.
        folder: Where vectors are kept.
        encoder: A hash of the transformer.
        tokens_per_batch: Most padded subwords in a batch.
        bf16: Whether matrix products run in bf16; vectors are kept in half precision then.
    """
    rows: dict[Side, int] = {}
    for example in examples:
        for pair in sides(example, before):
            for side in pair:
                rows.setdefault(side, len(rows))
    texts = [pieces.text(side) for side in rows]
    content = hashlib.sha256(json.dumps([encoder, bf16]).encode())
    for side, text in zip(rows, texts, strict=True):
        content.update(f"{side.length}|".encode() + text.tobytes())  # A last word may have no pieces.
    file = folder / f"{content.hexdigest()[:16]}.npy"
    offsets = np.cumsum([0, *(side.length for side in rows)])
    if not (file.exists() and is_whole(file)):
        kept = kept_as(bf16)
        size = int(offsets[-1]) * context.width * kept.itemsize / 1e6
        logger.info("the encoder reads %s texts, once; their words' vectors take %.0f MB", f"{len(texts):,}", size)
        with sealed(file) as temporary:
            stored = np.lib.format.open_memmap(temporary, "w+", kept, (int(offsets[-1]), context.width))
            reserve(temporary)
            read = _read(context, texts, offsets, pieces.layout.pad_id, tokens_per_batch, bf16)
            for place, vectors in shown(read, len(texts), "Encoding words"):
                stored[offsets[place] : offsets[place + 1]] = vectors
            stored.flush()
    return KeptContexts(np.load(file, mmap_mode="r"), offsets, rows, before)


def _read(
    context: ContextVectors,
    texts: Sequence[np.ndarray],
    offsets: np.ndarray,
    pad_id: int,
    tokens_per_batch: int,
    bf16: bool,
) -> Generator[tuple[int, np.ndarray], None, None]:
    """The place of each text and the vectors of its words."""
    device = next(context.parameters()).device
    lengths = [text.shape[1] for text in texts]
    for places in LengthBuckets(lengths, [1] * len(texts), tokens_per_batch=tokens_per_batch, shuffle=False):
        ids, words = (torch.from_numpy(one).to(device) for one in padded([texts[place] for place in places], pad_id))
        longest = int(max(offsets[place + 1] - offsets[place] for place in places))
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            vectors = context(ids, words, longest).float().cpu().numpy()
        for place, of_text in zip(places, vectors, strict=True):
            yield place, of_text[: offsets[place + 1] - offsets[place]]
