"""The ReCAM variant of DUMA: one stream attends to the other, which then attends to the result; or both at once."""

from typing import cast

from torch import Tensor, nn

from coattend.readers.interactions.configs import SequentialMultiHeadConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.attention import MultiHeadAttention


class SequentialMultiHead(nn.Module):
    """Sequential multi-head co-attention (the read-me of the ReCAM DUMA, section 1).

    First the question with its option attends to the article: Q' = Norm(Q + MHA(Q, P, P)). Then the article attends to
    the result: P' = Norm(P + MHA(P, Q', Q')). Both use one attention, without biases, whose heads need not fill the
    encoder's width; before it the encoder's vectors pass a dropout and a norm. With the order ``both`` no stream is
    first, as in DUMA: P' = Norm(P + MHA(P, Q, Q)), and all else stays.

    With ``keep_maps`` the maps ``passage_attention`` [S, heads, P, Q] and ``question_attention`` [S, heads, Q, P] are
    the attention of each stream to the other in the last layer.
    """

    Config = SequentialMultiHeadConfig

    def __init__(self, config: SequentialMultiHeadConfig, shape: EncoderShape) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.sequence_dropout)
        self.norm = nn.LayerNorm(shape.hidden_size, eps=1e-6)
        layer_count = 1 if config.share_layers else config.layers
        self.attend = nn.ModuleList([Attend(config, shape.hidden_size) for _ in range(layer_count)])
        self.layers = config.layers
        first = "question" if config.order == "question_first" else "passage"
        self.order = (first, "passage" if first == "question" else "question")
        self.at_once = config.order == "both"
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Let the streams attend to each other, at once or one after the other: P' [S, P, H] and Q' [S, Q, H]."""
        # Dropout and norm come before the attention, for both streams alike.
        streams = {name: self.norm(self.dropout(getattr(encoded, name))) for name in ("passage", "question")}
        masks = {"passage": encoded.passage_mask, "question": encoded.question_mask}
        maps = {}
        for layer in range(self.layers):
            attend = cast(Attend, self.attend[layer % len(self.attend)])
            # The second step reads the stream that the first step has changed, unless both are taken at once.
            before = dict(streams) if self.at_once else streams
            for query, key in (self.order, self.order[::-1]):
                inputs = before[query], before[key], masks[key]
                if self.keep_maps:
                    maps[f"{query}_attention"] = attend.attention.weights(*inputs)
                streams[query] = attend(*inputs)
        return Attended.of(encoded, passage=streams["passage"], question=streams["question"], maps=maps)


class Attend(nn.Module):
    """Attention, dropout, residual and norm."""

    def __init__(self, config: SequentialMultiHeadConfig, width: int) -> None:
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

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Attend from [S, L, H] to [S, M, H], with the mask [S, M] of the latter: [S, L, H]."""
        attended: Tensor = self.norm(queries + self.dropout(self.attention(queries, keys, mask)))
        return attended


PART = SequentialMultiHead
