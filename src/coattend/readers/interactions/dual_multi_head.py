"""DUMA's dual multi-head co-attention: passage and question attend to each other with one multi-head attention."""

from torch import nn

from coattend.errors import CoattendError
from coattend.readers.interactions.configs import DualMultiHeadConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.attention import MultiHeadAttention, TransformerBlock


class DualMultiHead(nn.Module):
    """Dual multi-head co-attention (DUMA, equation 1), before the fusion.

    MHA_1 = MHA(E^P, E^QA, E^QA) is the passage's stream, MHA_2 = MHA(E^QA, E^P, E^P) the question's; both share their
    parameters, and so do stacked layers, each of which replaces the streams by their attended forms. The paper does
    not say which of the two its one-directional ablations keep; here a direction says which stream attends to which:
    ``passage_to_question`` keeps MHA_1 (the passage attends to the question), ``question_to_passage`` keeps MHA_2. The
    other stream is not filled, and stays as it was encoded for the layers that follow.

    The bias of the keys adds the same to every score of a softmax: it is part of the paper's parameter count and
    cannot get a gradient.

    With ``keep_maps`` the maps ``passage_attention`` [S, heads, P, Q] and ``question_attention`` [S, heads, Q, P] are
    the attention of each stream to the other in the last layer.

    Raises:
        CoattendError: If the heads do not divide the encoder's width.
    """

    Config = DualMultiHeadConfig

    def __init__(self, config: DualMultiHeadConfig, shape: EncoderShape) -> None:
        super().__init__()
        heads = config.heads or shape.attention_heads
        if shape.hidden_size % heads:
            raise CoattendError(
                f"{heads} heads do not divide the encoder's width {shape.hidden_size}", where="option 'heads'"
            )
        is_block = config.block == "transformer"
        attention = MultiHeadAttention(
            shape.hidden_size, heads, projected=config.output_projection or is_block, dropout=config.attention_dropout
        )
        self.attend = TransformerBlock(attention, shape.hidden_size) if is_block else attention
        self.layers, self.direction = config.layers, config.direction
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Compute MHA_1, the passage [S, P, H], and MHA_2, the question [S, Q, H], if the direction keeps them."""
        passage, question, maps = encoded.passage, encoded.question, {}
        passage_attends = self.direction != "question_to_passage"
        question_attends = self.direction != "passage_to_question"
        for _ in range(self.layers):
            if self.keep_maps and passage_attends:
                maps["passage_attention"] = self.attend.weights(passage, question, encoded.question_mask)
            if self.keep_maps and question_attends:
                maps["question_attention"] = self.attend.weights(question, passage, encoded.passage_mask)
            # Both directions read the streams of the previous layer.
            passage, question = (
                self.attend(passage, question, encoded.question_mask) if passage_attends else passage,
                self.attend(question, passage, encoded.passage_mask) if question_attends else question,
            )
        return Attended.of(
            encoded,
            passage=passage if passage_attends else None,
            question=question if question_attends else None,
            maps=maps,
        )


PART = DualMultiHead
