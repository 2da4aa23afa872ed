"""Attention over attention: how much each question token's attention to the passage is worth (AoA Reader)."""

import math
from collections.abc import Set

import torch
from pydantic import Field
from torch import nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.interactions.pairwise import matching, over_passage, over_question, weighed
from coattend.readers.parts import EncoderShape, InteractionConfig
from coattend.readers.precision import full_precision
from coattend.readers.recurrence import Recurrence


class AttentionOverAttention(nn.Module):
    """Attention over attention (AoA Reader, equations 5 to 10).

    M(i, j) = h_doc(i) . h_query(j) is ``match``; alpha(j), the softmax over the passage for question token j, is
    ``of_passage``; beta(i), the softmax over the question for passage token i, is ``of_question``, and beta their mean
    over the passage's real tokens, ``worth``; s = alpha^T beta is the token mass. There is no second softmax, no
    parameter and, as printed, no scale.

    The slides name an "interactive" AoA for spans without an equation. Heads that read streams are given, for each
    token, its own vector, what it sees on the other side by alpha or beta, and its own vector times its probability
    (s, or beta for the question) and the number of tokens, so that the mean of this third part is the expectation.
    With ``modelling`` a recurrent layer reads the passage once more, made of these three and of the product of the
    first two, as readers of spans do behind their attention.

    Args:
        config: Its options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """Options of attention over attention."""

        scaled: bool = Field(
            False, description="Whether M is divided by sqrt(H): wide vectors of a transformer saturate its softmaxes."
        )

        modelling: int = Field(
            0, ge=0, description="Width of each direction of a GRU over the attended passage; 0: there is none."
        )

        def fills(self, given: Set[str]) -> frozenset[str]:
            """Both streams and the token mass; the passage alone where a recurrent layer has read it."""
            return frozenset({"passage"} if self.modelling else {"passage", "question", "token_mass"})

        def width(self, shape: EncoderShape) -> int:
            """3H, or what the recurrent layer makes of it."""
            return 2 * self.modelling or 3 * shape.hidden_size

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        self.scale = 1 / math.sqrt(shape.hidden_size) if config.scaled else 1.0
        self.model: Recurrence | None = None
        if config.modelling:
            self.model = Recurrence(4 * shape.hidden_size, config.modelling, cell="gru")
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Attend.

        Args:
            encoded: Passage [S, P, H] and question [S, Q, H].

        Returns:
            The token mass s [S, P]; passage [S, P, 3H] and question [S, Q, 3H]; or the passage alone, read once more.
            Maps: ``matching`` M [S, P, Q], which is no probability, and ``question_worth`` beta [S, Q].
        """
        match = matching(encoded) * self.scale
        of_passage, of_question = over_passage(match, encoded), over_question(match, encoded)
        real = encoded.passage_mask.unsqueeze(-1)
        worth = (of_question * real).sum(1) / real.sum(1)  # beta [S, Q]
        with full_precision(match):  # Rounded masses tie, and a tie is no answer.
            mass = (of_passage @ worth.unsqueeze(-1)).squeeze(-1)  # s [S, P]
        passage, question = (stream.to(match.dtype) for stream in (encoded.passage, encoded.question))
        sees_question, sees_passage = of_question @ question, of_passage.transpose(1, 2) @ passage
        maps = {"matching": match, "question_worth": worth} if self.keep_maps else {}
        masks = {"passage_mask": encoded.passage_mask, "question_mask": encoded.question_mask}
        of_passage_token = [passage, sees_question, weighed(passage, mass, encoded.passage_mask)]
        if self.model is not None:
            read = self.model(torch.cat([*of_passage_token, passage * sees_question], -1), encoded.passage_mask)
            return Attended(passage=read, question=None, **masks, maps=maps)
        of_question_token = [question, sees_passage, weighed(question, worth, encoded.question_mask)]
        return Attended(
            passage=torch.cat(of_passage_token, -1),
            question=torch.cat(of_question_token, -1),
            token_mass=mass,
            **masks,
            maps=maps,
        )


PART = AttentionOverAttention
