"""The dual co-matching network: passage, question and option are matched with one another, two by two."""

from collections.abc import Set
from itertools import combinations
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import relu

from coattend.readers.attended import Attended, Encoded
from coattend.readers.linear import linear
from coattend.readers.maximum import masked_maximum
from coattend.readers.parts import EncoderShape, InteractionConfig


class DualCoMatching(nn.Module):
    """DCMN (Zhang et al. 2019, arXiv 1901.09381, section 2), which DUMA's table 6 is compared with.

    For two of the three streams, say P and O: G_po = softmax(P W O^T) says what each passage token sees in the option
    and G_op the reverse; E_p = G_po O, E_o = G_op P; S_p = ReLU(E_p W_1), S_o = ReLU(E_o W_2); both are pooled by their
    maximum to M_p and M_o; g = sigmoid(M_p W_3 + M_o W_4 + b); the match is g * M_p + (1 - g) * M_o. The three matches,
    one after the other, are what is scored. The option is what stands behind the question; where an option fills the
    question's blank there is no option apart, and the whole question domain takes both places.

    ``paper``: each pair of streams has its own maps. ``released``: one map with a bias for every W, W_1 and W_2 of all
    six directions, and one gate map for W_3 and W_4, as the authors' code has it; of its 6,507,270 parameters those
    that its forward pass uses.

    With ``keep_maps`` there is a map for each direction: ``passage_option_attention`` [S, P, Q] is G_po, what passage
    tokens see in the option, and so on with ``question``, whose tokens and the option's stand in the same Q places.

    Args:
        config: Its options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """Options of dual co-matching."""

        variant: Literal["paper", "released"] = Field(
            "paper", description="paper: own maps for each pair of streams; released: one map and one gate for all."
        )

        def fills(self, given: Set[str]) -> frozenset[str]:
            """One vector of the three matches."""
            return frozenset({"summary"})

        def width(self, shape: EncoderShape) -> int:
            """Three matches of the encoder's width."""
            return 3 * shape.hidden_size

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.hidden_size
        released = config.variant == "released"
        self.matches = nn.ModuleList([Match.shared(width)] if released else [Match.own(width) for _ in range(3)])
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Match the three streams.

        Args:
            encoded: Passage [S, P, H], question [S, Q, H] and which of its tokens are the option [S, Q].

        Returns:
            The three matches as the summary [S, 3H].
        """
        asked, option = _apart(encoded)
        streams = {
            "passage": (encoded.passage, encoded.passage_mask),
            "question": (encoded.question, asked),
            "option": (encoded.question, option),
        }
        matches: list[Tensor] = []
        maps: dict[str, Tensor] = {}
        for number, (one, other) in enumerate(combinations(streams, 2)):
            match = self.matches[number % len(self.matches)]
            matched, to_other, to_one = match(*streams[one], *streams[other])
            matches.append(matched)
            if self.keep_maps:
                maps |= {f"{one}_{other}_attention": to_other, f"{other}_{one}_attention": to_one}
        return Attended(
            passage=None,
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            summary=torch.cat(matches, -1),
            maps=maps,
        )


def _apart(encoded: Encoded) -> tuple[Tensor, Tensor]:
    """Masks [S, Q] of the question and of the option; where there is no option apart, both are the whole domain."""
    whole = encoded.question_mask
    if encoded.option_mask is None:
        return whole, whole
    option, asked = encoded.option_mask & whole, whole & ~encoded.option_mask
    alone = ~(option.any(1) & asked.any(1)).unsqueeze(1)
    return torch.where(alone, whole, asked), torch.where(alone, whole, option)


class Match(nn.Module):
    """The match of two streams.

    Args:
        compare: W.
        project: W_1 and W_2.
        gate: W_3 and W_4.
        bias: b; None where the maps have biases, and each direction is compared for itself.
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
        """Maps of its own, without biases but for the gate's."""
        maps = [linear(width, width, bias=False) for _ in range(5)]
        return cls(maps[0], (maps[1], maps[2]), (maps[3], maps[4]), torch.zeros(width))

    @classmethod
    def shared(cls, width: int) -> "Match":
        """One map for matching and projecting, and one for the gate, both with biases."""
        one, gate = linear(width, width), linear(width, width)
        return cls(one, (one, one), (gate, gate), None)

    def forward(
        self, one: Tensor, one_mask: Tensor, other: Tensor, other_mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Match [S, L, H] with [S, M, H], given their masks, to [S, H]; what each sees in the other is beside it."""
        scores = self.compare(one) @ other.transpose(1, 2)  # [S, L, M]
        back = self.compare(other) @ one.transpose(1, 2) if self.bias is None else scores.transpose(1, 2)
        to_other = scores.masked_fill(~other_mask.unsqueeze(1), -torch.inf).softmax(-1)  # [S, L, M]
        to_one = back.masked_fill(~one_mask.unsqueeze(1), -torch.inf).softmax(-1)  # [S, M, L]
        first = masked_maximum(relu(self.project_one(to_other @ other)), one_mask)
        second = masked_maximum(relu(self.project_other(to_one @ one)), other_mask)
        gated = self.gate_one(first) + self.gate_other(second)
        gate = torch.sigmoid(gated if self.bias is None else gated + self.bias)
        return gate * first + (1 - gate) * second, to_other, to_one


PART = DualCoMatching
