"""Two layers of coattention whose parts all reach the last recurrent layer (DCN+)."""

from collections.abc import Set

import torch
from torch import Tensor, nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.interactions.coattention import Side, Summaries, coattend, with_sentinels
from coattend.readers.linear import identity
from coattend.readers.parts import EncoderShape, InteractionConfig
from coattend.readers.precision import full_precision
from coattend.readers.recurrence import Recurrence


class DeepResidualCoattention(nn.Module):
    """The deep residual coattention encoder of DCN+ (section 2.1, equations 1 to 10), behind its word encodings.

    E_1^D is the passage, E_1^Q = tanh(W [question] + b); a coattention layer gives S^D, S^Q and C^D; E_2^D and E_2^Q
    are what one biLSTM makes of S_1^D and S_1^Q; U = biLSTM([E_1^D; E_2^D; S_1^D; S_2^D; C_1^D; C_2^D]).

    The printed widths do not add up (E_1 in h, E_2 in 2h, and yet their summaries are h wide). Here all are H wide, the
    two directions of the encoder together, and so are E_2 and U. Sentinels stand in the first layer alone: they take
    part in its sums, and their own rows go.

    With ``keep_maps`` the maps are ``sees_question`` [S, 2, P, Q], softmax(A^T) of both layers, and ``sees_passage``
    [S, 2, P, Q], their softmax(A). They are without the sentinels, so that those of the first layer may sum to less
    than one.

    Args:
        config: It has no options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """No options."""

        def fills(self, given: Set[str]) -> frozenset[str]:
            """The passage, question-aware: U."""
            return frozenset({"passage"})

        def width(self, shape: EncoderShape) -> int:
            """H, made even."""
            return 2 * -(-shape.hidden_size // 2)

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        width, half = shape.hidden_size, config.width(shape) // 2
        self.project = identity(width)
        self.sentinels = nn.Parameter(torch.empty(2, width).uniform_(-0.1, 0.1))
        self.second = Recurrence(width, half)
        self.fuse = Recurrence(3 * width + 3 * 2 * half, half)
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Attend twice.

        Args:
            encoded: Passage [S, P, H] and question [S, Q, H].

        Returns:
            The passage U [S, P, H].
        """
        with full_precision(encoded.passage):
            passage, question = with_sentinels(encoded, self.sentinels, self.project)
            first = coattend(passage, question)
            first_context = (first.sees_question @ first.of_question)[:, :-1]  # C_1^D [S, P, H]
            seen = first.of_passage[:, :-1], first.of_question[:, :-1]  # S_1^D, S_1^Q
            again = Side(self.second(seen[0], encoded.passage_mask), encoded.passage_mask)  # E_2^D
            asked_again = Side(self.second(seen[1], encoded.question_mask), encoded.question_mask)  # E_2^Q
            second = coattend(again, asked_again)
            second_context = second.sees_question @ second.of_question  # C_2^D
            parts = [passage.stream[:, :-1], again.stream, seen[0], second.of_passage, first_context, second_context]
        return Attended(
            passage=self.fuse(torch.cat(parts, -1), encoded.passage_mask),
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            maps=_stacked(first, second) if self.keep_maps else {},
        )


def _stacked(first: Summaries, second: Summaries) -> dict[str, Tensor]:
    """Maps of both layers [S, 2, P, Q], the first without its sentinels."""
    return {name: torch.stack([first.maps[name][:, :-1, :-1], one], 1) for name, one in second.maps.items()}


PART = DeepResidualCoattention
