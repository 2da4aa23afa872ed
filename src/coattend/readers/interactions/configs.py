"""Options of the interactions. Nothing here imports torch."""

from collections.abc import Set
from typing import ClassVar, Literal

from pydantic import Field

from coattend.readers.interfaces import EncoderShape, InteractionConfig

Strategy = Literal["average", "weighted", "forgetting", "intuition", "gate"]


class NoInteractionConfig(InteractionConfig):
    """No options."""

    def fills(self, provided: Set[str]) -> frozenset[str]:
        """Everything that the encoder provides."""
        return frozenset(provided)

    def brings_together(self) -> bool:
        """No."""
        return False


# Multi-choice questions and spans: POI-Net, DUMA, and what they are compared with.


class IterativeCoAttentionConfig(InteractionConfig):
    """Options of iterative co-attention."""

    turns: int = Field(3, ge=0, le=100, description="How often passage and question look at each other.")
    strategy: Strategy = Field("forgetting", description="How the scores of the turns become one attention.")
    compared: Literal["original", "attended"] = Field(
        "original", description="What is compared with the other side: E, or what the turn before made of it."
    )
    beta: Literal["confidence", "learned"] = Field(
        "confidence", description="learned: a parameter for each turn after the first, whose beta stays 1."
    )
    integrate: Literal["scores", "embeddings"] = Field(
        "scores",
        description="What is integrated over the turns: scores, or the embeddings that they weight; the same R.",
    )

    def brings_together(self) -> bool:
        """From the first turn on."""
        return self.turns > 0


class DualMultiHeadConfig(InteractionConfig):
    """Options of dual multi-head co-attention."""

    layers: int = Field(1, ge=1, le=100, description="Layers of co-attention; they share their parameters.")
    heads: int | None = Field(None, ge=1, description="Heads of the attention; null: as many as the encoder has.")
    direction: Literal["both", "passage_to_question", "question_to_passage"] = Field(
        "both", description="both; passage_to_question keeps MHA_1 alone, question_to_passage MHA_2 alone."
    )
    output_projection: bool = Field(
        False, description="W^O of equation 1, which the release leaves out; a transformer block always has it."
    )
    block: Literal["attention", "transformer"] = Field(
        "attention", description="transformer: a whole block with norms and feed-forward layer (TB-DUMA)."
    )
    attention_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of the attention's weights.")

    def fills(self, provided: Set[str]) -> frozenset[str]:
        """Both streams, or the stream that the direction keeps."""
        streams = {"both": {"passage", "question"}, "passage_to_question": {"passage"}}
        return frozenset(streams.get(self.direction, {"question"}))


class SequentialMultiHeadConfig(InteractionConfig):
    """Options of sequential multi-head co-attention."""

    order: Literal["question_first", "passage_first", "both"] = Field(
        "question_first",
        description="Which stream looks first; the other one looks at what came of it. both: neither does, as in DUMA.",
    )
    heads: int = Field(24, ge=1, description="Heads of the attention.")
    head_width: int = Field(64, ge=1, description="Width d_k of a head; heads x d_k need not be the encoder's width.")
    layers: int = Field(1, ge=1, le=100, description="Layers of co-attention.")
    share_layers: bool = Field(True, description="Whether layers share their parameters; the release's do not.")
    sequence_dropout: float = Field(0.1, ge=0, lt=1, description="Dropout of the encoder's vectors.")
    attention_dropout: float = Field(0.1, ge=0, lt=1, description="Dropout of the attention's weights and output.")


class MultiHeadBlockConfig(InteractionConfig):
    """Options of the multi-head block."""

    turns: int = Field(1, ge=0, le=100, description="How often the block is applied; 0 is the baseline.")
    attention_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of the attention's weights.")


class SoftAttentionConfig(InteractionConfig):
    """Options of soft attention."""

    # As many vectors as the question has tokens, computed from the passage.
    output_fields: ClassVar = frozenset({"question"})

    comparison: Literal["product", "additive"] = Field("product", description="How two tokens are compared.")


class BidafConfig(InteractionConfig):
    """Options of bidirectional attention flow."""

    output_fields: ClassVar = frozenset({"passage"})

    narrow: int = Field(96, ge=0, description="Width that the 4H values are mapped to; 0: they are not mapped.")

    def width(self, shape: EncoderShape) -> int:
        """4H, or the width that they are mapped to."""
        return self.narrow or 4 * shape.hidden_size


