"""No interaction: the encoder's vectors as they are."""

from collections.abc import Set

from torch import nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.parts import EncoderShape, InteractionConfig


class NoInteraction(nn.Module):
    """Hands on what the encoder made, its summary included: the papers' baseline.

    Args:
        config: It has no options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """No options."""

        def fills(self, given: Set[str]) -> frozenset[str]:
            """All that the encoder gave."""
            return frozenset(given)

        def brings_together(self) -> bool:
            """No."""
            return False

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()

    def forward(self, encoded: Encoded) -> Attended:
        """Passage [S, P, H], question [S, Q, H] and summary [S, H], unchanged."""
        return Attended(
            passage=encoded.passage,
            question=encoded.question,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            summary=encoded.summary,
        )


PART = NoInteraction
