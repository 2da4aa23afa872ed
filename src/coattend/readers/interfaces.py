"""Interfaces between the parts of a reader: encoder, interaction and head, their configurations and tensors.

Nothing here imports torch, so that names and options of readers are known in a fraction of a second.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from coattend.errors import CoattendError

if TYPE_CHECKING:
    from torch import Tensor

    from coattend.readers.batch import Batch
    from coattend.readers.reader import ReaderOutput

STREAMS = frozenset({"passage", "question"})
"""The two domains of a sequence."""

Task = Literal["options", "span", "word"]
"""Kinds of answers: one of several options, a span of the passage, or the missing word."""

Value = TypeVar("Value")


# Tensors that the parts pass on. Shapes: S sequences, P passage tokens, Q question tokens, H hidden size.


@dataclass(kw_only=True)
class Encoded:
    """Output of an encoder and input of an interaction. Values at padding are arbitrary but finite.

    Attributes:
        passage: Vectors of the passage domain [S, P, H]: CLS, passage, first SEP.
        question: Vectors of the question domain [S, Q, H]: question, option, last SEP.
        passage_mask: True at real tokens [S, P].
        question_mask: True at real tokens [S, Q].
        question_words: Inputs of a recurrent encoder's layer over the question domain [S, Q, D]: word vectors with
            their features; None from a transformer, which has no such layer.
        option_mask: True at the question domain's tokens that are the option [S, Q]; None if the batch does not
            provide it.
        question_state: One vector of the question domain [S, H]: the last states of a recurrent encoder, or the mean of
            a transformer's vectors; None if the encoder does not provide it.
        blank_mask: True at the question domain's tokens that are its blank [S, Q]; all False without a blank, None if
            the batch does not provide it.
        summary: One vector of the whole sequence [S, H], if the head requires it.
    """

    passage: "Tensor"
    question: "Tensor"
    passage_mask: "Tensor"
    question_mask: "Tensor"
    question_state: "Tensor | None" = None
    question_words: "Tensor | None" = None
    option_mask: "Tensor | None" = None
    blank_mask: "Tensor | None" = None
    summary: "Tensor | None" = None


@dataclass(kw_only=True)
class Attended:
    """Output of an interaction and input of a head. Fields that the interaction does not fill are None.

    Attributes:
        passage: Attended vectors of the passage domain [S, P, H].
        question: Attended vectors of the question domain [S, Q, H].
        passage_mask: True at real tokens [S, P].
        question_mask: True at real tokens [S, Q].
        token_mass: Probability of each passage token [S, P].
        summary: One vector of the whole sequence [S, H].
        maps: Attention maps by name, such as the scores of each turn [S, T, P]; empty unless the interaction's
            ``keep_maps`` is true.
    """

    passage: "Tensor | None"
    question: "Tensor | None"
    passage_mask: "Tensor"
    question_mask: "Tensor"
    token_mass: "Tensor | None" = None
    summary: "Tensor | None" = None
    maps: "dict[str, Tensor]" = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        encoded: Encoded,
        *,
        passage: "Tensor | None" = None,
        question: "Tensor | None" = None,
        token_mass: "Tensor | None" = None,
        summary: "Tensor | None" = None,
        maps: "dict[str, Tensor] | None" = None,
    ) -> "Attended":
        """Return an interaction's output for its input, with the same masks."""
        return cls(
            passage=passage,
            question=question,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            token_mass=token_mass,
            summary=summary,
            maps=maps or {},
        )


@dataclass(frozen=True)
class EncoderShape:
    """Sizes of an encoder that interaction and head depend on.

    Attributes:
        hidden_size: Width H of its vectors.
        attention_heads: Heads of its self-attention.
        vocabulary: Number of tokens in its vocabulary.
        word_width: Width D of the question's word vectors; None if it does not provide them.
    """

    hidden_size: int
    attention_heads: int
    vocabulary: int = 0
    word_width: int | None = None


