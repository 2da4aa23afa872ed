"""No interaction: the encoder's vectors, unchanged."""

from torch import nn

from coattend.readers.interactions.configs import NoInteractionConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape


class NoInteraction(nn.Module):
    """Passes on passage, question and summary of the encoder: the papers' baseline."""

    Config = NoInteractionConfig

    def __init__(self, config: NoInteractionConfig, shape: EncoderShape) -> None:
        super().__init__()

    def forward(self, encoded: Encoded) -> Attended:
        """Pass on passage [S, P, H], question [S, Q, H] and summary [S, H], unchanged."""
        return Attended.of(encoded, passage=encoded.passage, question=encoded.question, summary=encoded.summary)


PART = NoInteraction
