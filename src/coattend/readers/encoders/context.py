"""Vectors of words in their context, from a transformer that is not trained."""

from typing import Any

import torch
from torch import Tensor, nn

from coattend.readers.encoders.pretrained import load_model, position_limit

OF_NO_WORD, PADDING = -1, -2
"""What `ContextVectors` takes a special token and padding to belong to."""


class ContextVectors(nn.Module):
    """The last hidden states of a frozen transformer that reads a text alone; they stand in the place of CoVe's.

    A word's vector is the mean of its pieces'. Words beyond the transformer's longest sequence have zeros.

    Args:
        source: The transformer, as `coattend.readers.build` takes it.
    """

    def __init__(self, source: Any) -> None:
        super().__init__()
        self.model = load_model(source, dropout=0.0, pooler=False).requires_grad_(False)
        self.width: int = self.model.config.hidden_size
        self._limit = position_limit(self.model)

    def forward(self, pieces: Tensor, words: Tensor, length: int) -> Tensor:
        """Read texts.

        Args:
            pieces: Subwords, special ones included [S, M].
            words: The word that each lies in [S, M], counted in ``length``; -1 for special tokens, -2 for padding.
            length: L.

        Returns:
            [S, L, width], without gradients.
        """
        pieces, words = pieces[:, : self._limit], words[:, : self._limit]
        with torch.no_grad():
            states: Tensor = self.model(input_ids=pieces, attention_mask=words != PADDING).last_hidden_state
            states = states.to(self.model.dtype)
            place = words.clamp_min(OF_NO_WORD) + 1  # Row 0 gathers what is of no word.
            sums = states.new_zeros(len(pieces), length + 1, self.width)
            sums.scatter_add_(1, place.unsqueeze(-1).expand_as(states), states)
            counts = states.new_zeros(len(pieces), length + 1).scatter_add_(1, place, torch.ones_like(states[..., 0]))
        return (sums / counts.clamp_min(1).unsqueeze(-1))[:, 1:]
