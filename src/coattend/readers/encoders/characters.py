"""Untrained encoder over characters: a small transformer that starts from random weights, for languages whose
characters no pretrained encoder at hand knows."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, BertConfig, BertModel

from coattend.readers.encoders.configs import CHARACTERS

VERSION = 1
"""Raised when a change to this module trains another encoder from the same parameters."""

SPECIAL = (0, 1, 2, 3)
"""Ids of that tokenizer's special tokens: padding, unknown, [CLS] and [SEP]."""
UNKNOWN = 1


class CharacterConfig(BertConfig):
    """A configuration of BERT's with the ids of the characters that it knows."""

    model_type = CHARACTERS
    known_ids: list[int] | None = None
    id_count: int = 4


class CharacterModel(BertModel):
    """BERT's layers over an embedding of the known characters."""

    config_class = CharacterConfig

    def __init__(self, config: CharacterConfig, add_pooling_layer: bool = True) -> None:
        super().__init__(config, add_pooling_layer=add_pooling_layer)
        table = self.embeddings.word_embeddings
        self.embeddings.word_embeddings = KnownEmbedding(table, config.known_ids or [], config.id_count)


class KnownEmbedding(nn.Embedding):
    """Embedding whose table has rows for some ids alone; all others share that of the unknown token.

    Args:
        table: Its weights, a row for each known id in their order, of which the first is padding.
        known_ids: These ids, which begin with the special tokens'.
        id_count: Number of all ids.
    """

    def __init__(self, table: nn.Embedding, known_ids: list[int], id_count: int) -> None:
        super().__init__(table.num_embeddings, table.embedding_dim, padding_idx=0, _weight=table.weight)
        rows = torch.full((id_count,), UNKNOWN)
        rows[known_ids] = torch.arange(len(known_ids))
        self.register_buffer("rows", rows, persistent=False)
        # What may be looked up, and what a head over the vocabulary counts.
        self.num_embeddings = id_count

    def forward(self, input: Tensor) -> Tensor:
        """Look up the vectors of ids."""
        return super().forward(self.get_buffer("rows")[input])


def character_configuration(
    ids: Iterable[int], *, id_count: int, layers: int, hidden: int, heads: int, max_length: int
) -> dict[str, Any]:
    """Describe an encoder that knows some characters, from which `coattend.readers.build` makes one of random weights.

    Args:
        ids: Ids of characters, of the tokenizer ``characters``.
        id_count: Number of ids of that tokenizer.
        layers: Layers.
        hidden: Width of its vectors.
        heads: Heads of its self-attention.
        max_length: Tokens of the longest sequence that it reads.
    """
    known_ids = sorted({*SPECIAL, *ids})
    config = CharacterConfig(
        known_ids=known_ids,
        id_count=id_count,
        vocab_size=len(known_ids),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * hidden,
        max_position_embeddings=max_length,
    )
    description: dict[str, Any] = config.to_dict()
    return description


AutoConfig.register(CHARACTERS, CharacterConfig, exist_ok=True)
AutoModel.register(CharacterConfig, CharacterModel, exist_ok=True)
