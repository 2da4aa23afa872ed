"""The multi-head co-attention that POI-Net is compared with: one more transformer layer, applied in turns."""

from torch import nn

from coattend.readers.interactions.configs import DualMultiHeadConfig, MultiHeadBlockConfig
from coattend.readers.interactions.dual_multi_head import DualMultiHead
from coattend.readers.interfaces import Attended, Encoded, EncoderShape


class MultiHeadBlock(nn.Module):
    """Multi-head co-attention in the place of iterative co-attention (POI-Net, figure 4 and table 7).

    The paper does not describe the block. Its parameters are those of a whole transformer layer, so it is one here:
    attention of one stream to the other, norms and a feed-forward layer. Every turn applies it again to the previous
    turn's output, so that its parameters are the same at every number of turns, as a single row of table 7 suggests.
    With ``keep_maps`` the maps are those of `DualMultiHead`, of the last turn.
    """

    Config = MultiHeadBlockConfig

    def __init__(self, config: MultiHeadBlockConfig, shape: EncoderShape) -> None:
        super().__init__()
        self.keep_maps = False
        self.block: DualMultiHead | None = None
        if config.turns:
            block_config = DualMultiHeadConfig(
                block="transformer", layers=config.turns, attention_dropout=config.attention_dropout
            )
            self.block = DualMultiHead(block_config, shape)

    def forward(self, encoded: Encoded) -> Attended:
        """Return both streams after all turns, [S, P, H] and [S, Q, H]."""
        if self.block is None:
            return Attended.of(encoded, passage=encoded.passage, question=encoded.question)
        self.block.keep_maps = self.keep_maps
        attended: Attended = self.block(encoded)
        return attended


PART = MultiHeadBlock
