"""Two layers of coattention whose parts all reach the last recurrent layer (DCN+)."""

import torch
from torch import nn

from coattend.readers.interactions.coattention import Side, coattend, with_sentinels
from coattend.readers.interactions.configs import DeepResidualCoattentionConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.initializers import identity
from coattend.readers.layers.masked import full_precision
from coattend.readers.layers.recurrent import Recurrence


class DeepResidualCoattention(nn.Module):
    """The deep residual coattention encoder of DCN+ (section 2.1, equations 1 to 10), behind its word encodings.

    E_1^D is the passage, E_1^Q = tanh(W [question] + b); a coattention layer computes S^D, S^Q and C^D; E_2^D and E_2^Q
    are the states of one biLSTM over S_1^D and S_1^Q; U = biLSTM([E_1^D; E_2^D; S_1^D; S_2^D; C_1^D; C_2^D]).

    The printed widths do not add up (E_1 in h, E_2 in 2h, and yet their summaries are h wide). Here all are H wide, the
    two directions of the encoder together, and so are E_2 and U. Only the first layer has sentinels: they take part
    in its sums, and their own rows are dropped.

    With ``keep_maps`` the maps are ``sees_question`` [S, 2, P, Q], softmax(A^T) of both layers, and ``sees_passage``
    [S, 2, P, Q], their softmax(A). They exclude the sentinels, so that those of the first layer may sum to less than
    one.
    """

    Config = DeepResidualCoattentionConfig

    def __init__(self, config: DeepResidualCoattentionConfig, shape: EncoderShape) -> None:
        super().__init__()
        width, half = shape.hidden_size, config.width(shape) // 2
        self.project = identity(width)
        self.sentinels = nn.Parameter(torch.empty(2, width).uniform_(-0.1, 0.1))
        self.second = Recurrence(width, half)
        self.fuse = Recurrence(3 * width + 3 * 2 * half, half)
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Compute the question-aware passage U [S, P, H] from passage [S, P, H] and question [S, Q, H]."""
        passage_mask, question_mask = encoded.passage_mask, encoded.question_mask
        with full_precision(encoded.passage):
            passage, question = with_sentinels(encoded, self.sentinels, self.project)
            first = coattend(passage, question)
            first_context = (first.sees_question @ first.of_question)[:, :-1]  # C_1^D [S, P, H]
            # The second layer reads the first one's summaries, without the sentinels.
            passage_summary, question_summary = first.of_passage[:, :-1], first.of_question[:, :-1]  # S_1^D, S_1^Q
            second_passage = Side(self.second(passage_summary, passage_mask), passage_mask)  # E_2^D
            second_question = Side(self.second(question_summary, question_mask), question_mask)  # E_2^Q
            second = coattend(second_passage, second_question)
            second_context = second.sees_question @ second.of_question  # C_2^D
            # Residual connections: the parts of both layers reach the last recurrent layer.
            encodings = [passage.stream[:, :-1], second_passage.stream]
            parts = [*encodings, passage_summary, second.of_passage, first_context, second_context]
        maps = {}
        if self.keep_maps:
            pairs = {name: (first.maps[name][:, :-1, :-1], attention) for name, attention in second.maps.items()}
            maps = {name: torch.stack(layers, 1) for name, layers in pairs.items()}
        return Attended.of(encoded, passage=self.fuse(torch.cat(parts, -1), passage_mask), maps=maps)


PART = DeepResidualCoattention
