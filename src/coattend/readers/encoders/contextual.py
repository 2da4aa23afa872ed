"""Contextual word vectors from a frozen transformer."""

from typing import Any

import torch
from torch import Tensor, nn

from coattend.readers.encoders.pretrained import load_model, position_limit

OF_NO_WORD, PADDING = -1, -2
"""Word indices of special tokens and of padding in the input of `ContextVectors`."""


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
        """Encode texts.

        Args:
            subwords: Ids of subwords, including special tokens [S, M].
            words: The word that each subword belongs to [S, M], less than ``length``; -1 for special tokens, -2 for
                padding.
            length: L.

        Returns:
            [S, L, width], without gradients.
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
