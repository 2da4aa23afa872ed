"""What a frozen encoder makes of every sequence, computed once and kept on disk.

Trials that share an encoder and questions share these files, whatever their interaction, head and seed.
"""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from coattend.datasets.atomic import reserve
from coattend.datasets.seals import is_whole, sealed
from coattend.engines.progress import shown
from coattend.readers.batch import Batch
from coattend.readers.reader import Reader
from coattend.training.batching import LengthBuckets
from coattend.training.collation import Collator
from coattend.training.examples import Example, digest
from coattend.training.kept_vectors import kept_as, padded_vectors
from coattend.training.tokens import Tokens

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptStates:
    """Hidden states of examples' sequences.

    Attributes:
        states: Real tokens of all sequences, one after the other [tokens, H].
        offsets: Where each sequence begins, and where the last one ends.
        first: The first sequence of each question.
    """

    states: np.ndarray
    offsets: np.ndarray
    first: dict[str, int]

    def __call__(self, examples: Sequence[Example], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What they add to a batch: hidden states of the sequences [S, N, H], zero at padding.

        Args:
            examples: B questions with S sequences in all.
            arrays: The batch's other fields.
        """
        length = arrays["input_ids"].shape[1]
        rows = [self.first[one.question_id] + place for one in examples for place in range(len(one.sequences))]
        return {"hidden": padded_vectors(self.states, self.offsets, rows, length)}


def keep_states(
    reader: Reader,
    examples: Sequence[Example],
    *,
    tokens: Tokens,
    collator: Collator,
    folder: Path,
    encoder: str,
    tokens_per_batch: int,
    bf16: bool,
) -> KeptStates:
    """The hidden states of examples, computed unless they are kept already.

    Args:
        reader: Whose encoder is frozen, on the device to use.
        examples: The questions.
        tokens: Their tokens.
        collator: Makes a batch's tensors.
        folder: Where states are kept.
        encoder: A hash of the encoder.
        tokens_per_batch: Most padded tokens in a batch.
        bf16: Whether matrix products run in bf16; states are kept in half precision then.
    """
    content = [encoder, digest(examples, tokens), kept_as(bf16).name]
    file = folder / f"{hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]}.npy"
    lengths = [
        collator.special_tokens + window[1] + size
        for example in examples
        for size, window in zip(example.lengths, example.windows, strict=True)
    ]
    offsets = np.cumsum([0, *lengths])
    counts = np.cumsum([0, *(len(example.sequences) for example in examples)]).tolist()
    first = {example.question_id: row for example, row in zip(examples, counts, strict=False)}
    if not (file.exists() and is_whole(file)):
        logger.info("the encoder reads %s sequences, once", f"{len(offsets) - 1:,}")
        with sealed(file) as temporary:
            _write(temporary, reader, examples, collator, offsets, first, tokens_per_batch, bf16)
    return KeptStates(np.load(file, mmap_mode="r"), offsets, first)


def _write(
    file: Path,
    reader: Reader,
    examples: Sequence[Example],
    collator: Collator,
    offsets: np.ndarray,
    first: dict[str, int],
    tokens_per_batch: int,
    bf16: bool,
) -> None:
    width = reader.encoder.shape.hidden_size
    kept = np.lib.format.open_memmap(file, "w+", kept_as(bf16), (int(offsets[-1]), width))
    reserve(file)
    device = next(reader.parameters()).device
    how = {"tokens_per_batch": tokens_per_batch, "shuffle": False}
    buckets = LengthBuckets.of(examples, collator.sequence_length, **how)
    for rows in shown((rows for rows in buckets), len(buckets), "Encoding"):
        chosen = [examples[row] for row in rows]
        batch = Batch(**collator(chosen)).to(device)
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            states = reader.encoder.read(batch).to(torch.half if bf16 else torch.float).cpu().numpy()  # [S, N, H]
        numbers = [first[one.question_id] + place for one in chosen for place in range(len(one.sequences))]
        for place, row in enumerate(numbers):
            start, end = offsets[row : row + 2]
            kept[start:end] = states[place, : end - start]
    kept.flush()
