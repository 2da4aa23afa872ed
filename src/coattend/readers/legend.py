"""How the maps of each interaction are read: whose tokens their numbers lie on, and who looks.

It stands apart from the interactions because their code is part of every trial's id, and what a page says about a map
is no reason to train again. An interaction of another package says the same in its own attribute ``legend``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

from torch import nn

STREAMS = ("passage", "question", "asked", "option")
"""Sides of a sequence: the question domain is ``question`` as a whole, ``asked`` without its option, or ``option``."""


@dataclass(frozen=True)
class Reading:
    """How a map is read.

    Attributes:
        axes: What its axes behind S are: at most one that is counted, such as turns or heads, and one or two streams.
        on: The stream whose tokens are looked at; None: the last axis.
        kind: ``share``: what is seen of that stream adds up to one. ``score``: each token has one of its own, from 0 to
            1. ``product``: any number, of which a softmax over that stream makes shares.
    """

    axes: tuple[str, ...]
    on: str | None = None
    kind: str = "share"

    @property
    def seen(self) -> str:
        """The stream whose tokens have the numbers."""
        return self.on or self.axes[-1]

    @property
    def by(self) -> str | None:
        """The stream whose tokens look; None where it is none of them in particular."""
        return next((axis for axis in self.axes if axis in STREAMS and axis != self.seen), None)

    @property
    def level(self) -> str | None:
        """What there are several of: turns, heads, layers or hops."""
        return next((axis for axis in self.axes if axis not in STREAMS), None)


Legend = Mapping[str, Reading]

_BOTH_WAYS = {
    "passage_attention": Reading(("head", "passage", "question")),
    "question_attention": Reading(("head", "question", "passage")),
}
_OF_TOKENS = {"attention": Reading(("passage",))}
_SIDES = {"passage": "passage", "question": "asked", "option": "option"}
_MASS = {"token_mass": Reading(("passage",))}

LEGENDS: dict[str, Legend] = {
    "iterative_co_attention": {
        "passage_scores": Reading(("turn", "passage"), kind="score"),
        "question_scores": Reading(("turn", "question"), kind="score"),
        "passage_attention": Reading(("passage",), kind="score"),
        "question_attention": Reading(("question",), kind="score"),
    },
    "dual_multi_head": _BOTH_WAYS,
    "multi_head_block": _BOTH_WAYS,
    "sequential_multi_head": _BOTH_WAYS,
    "soft_attention": {"question_attention": Reading(("question", "passage"))},
    "bidaf": {
        "passage_attention": Reading(("passage", "question")),
        "question_attention": Reading(("whole", "passage")),
    },
    "dcmn": {
        f"{one}_{other}_attention": Reading((_SIDES[one], _SIDES[other])) for one, other in permutations(_SIDES, 2)
    },
    "attention_sum": _OF_TOKENS,
    "attentive": _OF_TOKENS,
    "bilinear": _OF_TOKENS,
    "consensus_attention": _MASS | {"attention": Reading(("passage", "question"), on="passage")},
    "attention_over_attention": _MASS
    | {
        "matching": Reading(("passage", "question"), on="passage", kind="product"),
        "question_worth": Reading(("question",)),
    },
    "gated": _MASS | {"attention": Reading(("hop", "passage", "question"))},
    "coattention": {
        "sees_question": Reading(("passage", "question")),
        "sees_passage": Reading(("passage", "question"), on="passage"),
    },
    "deep_residual_coattention": {
        "sees_question": Reading(("layer", "passage", "question")),
        "sees_passage": Reading(("layer", "passage", "question"), on="passage"),
    },
}
"""Name of an interaction to how its maps are read; ``token_mass`` is the field of `Attended` of that name."""


def legend_of(interaction: nn.Module) -> Legend:
    """How an interaction's maps are read; empty where nobody says.

    Args:
        interaction: That of a reader.
    """
    own = type(interaction).__module__.rpartition(".")[2]
    return getattr(interaction, "legend", None) or LEGENDS.get(own, {})
