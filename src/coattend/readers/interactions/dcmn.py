"""The dual co-matching network: passage, question and option are matched with one another, two by two."""

from itertools import combinations

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from coattend.readers.interactions.configs import DcmnConfig
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.initializers import linear
from coattend.readers.layers.masked import masked_maximum, masked_softmax


class DualCoMatching(nn.Module):
    """DCMN (Zhang et al. 2019, arXiv 1901.09381, section 2), which DUMA's table 6 is compared with.

    For two of the three streams, say P and O: G_po = softmax(P W O^T) is the attention of each passage token to the
    option and G_op the reverse; E_p = G_po O, E_o = G_op P; S_p = ReLU(E_p W_1), S_o = ReLU(E_o W_2); both are pooled
    by their maximum to M_p and M_o; g = sigmoid(M_p W_3 + M_o W_4 + b); the match is g * M_p + (1 - g) * M_o. The three
    matches, concatenated, are scored. The option follows the question; if it fills the question's blank instead, the
    whole question domain serves as both.

    ``paper``: each pair of streams has its own maps. ``released``: one map with a bias for every W, W_1 and W_2 of all
    six directions, and one gate map for W_3 and W_4, as the authors' code has it; of its 6,507,270 parameters those
    that its forward pass uses.

    With ``keep_maps`` there is a map for each direction: ``passage_option_attention`` [S, P, Q] is G_po, the attention
    of passage tokens to the option, and so on with ``question``, whose tokens share the Q positions with the option's.
    """

    Config = DcmnConfig

    def __init__(self, config: DcmnConfig, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.hidden_size
        # As released, one match serves all three pairs of streams.
        released = config.variant == "released"
        self.matches = nn.ModuleList([Match.shared(width)] if released else [Match.own(width) for _ in range(3)])
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Match passage [S, P, H], question [S, Q, H] and option two by two: three matches, the summary [S, 3H]."""
        question_only, option = _split_question(encoded)
        # Question and option share the question domain's vectors and differ by their masks.
        streams = {
            "passage": (encoded.passage, encoded.passage_mask),
            "question": (encoded.question, question_only),
            "option": (encoded.question, option),
        }
        matches: list[Tensor] = []
        maps: dict[str, Tensor] = {}
        for number, (first, second) in enumerate(combinations(streams, 2)):
            match = self.matches[number % len(self.matches)]
            matched, first_to_second, second_to_first = match(*streams[first], *streams[second])
            matches.append(matched)
            if self.keep_maps:
                maps[f"{first}_{second}_attention"] = first_to_second
                maps[f"{second}_{first}_attention"] = second_to_first
        return Attended.of(encoded, summary=torch.cat(matches, -1), maps=maps)


def _split_question(encoded: Encoded) -> tuple[Tensor, Tensor]:
    """Return masks [S, Q] of the question and of the option; without a separate option, both cover the whole domain."""
    domain = encoded.question_mask
    if encoded.option_mask is None:
        return domain, domain
    option, question = encoded.option_mask & domain, domain & ~encoded.option_mask
    undivided = ~(option.any(1) & question.any(1)).unsqueeze(1)
    return torch.where(undivided, domain, question), torch.where(undivided, domain, option)


class Match(nn.Module):
    """The match of two streams, with the maps W, W_1 and W_2, and W_3 and W_4.

    Without the gate's bias b the maps have biases, and each direction is compared separately.
    """

    def __init__(
        self,
        compare: nn.Module,
        project: tuple[nn.Module, nn.Module],
        gate: tuple[nn.Module, nn.Module],
        bias: Tensor | None,
    ) -> None:
        super().__init__()
        self.compare = compare
        self.project_one, self.project_other = project
        self.gate_one, self.gate_other = gate
        self.bias = None if bias is None else nn.Parameter(bias)

    @classmethod
    def own(cls, width: int) -> "Match":
        """Create a match with separate maps, without biases except the gate's."""
        maps = [linear(width, width, bias=False) for _ in range(5)]
        return cls(maps[0], (maps[1], maps[2]), (maps[3], maps[4]), torch.zeros(width))

    @classmethod
    def shared(cls, width: int) -> "Match":
        """Create a match with one map for matching and projecting, and one for the gate, both with biases."""
        shared_map, gate = linear(width, width), linear(width, width)
        return cls(shared_map, (shared_map, shared_map), (gate, gate), None)

    def forward(
        self, first: Tensor, first_mask: Tensor, second: Tensor, second_mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Match streams [S, L, H] and [S, M, H]: the match [S, H], and their attention [S, L, M] and back [S, M, L]."""
        scores = self.compare(first) @ second.transpose(1, 2)  # [S, L, M]
        reverse = self.compare(second) @ first.transpose(1, 2) if self.bias is None else scores.transpose(1, 2)
        first_to_second = masked_softmax(scores, second_mask.unsqueeze(1))  # G_po [S, L, M]
        second_to_first = masked_softmax(reverse, first_mask.unsqueeze(1))  # G_op [S, M, L]
        first_pooled = masked_maximum(relu(self.project_one(first_to_second @ second)), first_mask)  # M_p [S, H]
        second_pooled = masked_maximum(relu(self.project_other(second_to_first @ first)), second_mask)  # M_o [S, H]
        logits = self.gate_one(first_pooled) + self.gate_other(second_pooled)
        gate = torch.sigmoid(logits if self.bias is None else logits + self.bias)  # g [S, H]
        return gate * first_pooled + (1 - gate) * second_pooled, first_to_second, second_to_first


PART = DualCoMatching
