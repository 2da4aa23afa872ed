"""No interaction: the encoder's vectors, unchanged."""

from torch import nn

from coattend.readers.interactions.configs import NoInteractionConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape


class NoInteraction(nn.Module):
    """Passes on the encoder's output, including its summary: the papers' baseline.

    Args:
        config: No options.
        shape: The encoder's.
    """

    Config = NoInteractionConfig

    def __init__(self, config: NoInteractionConfig, shape: EncoderShape) -> None:
        super().__init__()

    def forward(self, encoded: Encoded) -> Attended:
        """Pass on passage [S, P, H], question [S, Q, H] and summary [S, H], unchanged."""
        return Attended(
            passage=encoded.passage,
            question=encoded.question,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            summary=encoded.summary,
        )


PART = NoInteraction
