"""Gated attention: the question multiplies the passage between recurrent layers (GA Reader)."""

from collections.abc import Set

import torch
from pydantic import Field
from torch import Tensor, nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.interactions.pairwise import over_question, pointed
from coattend.readers.parts import EncoderShape, InteractionConfig
from coattend.readers.precision import at_least_float32, full_precision
from coattend.readers.recurrence import Recurrence


class Gated(nn.Module):
    """The GA Reader (Dhingra et al. 2017, section 3.1).

    GA(d_i, Q) = d_i * q~_i with q~_i = Q softmax(Q^T d_i). The encoder is the first hop's pair of recurrent layers;
    each further hop reads the gated passage, and the question anew, with a pair of its own. The last hop's passage D
    is compared with the question's state q at its blank: the token mass is softmax(q . D). Where a question has no
    blank, its middle token stands for it. Streams are handed on gated once more.

    Each hop's question layer reads the question's word vectors Y: Q^(k) = GRU^(k)(Y). A transformer hands over none:
    there its vectors of the question stand in for them.

    With ``keep_maps`` the map is ``attention`` [S, K, P, Q]: softmax(Q^T d_i) of each of the K hops, the last of which
    gates what is handed on.

    Args:
        config: Its options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """Options of gated attention."""

        hops: int = Field(3, ge=1, le=10, description="Readings of the passage, the encoder's among them.")
        hop_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of what each further hop reads.")

        def fills(self, given: Set[str]) -> frozenset[str]:
            """The passage, gated, and the token mass."""
            return frozenset({"passage", "token_mass"})

        def width(self, shape: EncoderShape) -> int:
            """The encoder's, made even where there are hops."""
            return shape.hidden_size if self.hops == 1 else 2 * _half(shape)

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        half, hops = _half(shape), config.hops - 1
        widths = [shape.hidden_size, *[2 * half] * hops][:hops]
        self.passage_layers = nn.ModuleList([Recurrence(width, half, cell="gru") for width in widths])
        asked = shape.word_width or shape.hidden_size
        self.question_layers = nn.ModuleList([Recurrence(asked, half, cell="gru") for _ in widths])
        self.dropout = nn.Dropout(config.hop_dropout)
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Read in hops.

        Args:
            encoded: Passage [S, P, H], question [S, Q, H] and, where there are any, its word vectors [S, Q, D].

        Returns:
            The token mass [S, P] and the gated passage [S, P, H].
        """
        passage, question, maps = encoded.passage, encoded.question, []
        words = question if encoded.question_words is None else encoded.question_words  # Y [S, Q, D]
        for of_passage, of_question in zip(self.passage_layers, self.question_layers, strict=True):
            gated, attention = gate(passage, question, encoded)
            if self.keep_maps:
                maps.append(attention)
            passage = of_passage(self.dropout(gated), encoded.passage_mask)
            question = of_question(self.dropout(words), encoded.question_mask)
        asked = question[torch.arange(len(question), device=question.device), blank(encoded)]  # q [S, H]
        gated, attention = gate(passage, question, encoded)
        return Attended(
            passage=gated,
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            token_mass=pointed(passage, asked, encoded.passage_mask),
            maps={"attention": torch.stack([*maps, attention], 1)} if self.keep_maps else {},
        )


def gate(passage: Tensor, question: Tensor, encoded: Encoded) -> tuple[Tensor, Tensor]:
    """GA(d_i, Q) [S, P, H] of passage [S, P, H] and question [S, Q, H], and its softmax(Q^T d_i) [S, P, Q]."""
    with full_precision(passage):
        passage, question = at_least_float32(passage), at_least_float32(question)
        attention = over_question(passage @ question.transpose(1, 2), encoded)
        return passage * (attention @ question), attention


def blank(encoded: Encoded) -> Tensor:
    """Position in Q of each question's blank [S]: the first of its tokens, or the middle of a question without one."""
    middle = (encoded.question_mask.sum(1) - 1) // 2
    if encoded.blank_mask is None:
        return middle
    return torch.where(encoded.blank_mask.any(1), encoded.blank_mask.int().argmax(1), middle)


def _half(shape: EncoderShape) -> int:
    return -(-shape.hidden_size // 2)


PART = Gated
