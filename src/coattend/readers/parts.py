"""What the parts of a reader say about themselves: their options, what they fill and what they need."""

from collections.abc import Set
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

STREAMS = frozenset({"passage", "question"})
"""The two domains of a sequence."""


@dataclass(frozen=True)
class EncoderShape:
    """What the other parts have to know of an encoder.

    Attributes:
        hidden_size: Width H of its vectors.
        attention_heads: Heads of its self-attention.
    """

    hidden_size: int
    attention_heads: int


class PartConfig(BaseModel):
    """Options of a part: strict about names, each with a description."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class InteractionConfig(PartConfig):
    """Options of an interaction."""

    def fills(self, given: Set[str]) -> frozenset[str]:
        """Fields of `Attended` that the interaction fills, out of what the encoder gave; here both streams."""
        return STREAMS & given

    def width(self, shape: EncoderShape) -> int:
        """Width of the vectors that the interaction hands on; here the encoder's."""
        return shape.hidden_size
