"""The parts of a reader: what each of them is, and what its options say about it."""

from abc import abstractmethod
from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from coattend.readers.attended import Attended, Encoded
    from coattend.readers.batch import Batch
    from coattend.readers.reader import ReaderOutput

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

    @abstractmethod
    def fills(self) -> frozenset[str]:
        """Fields of `Attended` that the encoder can give, for an interaction to hand on."""


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


class HeadConfig(PartConfig):
    """Options of a head."""

    @abstractmethod
    def needs(self, given: Set[str]) -> frozenset[str]:
        """Fields of `Attended` that the head reads, out of what the interaction fills."""


class Encoder(Protocol):
    """The module of torch that a file of ``readers/encoders`` defines."""

    Config: ClassVar[type[EncoderConfig]]
    shape: EncoderShape

    def __init__(self, config: Any, source: Any, *, summary: bool = False) -> None: ...

    def __call__(self, batch: "Batch") -> "Encoded":
        """Turn tokens into vectors, of passage and question apart."""

    def describe(self) -> dict[str, Any]:
        """What it can be built from again, but for its weights."""


class Interaction(Protocol):
    """The module of torch that a file of ``readers/interactions`` defines."""

    Config: ClassVar[type[InteractionConfig]]
    keep_maps: bool

    def __init__(self, config: Any, shape: EncoderShape) -> None: ...

    def __call__(self, encoded: "Encoded") -> "Attended":
        """Let passage and question see each other."""


class Head(Protocol):
    """The module of torch that a file of ``readers/heads`` defines."""

    Config: ClassVar[type[HeadConfig]]

    def __init__(self, config: Any, shape: EncoderShape, given: Set[str]) -> None: ...

    def __call__(self, attended: "Attended", batch: "Batch") -> "ReaderOutput":
        """Answer, with the loss if the batch has answers."""


class Classes(NamedTuple):
    """The class of each part."""

    encoder: type[Encoder]
    interaction: type[Interaction]
    head: type[Head]


class Configs(NamedTuple):
    """The options of each part."""

    encoder: EncoderConfig
    interaction: InteractionConfig
    head: HeadConfig
