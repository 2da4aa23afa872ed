"""The multi-head co-attention that POI-Net is compared with: one whole transformer layer more, any number of turns."""

from pydantic import Field
from torch import nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.interactions.dual_multi_head import DualMultiHead
from coattend.readers.parts import EncoderShape, InteractionConfig


class MultiHeadBlock(nn.Module):
    """Multi-head co-attention in the place of iterative co-attention (POI-Net, figure 4 and table 7).

    The paper does not say what the block holds. Its parameters are those of one whole transformer layer, so it is one
    here: attention of one stream to the other, norms and a feed-forward layer. Every turn applies it again to what came
    of the last, so that its parameters are the same at every number of turns, as a single row of table 7 suggests.
    With ``keep_maps`` there are the maps of `DualMultiHead`, of the last turn.

    Args:
        config: Its options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """Options of the multi-head block."""

        turns: int = Field(1, ge=0, le=100, description="How often the block is applied; 0 is the baseline.")
        attention_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of the attention's weights.")

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        self.keep_maps = False
        self.block: DualMultiHead | None = None
        if config.turns:
            applied = DualMultiHead.Config(
                block="transformer", layers=config.turns, attention_dropout=config.attention_dropout
            )
            self.block = DualMultiHead(applied, shape)

    def forward(self, encoded: Encoded) -> Attended:
        """Both streams after all turns, [S, P, H] and [S, Q, H]."""
        if self.block is not None:
            self.block.keep_maps = self.keep_maps
            attended: Attended = self.block(encoded)
            return attended
        return Attended(
            passage=encoded.passage,
            question=encoded.question,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
        )


PART = MultiHeadBlock
