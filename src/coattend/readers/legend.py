"""Legend of the interactions' attention maps: which tokens attend, and to which tokens their numbers refer.

It is separate from the interactions because their code is part of every trial's id, and the description of a map on a
page is no reason to train again. An interaction of another package describes its maps in its own attribute ``legend``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

from torch import nn

STREAMS = ("passage", "question", "asked", "option")
"""Sides of a sequence: the question domain is ``question`` as a whole, ``asked`` without its option, or ``option``."""


@dataclass(frozen=True)
class MapSpec:
    """Layout of a map.

    Attributes:
        axes: Its axes behind S: at most one that is counted, such as turns or heads, and one or two streams.
        on: The stream whose tokens are attended to; None: the last axis.
        kind: ``share``: the numbers over that stream sum to one. ``score``: each token has a score of its own, from 0
            to 1. ``product``: any number; a softmax over that stream turns them into shares.
    """

    axes: tuple[str, ...]
    on: str | None = None
    kind: str = "share"

    @property
    def seen(self) -> str:
        """The stream whose tokens are attended to."""
        return self.on or self.axes[-1]

    @property
    def by(self) -> str | None:
        """The stream whose tokens attend; None if the map has no axis for them."""
        return next((axis for axis in self.axes if axis in STREAMS and axis != self.seen), None)

    @property
    def level(self) -> str | None:
        """The counted axis: turns, heads, layers or hops; None without one."""
        return next((axis for axis in self.axes if axis not in STREAMS), None)


Legend = Mapping[str, MapSpec]

_BOTH_WAYS = {
    "passage_attention": MapSpec(("head", "passage", "question")),
    "question_attention": MapSpec(("head", "question", "passage")),
}
_OF_TOKENS = {"attention": MapSpec(("passage",))}
_SIDES = {"passage": "passage", "question": "asked", "option": "option"}
_MASS = {"token_mass": MapSpec(("passage",))}

LEGENDS: dict[str, Legend] = {
    "iterative_co_attention": {
        "passage_scores": MapSpec(("turn", "passage"), kind="score"),
        "question_scores": MapSpec(("turn", "question"), kind="score"),
        "passage_attention": MapSpec(("passage",), kind="score"),
        "question_attention": MapSpec(("question",), kind="score"),
    },
    "dual_multi_head": _BOTH_WAYS,
    "multi_head_block": _BOTH_WAYS,
    "sequential_multi_head": _BOTH_WAYS,
    "soft_attention": {"question_attention": MapSpec(("question", "passage"))},
    "bidaf": {
        "passage_attention": MapSpec(("passage", "question")),
        "question_attention": MapSpec(("whole", "passage")),
    },
    "dcmn": {
        f"{source}_{target}_attention": MapSpec((_SIDES[source], _SIDES[target]))
        for source, target in permutations(_SIDES, 2)
    },
    "attention_sum": _OF_TOKENS,
    "attentive": _OF_TOKENS,
    "bilinear": _OF_TOKENS,
    "consensus_attention": _MASS | {"attention": MapSpec(("passage", "question"), on="passage")},
    "attention_over_attention": _MASS
    | {
        "matching": MapSpec(("passage", "question"), on="passage", kind="product"),
        "question_worth": MapSpec(("question",)),
    },
    "gated": _MASS | {"attention": MapSpec(("hop", "passage", "question"))},
    "coattention": {
        "sees_question": MapSpec(("passage", "question")),
        "sees_passage": MapSpec(("passage", "question"), on="passage"),
    },
    "deep_residual_coattention": {
        "sees_question": MapSpec(("layer", "passage", "question")),
        "sees_passage": MapSpec(("layer", "passage", "question"), on="passage"),
    },
}
"""Maps of each interaction; ``token_mass`` is the field of `Attended` of that name."""


def legend_of(interaction: nn.Module) -> Legend:
    """Return the legend of an interaction's maps; empty if there is none."""
    module = type(interaction).__module__.rpartition(".")[2]
    return getattr(interaction, "legend", None) or LEGENDS.get(module, {})