class DcmnConfig(InteractionConfig):
    """Options of dual co-matching."""

    output_fields: ClassVar = frozenset({"summary"})

    variant: Literal["paper", "released"] = Field(
        "paper", description="paper: own maps for each pair of streams; released: one map and one gate for all."
    )

    def width(self, shape: EncoderShape) -> int:
        """Three matches of the encoder's width."""
        return 3 * shape.hidden_size


# Cloze questions: attention of the question to the words of the passage.


class AttentionSumConfig(InteractionConfig):
    """No options."""

    output_fields: ClassVar = frozenset({"passage", "token_mass"})


class AttentiveConfig(InteractionConfig):
    """Options of the Attentive Reader's attention."""

    output_fields: ClassVar = frozenset({"summary"})

    compares: bool = Field(
        True, description="Whether it begins by comparing tokens with the question; false: as printed, drawn."
    )


class BilinearConfig(InteractionConfig):
    """No options."""

    output_fields: ClassVar = frozenset({"summary", "token_mass"})


class ConsensusAttentionConfig(InteractionConfig):
    """Options of consensus attention."""

    output_fields: ClassVar = frozenset({"passage", "token_mass"})

    merge: Literal["max", "sum", "average"] = Field("average", description="How the question's tokens agree.")


class AttentionOverAttentionConfig(InteractionConfig):
    """Options of attention over attention."""

    scaled: bool = Field(
        False, description="Whether M is divided by sqrt(H): wide vectors of a transformer saturate its softmaxes."
    )
    modelling: int = Field(
        0, ge=0, description="Width of each direction of a GRU over the attended passage; 0: there is none."
    )

    def fills(self, provided: Set[str]) -> frozenset[str]:
        """Both streams and the token mass; the passage alone behind the recurrent layer."""
        return frozenset({"passage"} if self.modelling else {"passage", "question", "token_mass"})

    def width(self, shape: EncoderShape) -> int:
        """3H, or the width of the recurrent layer's states."""
        return 2 * self.modelling or 3 * shape.hidden_size


class GatedConfig(InteractionConfig):
    """Options of gated attention."""

    output_fields: ClassVar = frozenset({"passage", "token_mass"})

    gate: Literal["token", "query"] = Field(
        "token",
        description="What passage tokens are multiplied by: what each sees of the question, or the question's vector.",
    )
    hops: int = Field(3, ge=1, le=10, description="Readings of the passage, the encoder's among them.")
    hop_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of what each further hop reads.")

    def width(self, shape: EncoderShape) -> int:
        """The encoder's; rounded up to an even number if there are further hops."""
        return shape.hidden_size if self.hops == 1 else 2 * -(-shape.hidden_size // 2)


# Spans: DCN and DCN+.


class CoattentionConfig(InteractionConfig):
    """No options."""

    output_fields: ClassVar = frozenset({"passage"})

    def width(self, shape: EncoderShape) -> int:
        """2H: U's two directions."""
        return 2 * shape.hidden_size


class DeepResidualCoattentionConfig(InteractionConfig):
    """No options."""

    output_fields: ClassVar = frozenset({"passage"})

    def width(self, shape: EncoderShape) -> int:
        """H, rounded up to an even number."""
        return 2 * -(-shape.hidden_size // 2)


CONFIGS: dict[str, type[InteractionConfig]] = {
    "none": NoInteractionConfig,
    "iterative_co_attention": IterativeCoAttentionConfig,
    "dual_multi_head": DualMultiHeadConfig,
    "sequential_multi_head": SequentialMultiHeadConfig,
    "multi_head_block": MultiHeadBlockConfig,
    "soft_attention": SoftAttentionConfig,
    "bidaf": BidafConfig,
    "dcmn": DcmnConfig,
    "attention_sum": AttentionSumConfig,
    "attentive": AttentiveConfig,
    "bilinear": BilinearConfig,
    "consensus_attention": ConsensusAttentionConfig,
    "attention_over_attention": AttentionOverAttentionConfig,
    "gated": GatedConfig,
    "coattention": CoattentionConfig,
    "deep_residual_coattention": DeepResidualCoattentionConfig,
}
"""Options of each interaction, by the name of its module."""
