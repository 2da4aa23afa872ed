"""Options of the heads. Nothing here imports torch."""

from collections.abc import Set
from typing import ClassVar, Literal

from pydantic import Field

from coattend.readers.interfaces import STREAMS, HeadConfig, Task

OverWindows = Literal["max", "mean", "logsumexp"]
"""Ways in which the scores of an option over the windows of its passage become one."""


class OptionsConfig(HeadConfig):
    """Options of the options head."""

    task: ClassVar[Task] = "options"

    pooling: Literal["cls_pooler", "summary", "mean", "max", "last"] = Field(
        "mean",
        description="cls_pooler: the encoder's summary; summary: the interaction's; mean, max: over real tokens; last:"
        " the last token of question and option, as decoders are read.",
    )
    streams: Literal["both", "question"] = Field(
        "both", description="What is pooled; question: the question and its option alone, which have seen the passage."
    )
    fuse: Literal["joint", "concatenate", "sum", "multiply"] = Field(
        "joint", description="joint: one pooling over both streams; else how two pooled streams become one."
    )
    scorer_layers: Literal[1, 2] = Field(
        1,
        description="2: a layer of the fused width and a ReLU come first (the ReCAM DUMA's other way).",
    )
    head_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of the fused vector.")

    def needs(self, provided: Set[str]) -> frozenset[str]:
        """The summary, or the streams that are provided."""
        if self.pooling in ("cls_pooler", "summary"):
            return frozenset({"summary"})
        if self.streams == "question" or self.pooling == "last":
            return frozenset({"question"})
        return (STREAMS & provided) or STREAMS


class SpanConfig(HeadConfig):
    """Options of the span head."""

    task: ClassVar[Task] = "span"
    input_fields: ClassVar = frozenset({"passage"})

    loss: Literal["sum", "mean"] = Field(
        "sum", description="sum: of both cross entropies, as the paper has it; mean: half of it, as Hugging Face."
    )
    score: Literal["logits", "softmax"] = Field(
        "logits", description="What spans are scored by: logits, or, as the paper has it, their softmax."
    )


class PointerConfig(HeadConfig):
    """Options of the pointer head."""

    task: ClassVar[Task] = "span"
    input_fields: ClassVar = STREAMS

    def brings_together(self) -> bool:
        """Tokens of the passage are compared with the question."""
        return True


class DynamicSpanConfig(HeadConfig):
    """Options of the dynamic span head."""

    task: ClassVar[Task] = "span"
    input_fields: ClassVar = frozenset({"passage"})

    iterations: int = Field(4, ge=1, le=50, description="Most proposals.")
    decoder_hidden: int | None = Field(
        None, ge=1, description="l, the width of the decoder; null: half of what it reads."
    )
    pool: int = Field(16, ge=1, description="Values of which a maxout takes the greatest.")
    experts: bool = Field(False, description="Whether the first maxout is a sparse mixture of experts (DCN+).")
    objective: Literal["cross_entropy", "mixed", "policy"] = Field(
        "cross_entropy", description="mixed: with a self-critical policy gradient (DCN+); policy: that alone."
    )
    over_iterations: Literal["sum", "mean"] = Field(
        "sum", description="How the cross entropies of iterations become one; the paper sums."
    )
    sigma_floor: float = Field(0.5, gt=0, lt=1, description="Lowest learned uncertainty of the mixed objective.")
    answer: Literal["best_span", "proposal"] = Field(
        "best_span",
        description="best_span: the start and the end behind it whose final scores have the highest sum, within"
        " training.max_answer_length; proposal: the decoder's final proposal, as in DCN.",
    )


class WordConfig(HeadConfig):
    """Options of the word head."""

    task: ClassVar[Task] = "word"

    choose: Literal["candidates", "document"] = Field(
        "candidates", description="What is chosen from: the candidates, or all words of the passage."
    )
    normalise: Literal["document", "candidates"] = Field(
        "document", description="Over which words probabilities sum to one in the loss; GA: candidates."
    )

    def needs(self, provided: Set[str]) -> frozenset[str]:
        """The token mass, or else the passage."""
        return frozenset({"token_mass"} if "token_mass" in provided else {"passage"})


class VocabularyConfig(HeadConfig):
    """Options of the vocabulary head."""

    task: ClassVar[Task] = "word"
    input_fields: ClassVar = frozenset({"summary"})

    summary_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of the summary.")


class LikelihoodConfig(HeadConfig):
    """Options of the head that scores options by their likelihood."""

    task: ClassVar[Task] = "options"
    input_fields: ClassVar = frozenset({"likelihood"})

    normalise: Literal["none", "characters", "tokens", "prior"] = Field(
        "characters",
        description="What an option's log probability is divided by: nothing, its characters or its tokens; prior: its"
        " log probability without the passage is subtracted.",
    )
    answer_by: Literal["text", "letter"] = Field(
        "text", description="text: an option is scored by its words; letter: options are listed, and letters scored."
    )

    def brings_together(self) -> bool:
        """The language model reads passage, question and option as one text."""
        return True


CONFIGS: dict[str, type[HeadConfig]] = {
    "options": OptionsConfig,
    "span": SpanConfig,
    "pointer": PointerConfig,
    "dynamic_span": DynamicSpanConfig,
    "word": WordConfig,
    "vocabulary": VocabularyConfig,
}
"""Options of each head, by the name of its module."""

UNTRAINED: dict[str, type[HeadConfig]] = {"likelihood": LikelihoodConfig}
"""Likewise of those that no encoder is trained with: they only fit a language model."""
