"""Character n-grams of words."""

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn

BUCKETS = 20_000
SIZES = (2, 3, 4)


class NGrams(nn.Module):
    """The mean of the vectors of a word's character n-grams (Hashimoto et al. 2017, section 2.1), n = 2, 3, 4.

    Theirs are pretrained; these are learned, and n-grams share vectors by their hash, so that there are few.

    Args:
        spellings: How each id of the vocabulary is written.
        width: Width of the vectors.
    """

    grams: Tensor
    lengths: Tensor
    firsts: Tensor

    def __init__(self, spellings: Sequence[str], width: int) -> None:
        super().__init__()
        grams = [ngrams(spelling) for spelling in spellings]
        # Rows that no word has would be parameters that never learn.
        places = {bucket: place for place, bucket in enumerate(sorted({gram for row in grams for gram in row}))}
        self.vectors = nn.EmbeddingBag(len(places), width, mode="mean")
        nn.init.uniform_(self.vectors.weight, -0.05, 0.05)
        lengths = torch.tensor([len(row) for row in grams])
        self.register_buffer("grams", torch.tensor([places[gram] for row in grams for gram in row]), persistent=False)
        self.register_buffer("lengths", lengths, persistent=False)
        self.register_buffer("firsts", lengths.cumsum(0) - lengths, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Vectors of words, [S, L] to [S, L, width]."""
        distinct, places = ids.unique(return_inverse=True)
        lengths = self.lengths[distinct]
        ends = lengths.cumsum(0)
        within = torch.arange(int(ends[-1]), device=ids.device) - (ends - lengths).repeat_interleave(lengths)
        grams = self.grams[self.firsts[distinct].repeat_interleave(lengths) + within]
        vectors: Tensor = self.vectors(grams, ends - lengths)
        return vectors[places]


def ngrams(word: str) -> list[int]:
    """The buckets of a word's distinct n-grams, its beginning and end marked."""
    marked = f"#{word}#"
    grams = {marked[first : first + size] for size in SIZES for first in range(max(1, len(marked) - size + 1))}
    return sorted({int.from_bytes(hashlib.sha256(gram.encode()).digest()[:4]) % BUCKETS for gram in grams})
