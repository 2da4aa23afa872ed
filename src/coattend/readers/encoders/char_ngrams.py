"""Character n-gram embeddings of words."""

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn

BUCKETS = 20_000
"""Distinct hashes of n-grams; n-grams with the same hash share a vector."""

SIZES = (2, 3, 4)
"""Values of n."""


class NGrams(nn.Module):
    """The mean of the vectors of a word's character n-grams (Hashimoto et al. 2017, section 2.1), n = 2, 3, 4.

    Theirs are pretrained; these are learned, and n-grams share vectors by their hash to limit their number.

    Args:
        spellings: Spelling of each id of the vocabulary.
        width: Width of the vectors.
    """

    grams: Tensor
    lengths: Tensor
    firsts: Tensor

    def __init__(self, spellings: Sequence[str], width: int) -> None:
        super().__init__()
        ngrams_by_id = [ngrams(spelling) for spelling in spellings]
        # Only buckets of this vocabulary have rows: others would be parameters that never learn.
        buckets = sorted({bucket for word in ngrams_by_id for bucket in word})
        row_of_bucket = {bucket: row for row, bucket in enumerate(buckets)}
        self.vectors = nn.EmbeddingBag(len(row_of_bucket), width, mode="mean")
        nn.init.uniform_(self.vectors.weight, -0.05, 0.05)
        # The n-grams of all words in one flat tensor, with the first and the number of each word's.
        rows = torch.tensor([row_of_bucket[bucket] for word in ngrams_by_id for bucket in word])
        lengths = torch.tensor([len(word) for word in ngrams_by_id])
        self.register_buffer("grams", rows, persistent=False)
        self.register_buffer("lengths", lengths, persistent=False)
        self.register_buffer("firsts", lengths.cumsum(0) - lengths, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Embed words, [S, L] to [S, L, width]."""
        # Each distinct word is embedded once.
        distinct, inverse = ids.unique(return_inverse=True)
        lengths = self.lengths[distinct]
        ends = lengths.cumsum(0)
        offsets = torch.arange(int(ends[-1]), device=ids.device) - (ends - lengths).repeat_interleave(lengths)
        grams = self.grams[self.firsts[distinct].repeat_interleave(lengths) + offsets]
        vectors: Tensor = self.vectors(grams, ends - lengths)
        return vectors[inverse]


def ngrams(word: str) -> list[int]:
    """Return the buckets of a word's distinct n-grams, with its beginning and end marked."""
    marked = f"#{word}#"
    grams = {marked[first : first + size] for size in SIZES for first in range(max(1, len(marked) - size + 1))}
    return sorted({int.from_bytes(hashlib.sha256(gram.encode()).digest()[:4]) % BUCKETS for gram in grams})
