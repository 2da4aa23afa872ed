"""DUMA's dual multi-head co-attention: passage and question attend to each other with one multi-head attention."""

from collections.abc import Set
from typing import Literal

from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from coattend.errors import CoattendError
from coattend.readers.attended import Attended, Encoded
from coattend.readers.linear import linear
from coattend.readers.parts import EncoderShape, InteractionConfig

Direction = Literal["both", "passage_to_question", "question_to_passage"]


class DualMultiHead(nn.Module):
    """Dual multi-head co-attention (DUMA, equation 1), before the fusion.

    MHA_1 = MHA(E^P, E^QA, E^QA) is the passage's stream, MHA_2 = MHA(E^QA, E^P, E^P) the question's; both share their
    parameters, and so do stacked layers, each of which replaces the streams by their attended forms. The paper does
    not say which of the two its one-directional ablations keep; here a direction is named by who looks at whom:
    ``passage_to_question`` keeps MHA_1 (the passage asks, the question is asked), ``question_to_passage`` keeps MHA_2.
    The stream that is left out is not filled, and stays as it was encoded for the layers that follow.

    The bias of the keys adds the same to every score of a softmax: it is part of the paper's parameter count and
    cannot get a gradient.

    Args:
        config: Its options.
        shape: The encoder's.

    Raises:
        CoattendError: If the heads do not divide the encoder's width.
    """

    class Config(InteractionConfig):
        """Options of dual multi-head co-attention."""

        layers: int = Field(1, ge=1, le=100, description="Layers of co-attention; they share their parameters.")
        heads: int | None = Field(None, ge=1, description="Heads of the attention; null: as many as the encoder has.")
        direction: Direction = Field(
            "both", description="both; passage_to_question keeps MHA_1 alone, question_to_passage MHA_2 alone."
        )
        output_projection: bool = Field(
            False, description="W^O of equation 1, which the release leaves out; a transformer block always has it."
        )
        block: Literal["attention", "transformer"] = Field(
            "attention", description="transformer: a whole block with norms and feed-forward layer (TB-DUMA)."
        )
        attention_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of the attention's weights.")

        def fills(self, given: Set[str]) -> frozenset[str]:
            """Both streams, or the one that the direction keeps."""
            kept = {"both": {"passage", "question"}, "passage_to_question": {"passage"}}
            return frozenset(kept.get(self.direction, {"question"})) & given

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        heads = config.heads or shape.attention_heads
        if shape.hidden_size % heads:
            raise CoattendError(
                f"{heads} heads do not divide the encoder's width {shape.hidden_size}", where="option 'heads'"
            )
        whole = config.block == "transformer"
        attention = MultiHeadAttention(
            shape.hidden_size, heads, projected=config.output_projection or whole, dropout=config.attention_dropout
        )
        self.attend = TransformerBlock(attention, shape.hidden_size) if whole else attention
        self.layers, self.direction = config.layers, config.direction

    def forward(self, encoded: Encoded) -> Attended:
        """Let passage and question attend to each other.

        Args:
            encoded: Passage [S, P, H] and question [S, Q, H].

        Returns:
            MHA_1 [S, P, H] as the passage and MHA_2 [S, Q, H] as the question, as far as the direction keeps them.
        """
        passage, question = encoded.passage, encoded.question
        asks = self.direction != "question_to_passage"
        answers = self.direction != "passage_to_question"
        for _ in range(self.layers):
            passage, question = (
                self.attend(passage, question, encoded.question_mask) if asks else passage,
                self.attend(question, passage, encoded.passage_mask) if answers else question,
            )
        return Attended(
            passage=passage if asks else None,
            question=question if answers else None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
        )


class MultiHeadAttention(nn.Module):
    """MHA(Query, Key, Value) of equation 1, with Key = Value.

    Args:
        width: H.
        heads: Number of heads; each is H / heads wide.
        projected: Whether W^O follows.
        dropout: Dropout of the attention's weights.
    """

    def __init__(self, width: int, heads: int, *, projected: bool, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value = linear(width, width), linear(width, width), linear(width, width)
        self.output = linear(width, width) if projected else nn.Identity()
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
        heads = scaled_dot_product_attention(  # [S, heads, L, H / heads]
            query, key, value, attn_mask=mask[:, None, None], dropout_p=self.dropout if self.training else 0.0
        )
        return self.output(heads.transpose(1, 2).flatten(2))

    def _split(self, stream: Tensor) -> Tensor:
        return stream.unflatten(-1, (self.heads, -1)).transpose(1, 2)


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
        stream = self.after_attention(asking + self.attention(asking, asked, mask))
        return self.after_feed_forward(stream + self.narrow(gelu(self.widen(stream))))


PART = DualMultiHead
