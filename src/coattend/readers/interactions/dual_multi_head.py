"""DUMA's dual multi-head co-attention: passage and question attend to each other with one multi-head attention."""

from collections.abc import Set
from typing import Literal

from pydantic import Field
from torch import nn

from coattend.errors import CoattendError
from coattend.readers.attended import Attended, Encoded
from coattend.readers.multi_head import MultiHeadAttention, TransformerBlock
from coattend.readers.parts import EncoderShape, InteractionConfig

Direction = Literal["both", "passage_to_question", "question_to_passage"]


class DualMultiHead(nn.Module):
    """Dual multi-head co-attention (DUMA, equation 1), before the fusion.

    MHA_1 = MHA(E^P, E^QA, E^QA) is the passage's stream, MHA_2 = MHA(E^QA, E^P, E^P) the question's; both share their
    parameters, and so do stacked layers, each of which replaces the streams by their attended forms. The paper does
    not say which of the two its one-directional ablations keep; here a direction is named by who looks at whom:
    ``passage_to_question`` keeps MHA_1 (the passage asks, the question is asked), ``question_to_passage`` keeps MHA_2.
    The stream that is left out is not filled, and stays as it was encoded for the layers that follow.

    The bias of the keys adds the same to every score of a softmax: it is part of the paper's parameter count and
    cannot get a gradient.

    With ``keep_maps`` the maps ``passage_attention`` [S, heads, P, Q] and ``question_attention`` [S, heads, Q, P] say
    what the tokens of each stream looked at in the last layer.

    Args:
        config: Its options.
        shape: The encoder's.

    Raises:
        CoattendError: If the heads do not divide the encoder's width.
    """

    class Config(InteractionConfig):
        """Options of dual multi-head co-attention."""

        layers: int = Field(1, ge=1, le=100, description="Layers of co-attention; they share their parameters.")
        heads: int | None = Field(None, ge=1, description="Heads of the attention; null: as many as the encoder has.")
        direction: Direction = Field(
            "both", description="both; passage_to_question keeps MHA_1 alone, question_to_passage MHA_2 alone."
        )
        output_projection: bool = Field(
            False, description="W^O of equation 1, which the release leaves out; a transformer block always has it."
        )
        block: Literal["attention", "transformer"] = Field(
            "attention", description="transformer: a whole block with norms and feed-forward layer (TB-DUMA)."
        )
        attention_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of the attention's weights.")

        def fills(self, given: Set[str]) -> frozenset[str]:
            """Both streams, or the one that the direction keeps."""
            kept = {"both": {"passage", "question"}, "passage_to_question": {"passage"}}
            return frozenset(kept.get(self.direction, {"question"})) & given

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        heads = config.heads or shape.attention_heads
        if shape.hidden_size % heads:
            raise CoattendError(
                f"{heads} heads do not divide the encoder's width {shape.hidden_size}", where="option 'heads'"
            )
        whole = config.block == "transformer"
        attention = MultiHeadAttention(
            shape.hidden_size, heads, projected=config.output_projection or whole, dropout=config.attention_dropout
        )
        self.attend = TransformerBlock(attention, shape.hidden_size) if whole else attention
        self.layers, self.direction = config.layers, config.direction
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Let passage and question attend to each other.

        Args:
            encoded: Passage [S, P, H] and question [S, Q, H].

        Returns:
            MHA_1 [S, P, H] as the passage and MHA_2 [S, Q, H] as the question, as far as the direction keeps them.
        """
        passage, question, maps = encoded.passage, encoded.question, {}
        asks = self.direction != "question_to_passage"
        answers = self.direction != "passage_to_question"
        for _ in range(self.layers):
            if self.keep_maps and asks:
                maps["passage_attention"] = self.attend.weights(passage, question, encoded.question_mask)
            if self.keep_maps and answers:
                maps["question_attention"] = self.attend.weights(question, passage, encoded.passage_mask)
            passage, question = (
                self.attend(passage, question, encoded.question_mask) if asks else passage,
                self.attend(question, passage, encoded.passage_mask) if answers else question,
            )
        return Attended(
            passage=passage if asks else None,
            question=question if answers else None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            maps=maps,
        )


PART = DualMultiHead
