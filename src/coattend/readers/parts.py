"""What the parts of a reader say about themselves: their options, what they fill and what they need."""

from collections.abc import Set
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

STREAMS = frozenset({"passage", "question"})
"""The two domains of a sequence."""


@dataclass(frozen=True)
class EncoderShape:
    """What the other parts have to know of an encoder.

    Attributes:
        hidden_size: Width H of its vectors.
        attention_heads: Heads of its self-attention.
        vocabulary: How many different tokens it knows.
        word_width: Width D of the question's word vectors; None if it hands over none.
    """

    hidden_size: int
    attention_heads: int
    vocabulary: int = 0
    word_width: int | None = None


class PartConfig(BaseModel):
    """Options of a part: strict about names, each with a description."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EncoderConfig(PartConfig):
    """Options of an encoder."""

    reads_together: ClassVar[bool]
    """Whether passage and question see each other in the encoder already."""


class InteractionConfig(PartConfig):
    """Options of an interaction."""

    def fills(self, given: Set[str]) -> frozenset[str]:
        """Fields of `Attended` that the interaction fills, out of what the encoder gave; here both streams."""
        return STREAMS & given

    def brings_together(self) -> bool:
        """Whether passage and question see each other in the interaction."""
        return True

    def width(self, shape: EncoderShape) -> int:
        """Width of the vectors that the interaction hands on; here the encoder's."""
        return shape.hidden_size
