"""Features of words besides their own vectors: character n-grams, and contextual vectors of a frozen transformer."""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from coattend.readers.encoders.pretrained import load_model, position_limit

BUCKETS = 20_000
"""Distinct hashes of n-grams; n-grams with the same hash share a vector."""

SIZES = (2, 3, 4)
"""Values of n."""

OF_NO_WORD, PADDING = -1, -2
"""Word indices of special tokens and of padding in the input of `ContextVectors`."""


class NGrams(nn.Module):
    """The mean of the vectors of a word's character n-grams (Hashimoto et al. 2017, section 2.1), n = 2, 3, 4.

    Theirs are pretrained; these are learned, and n-grams share vectors by their hash to limit their number. Words are
    embedded by their ids, each of which has a spelling.
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


class ContextVectors(nn.Module):
    """The last hidden states of a frozen transformer over a text; they take the place of CoVe's vectors.

    A word's vector is the mean of its subwords'. Words beyond the transformer's longest sequence have zeros.

    Args:
        source: The transformer, as `coattend.readers.build` takes it.
    """

    def __init__(self, source: Any) -> None:
        super().__init__()
        self.model = load_model(source, dropout=0.0, pooler=False).requires_grad_(False)
        self.width: int = self.model.config.hidden_size
        self._limit = position_limit(self.model)

    def forward(self, subwords: Tensor, words: Tensor, length: int) -> Tensor:
        """Encode texts of up to L words, ``length``: [S, L, width], without gradients.

        Args:
            subwords: Ids of subwords, including special tokens [S, M].
            words: The word that each subword belongs to [S, M], less than L; -1 for special tokens, -2 for padding.
        """
        subwords, words = subwords[:, : self._limit], words[:, : self._limit]
        with torch.no_grad():
            states: Tensor = self.model(input_ids=subwords, attention_mask=words != PADDING).last_hidden_state
            states = states.to(self.model.dtype)
            # Average the states of each word; row 0 collects the subwords of no word.
            row = words.clamp_min(OF_NO_WORD) + 1
            sums = states.new_zeros(len(subwords), length + 1, self.width)
            sums.scatter_add_(1, row.unsqueeze(-1).expand_as(states), states)
            counts = states.new_zeros(len(subwords), length + 1).scatter_add_(1, row, torch.ones_like(states[..., 0]))
        return (sums / counts.clamp_min(1).unsqueeze(-1))[:, 1:]
