"""Multi-head attention of one stream to another, and the transformer block around it."""

import math

from torch import Tensor, nn
from torch.nn.functional import gelu

from coattend.readers.attend import attend
from coattend.readers.linear import linear


class MultiHeadAttention(nn.Module):
    """MHA(Query, Key, Value) of DUMA, equation 1, with Key = Value.

    Args:
        width: H.
        heads: Number of heads.
        head_width: Width d_k of a head; None: H / heads.
        projected: Whether W^O follows; it has to where all heads together are not H wide.
        bias: Whether the maps have biases.
        dropout: Dropout of the attention's weights.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        projected: bool,
        head_width: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        inner = width if head_width is None else heads * head_width
        self.query, self.key, self.value = (linear(width, inner, bias=bias) for _ in range(3))
        self.output = linear(inner, width, bias=bias) if projected else nn.Identity()
        self.heads, self.dropout = heads, dropout

    def forward(self, asking: Tensor, asked: Tensor, mask: Tensor) -> Tensor:
        """Attend.

        Args:
            asking: The queries' stream [S, L, H].
            asked: The stream of keys and values [S, M, H].
            mask: True at its real tokens [S, M].

        Returns:
            The attended stream [S, L, H].
        """
        query, key, value = (
            self._split(self.query(asking)),
            self._split(self.key(asked)),
            self._split(self.value(asked)),
        )
        dropout = self.dropout if self.training else 0.0
        heads = attend(query, key, value, mask[:, None, None], dropout=dropout)  # [S, heads, L, H / heads]
        attended: Tensor = self.output(heads.transpose(1, 2).flatten(2))
        return attended

    def weights(self, asking: Tensor, asked: Tensor, mask: Tensor) -> Tensor:
        """What `forward` weighs the values by, to look at; its own kernel never holds it as a whole.

        Args:
            asking: The queries' stream [S, L, H].
            asked: The stream of keys [S, M, H].
            mask: True at its real tokens [S, M].

        Returns:
            softmax(Q K^T / sqrt(d_k)), without dropout [S, heads, L, M].
        """
        query, key = self._split(self.query(asking)), self._split(self.key(asked))
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        return scores.masked_fill(~mask[:, None, None], -math.inf).softmax(-1)

    def _split(self, stream: Tensor) -> Tensor:
        heads: Tensor = stream.unflatten(-1, (self.heads, -1))
        return heads.transpose(1, 2)


class TransformerBlock(nn.Module):
    """Attention, add & norm, feed-forward, add & norm (DUMA, section 6.1); the queries' stream is what is added.

    Args:
        attention: Its attention.
        width: H; the feed-forward layer is four times as wide, with GELU between, as in BERT.
    """

    def __init__(self, attention: MultiHeadAttention, width: int) -> None:
        super().__init__()
        self.attention = attention
        self.widen, self.narrow = linear(width, 4 * width), linear(4 * width, width)
        self.after_attention, self.after_feed_forward = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, asking: Tensor, asked: Tensor, mask: Tensor) -> Tensor:
        """Attend, as `MultiHeadAttention` does: [S, L, H], [S, M, H], [S, M] to [S, L, H]."""
        attended = self.after_attention(asking + self.attention(asking, asked, mask))
        stream: Tensor = self.after_feed_forward(attended + self.narrow(gelu(self.widen(attended))))
        return stream

    def weights(self, asking: Tensor, asked: Tensor, mask: Tensor) -> Tensor:
        """Its attention's weights, as `MultiHeadAttention.weights` gives them: [S, heads, L, M]."""
        return self.attention.weights(asking, asked, mask)
