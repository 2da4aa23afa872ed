"""Gated attention: the question multiplies the passage between recurrent layers (GA Reader)."""

import torch
from torch import Tensor, nn

from coattend.readers.interactions.configs import GatedConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape, require
from coattend.readers.layers.masked import at_least_float32, full_precision, matching, over_question, pointer_softmax
from coattend.readers.layers.recurrent import Recurrence, last_states


class Gated(nn.Module):
    """The GA Reader (Dhingra et al. 2017, section 3.1).

    GA(d_i, Q) = d_i * q~_i with q~_i = Q softmax(Q^T d_i). The encoder is the first hop's pair of recurrent layers;
    each further hop reads the gated passage, and the question anew, with a pair of its own. The last hop's passage D
    is compared with the question's state q at its blank: the token mass is softmax(q . D). The middle token of a
    question without a blank takes its place. The output passage is gated once more.

    With ``gate: query``, as in the first version of the paper (arXiv 1606.01549v1, equation 3), one vector of the
    question gates all tokens: x_i = q^(k) * d_i, where q^(k) holds the last states of both directions of the hop's
    question layer (a transformer's mean stands for those of the first hop).

    Each hop's question layer reads the question's word vectors Y: Q^(k) = GRU^(k)(Y). A transformer provides none:
    there its vectors of the question take their place.

    With ``keep_maps`` the map is ``attention`` [S, K, P, Q]: softmax(Q^T d_i) of each of the K hops, the last of which
    gates the output. A single vector attends to nothing: with ``gate: query`` there is no map.
    """

    Config = GatedConfig

    def __init__(self, config: GatedConfig, shape: EncoderShape) -> None:
        super().__init__()
        # Further hops have two directions of half the encoder's width, rounded up.
        half, further_hops = -(-shape.hidden_size // 2), config.hops - 1
        widths = [shape.hidden_size, *[2 * half] * further_hops][:further_hops]
        self.passage_layers = nn.ModuleList([Recurrence(width, half, cell="gru") for width in widths])
        question_width = shape.word_width or shape.hidden_size
        self.question_layers = nn.ModuleList([Recurrence(question_width, half, cell="gru") for _ in widths])
        self.dropout = nn.Dropout(config.hop_dropout)
        self.gates_by_query, self.keep_maps = config.gate == "query", False

    def forward(self, encoded: Encoded) -> Attended:
        """Read passage and question in hops, into the token mass [S, P] and the gated passage [S, P, H]."""
        passage, question = encoded.passage, encoded.question
        state = encoded.question_state  # q [S, H]
        words = question if encoded.question_words is None else encoded.question_words  # Y [S, Q, D]
        maps: list[Tensor] = []
        for passage_layer, question_layer in zip(self.passage_layers, self.question_layers, strict=True):
            gated = self._gate(passage, question, state, encoded, maps)
            passage = passage_layer(self.dropout(gated), encoded.passage_mask)
            question = question_layer(self.dropout(words), encoded.question_mask)
            state = last_states(question, encoded.question_mask, directions=2)
        blank_state = question[torch.arange(len(question), device=question.device), blank(encoded)]  # [S, H]
        return Attended.of(
            encoded,
            passage=self._gate(passage, question, state, encoded, maps),
            token_mass=pointer_softmax(passage, blank_state, encoded.passage_mask),
            maps={"attention": torch.stack(maps, 1)} if maps else {},
        )

    def _gate(
        self, passage: Tensor, question: Tensor, state: Tensor | None, encoded: Encoded, maps: list[Tensor]
    ) -> Tensor:
        """Gate the passage [S, P, H] by the question [S, Q, H], or by its state [S, H]; add to the maps."""
        if self.gates_by_query:
            return at_least_float32(passage) * at_least_float32(require(state, "encoded.question_state")).unsqueeze(1)
        gated, attention = gate(passage, question, encoded)
        if self.keep_maps:
            maps.append(attention)
        return gated


def gate(passage: Tensor, question: Tensor, encoded: Encoded) -> tuple[Tensor, Tensor]:
    """Compute GA(d_i, Q) [S, P, H] of passage [S, P, H] and question [S, Q, H], and softmax(Q^T d_i) [S, P, Q]."""
    with full_precision(passage):
        attention = over_question(matching(passage, question), encoded.question_mask)
        return at_least_float32(passage) * (attention @ at_least_float32(question)), attention


def blank(encoded: Encoded) -> Tensor:
    """Return the position in Q of each question's blank [S]: its first token, or the middle of a question without."""
    middle = (encoded.question_mask.sum(1) - 1) // 2
    if encoded.blank_mask is None:
        return middle
    return torch.where(encoded.blank_mask.any(1), encoded.blank_mask.int().argmax(1), middle)


PART = Gated