@dataclass(frozen=True, kw_only=True)
class NamedReader:
    """A named combination of parts and options: a row of the zoo, or ``READER`` in a module of another package.

    Attributes:
        title: Name as the literature writes it.
        paper: Source of the reader.
        encoder: Module of ``readers/encoders``.
        interaction: Module of ``readers/interactions``; or, for a reader of another package, the interaction's class,
            or a reference to it (``"package.module:Class"``) that is imported when its options are needed.
        heads: Modules of ``readers/heads`` that the reader may be built with, the default first.
        defaults: Options that differ from the parts' own defaults.
    """

    title: str
    paper: str = ""
    encoder: str = "transformer"
    interaction: str | type = "none"
    heads: tuple[str, ...] = ("options",)
    defaults: Mapping[str, Any] = field(default_factory=dict)


# Options of the parts, which also tell how parts fit together.


class PartConfig(BaseModel):
    """Options of a part: unknown names are refused, and each field has a default and a description."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EncoderConfig(PartConfig):
    """Options of an encoder."""

    output_fields: ClassVar[frozenset[str]]
    """Fields of `Attended` that the encoder can provide, for an interaction to pass on, unless `provides` says
    otherwise."""

    def provides(self) -> frozenset[str]:
        """Return the fields of `Attended` that the encoder can provide."""
        return self.output_fields

    def aware(self) -> frozenset[str]:
        """Return the streams whose vectors have seen the other stream; by default none."""
        return frozenset()


class InteractionConfig(PartConfig):
    """Options of an interaction."""

    output_fields: ClassVar[frozenset[str]] = STREAMS
    """Fields of `Attended` that the interaction fills, unless `fills` says otherwise."""

    def fills(self, provided: Set[str]) -> frozenset[str]:
        """Return the fields of `Attended` that the interaction fills, of an encoder that provides those fields."""
        return self.output_fields

    def brings_together(self) -> bool:
        """Tell whether passage and question attend to each other in the interaction."""
        return True

    def width(self, shape: EncoderShape) -> int:
        """Return the width of the vectors that the interaction passes on; by default the encoder's."""
        return shape.hidden_size


class HeadConfig(PartConfig):
    """Options of a head."""

    task: ClassVar[Task]
    """The task that the head answers."""

    input_fields: ClassVar[frozenset[str]]
    """Fields of `Attended` that the head reads, unless `needs` says otherwise."""

    def needs(self, provided: Set[str]) -> frozenset[str]:
        """Return the fields of `Attended` that the head reads, of an interaction that fills those fields."""
        return self.input_fields

    def brings_together(self) -> bool:
        """Tell whether passage and question meet in the head; by default they do not."""
        return False


# The parts themselves.


class Encoder(Protocol):
    """The torch module that a file of ``readers/encoders`` defines."""

    Config: ClassVar[type[EncoderConfig]]
    shape: EncoderShape

    def __init__(self, config: Any, source: Any, *, summary: bool = False) -> None: ...

    def __call__(self, batch: "Batch") -> Encoded:
        """Encode a batch and split passage from question."""

    def describe(self) -> dict[str, Any]:
        """Return the ``source`` from which it can be built again, without its weights."""


class Interaction(Protocol):
    """The torch module that a file of ``readers/interactions`` defines."""

    Config: ClassVar[type[InteractionConfig]]
    keep_maps: bool

    def __init__(self, config: Any, shape: EncoderShape) -> None: ...

    def __call__(self, encoded: Encoded) -> Attended:
        """Let passage and question attend to each other."""


class Head(Protocol):
    """The torch module that a file of ``readers/heads`` defines."""

    Config: ClassVar[type[HeadConfig]]

    def __init__(self, config: Any, shape: EncoderShape, provided: Set[str]) -> None: ...

    def __call__(self, attended: Attended, batch: "Batch") -> "ReaderOutput":
        """Score the answers, and compute the loss if the batch has gold answers."""


def require(value: Value | None, name: str) -> Value:
    """Return the value of a field such as ``batch.word_groups``, which must not be None here.

    Raises:
        CoattendError: If it is None.
    """
    if value is None:
        raise CoattendError("is not filled, and the reader needs it", where=name)
    return value
