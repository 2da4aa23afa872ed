"""The ReCAM variant of DUMA: one stream attends to the other, which then attends to what came of the first."""

from typing import Literal, cast

from pydantic import Field
from torch import Tensor, nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.multi_head import MultiHeadAttention
from coattend.readers.parts import EncoderShape, InteractionConfig


class SequentialMultiHead(nn.Module):
    """Sequential multi-head co-attention (the read-me of the ReCAM DUMA, section 1).

    First the question with its option looks at the article, as the query: Q' = Norm(Q + MHA(Q, P, P)). Then the article
    looks at what came of it: P' = Norm(P + MHA(P, Q', Q')). Both use one attention, without biases, whose heads need
    not fill the encoder's width; before it the encoder's vectors pass a dropout and a norm.

    With ``keep_maps`` the maps ``passage_attention`` [S, heads, P, Q] and ``question_attention`` [S, heads, Q, P] say
    what the tokens of each stream looked at in the last layer.

    Args:
        config: Its options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """Options of sequential multi-head co-attention."""

        order: Literal["question_first", "passage_first"] = Field(
            "question_first", description="Which stream looks first; the other one looks at what came of it."
        )
        heads: int = Field(24, ge=1, description="Heads of the attention.")
        head_width: int = Field(
            64, ge=1, description="Width d_k of a head; heads x d_k need not be the encoder's width."
        )
        layers: int = Field(1, ge=1, le=100, description="Layers of co-attention.")
        share_layers: bool = Field(True, description="Whether layers share their parameters; the release's do not.")
        sequence_dropout: float = Field(0.1, ge=0, lt=1, description="Dropout of the encoder's vectors.")
        attention_dropout: float = Field(0.1, ge=0, lt=1, description="Dropout of the attention's weights and output.")

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.sequence_dropout)
        self.norm = nn.LayerNorm(shape.hidden_size, eps=1e-6)
        made = [Attend(config, shape.hidden_size) for _ in range(1 if config.share_layers else config.layers)]
        self.attend = nn.ModuleList(made)
        self.layers = config.layers
        first = "question" if config.order == "question_first" else "passage"
        self.order = (first, "passage" if first == "question" else "question")
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Let one stream attend to the other, and then the other to it.

        Args:
            encoded: Passage [S, P, H] and question [S, Q, H].

        Returns:
            Both streams, attended [S, P, H] and [S, Q, H].
        """
        streams = {name: self.norm(self.dropout(getattr(encoded, name))) for name in ("passage", "question")}
        masks = {"passage": encoded.passage_mask, "question": encoded.question_mask}
        maps = {}
        for layer in range(self.layers):
            attend = cast(Attend, self.attend[layer % len(self.attend)])
            for asking, asked in (self.order, self.order[::-1]):
                given = streams[asking], streams[asked], masks[asked]
                if self.keep_maps:
                    maps[f"{asking}_attention"] = attend.attention.weights(*given)
                streams[asking] = attend(*given)
        return Attended(
            passage=streams["passage"],
            question=streams["question"],
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            maps=maps,
        )


class Attend(nn.Module):
    """Attention, dropout, residual and norm.

    Args:
        config: Heads and dropout.
        width: H.
    """

    def __init__(self, config: SequentialMultiHead.Config, width: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(
            width,
            config.heads,
            head_width=config.head_width,
            projected=True,
            bias=False,
            dropout=config.attention_dropout,
        )
        self.dropout = nn.Dropout(config.attention_dropout)
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, asking: Tensor, asked: Tensor, mask: Tensor) -> Tensor:
        """Attend: [S, L, H], [S, M, H] and the mask [S, M] of what is asked to [S, L, H]."""
        attended: Tensor = self.norm(asking + self.dropout(self.attention(asking, asked, mask)))
        return attended


PART = SequentialMultiHead
