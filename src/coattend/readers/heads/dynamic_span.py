"""DCN's dynamic pointing decoder: it proposes a span, looks at it, and proposes again."""

import math
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from coattend.errors import CoattendError
from coattend.readers.attended import Attended
from coattend.readers.batch import Batch
from coattend.readers.heads.maxout import HighwayMaxout
from coattend.readers.heads.objective import Uncertainty, self_critical
from coattend.readers.needed import needed
from coattend.readers.parts import EncoderShape, HeadConfig
from coattend.readers.precision import at_least_float32
from coattend.readers.reader import ReaderOutput

TASK = "span"

Choose = Callable[[Tensor], Tensor]
"""Picks a token from scores: [S, P] to [S]."""


class DynamicSpanHead(nn.Module):
    """The dynamic pointing decoder (DCN, section 2.3) with the objectives of DCN+ (section 2.2).

    h_i = LSTM(h_(i-1), [u_s(i-1); u_e(i-1)]); alpha_t = HMN_start(u_t, h_i, u_s(i-1), u_e(i-1)), s_i = argmax alpha;
    beta_t = HMN_end(u_t, h_i, u_s(i), u_e(i-1)), e_i = argmax beta. It begins with the first and the last token, and
    stops for an example when an estimate repeats the one before. CLS, position 0, stands for "no answer".

    The loss goes over all iterations (DCN+, equation 11), each given the decoder's own estimates. With ``mixed`` a
    second trajectory is drawn, each position from its distribution given the positions drawn before (the paper prints
    p^start for both), and is rewarded by ``batch.reward`` against the greedy answer of the last iteration; ``policy``
    is that loss alone. Nothing is drawn in evaluation, where the loss is the cross entropy.

    Args:
        config: Its options.
        shape: The encoder's, with the width of what the interaction hands on.
        given: Fields of `Attended` that the interaction fills.
    """

    class Config(HeadConfig):
        """Options of the dynamic span head."""

        iterations: int = Field(4, ge=1, le=50, description="Most proposals.")
        decoder_hidden: int | None = Field(
            None, ge=1, description="l, the width of the decoder; null: half of what it reads."
        )
        pool: int = Field(16, ge=1, description="Values of which a maxout takes the greatest.")
        experts: bool = Field(False, description="Whether the first maxout is a sparse mixture of experts (DCN+).")
        objective: Literal["cross_entropy", "mixed", "policy"] = Field(
            "cross_entropy", description="mixed: with a self-critical policy gradient (DCN+); policy: that alone."
        )
        over_iterations: Literal["sum", "mean"] = Field(
            "sum", description="How the cross entropies of iterations become one; the paper sums."
        )
        sigma_floor: float = Field(0.5, gt=0, lt=1, description="Lowest learned uncertainty of the mixed objective.")

        def needs(self, given: Set[str]) -> frozenset[str]:
            """The passage."""
            return frozenset({"passage"})

    def __init__(self, config: Config, shape: EncoderShape, given: Set[str]) -> None:
        super().__init__()
        width = shape.hidden_size
        hidden = config.decoder_hidden or max(1, width // 2)
        self.decoder = nn.LSTMCell(2 * width, hidden)
        self.start, self.end = (
            HighwayMaxout(width, hidden, pool=config.pool, experts=config.experts) for _ in range(2)
        )
        self.uncertainty = Uncertainty(config.sigma_floor) if config.objective == "mixed" else None
        self.iterations, self.objective = config.iterations, config.objective
        self.share = 1.0 if config.over_iterations == "sum" else 1 / config.iterations

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Propose spans.

        Args:
            attended: Passage U [S, P, H].
            batch: Where an answer may lie, [S, P], and where it lies, [S].

        Returns:
            Start and end [S, P] of the proposal at which it stopped, -inf where no answer may lie, and the loss if the
            batch has answers.

        Raises:
            CoattendError: If a policy is trained and the batch has no reward.
        """
        asked = _Asked.of(attended, batch, self)
        has_answers = batch.start is not None and batch.end is not None
        greedy = self._propose(asked, lambda scores: scores.argmax(-1), until_all_stop=not has_answers)
        loss = self._loss(asked, greedy, batch) if has_answers else None
        start, end = greedy.stopped_at
        return ReaderOutput(attended=attended, start=start, end=end, loss=loss)

    def readings(self) -> dict[str, float]:
        """sigma_ce and sigma_rl, if the objective is mixed."""
        if self.uncertainty is None:
            return {}
        return dict(zip(("sigma_ce", "sigma_rl"), self.uncertainty.sigma.tolist(), strict=True))

    def _propose(self, asked: "_Asked", choose: Choose, *, until_all_stop: bool) -> "_Trajectory":
        made = _Trajectory()
        first, last = asked.first, asked.last
        state = None
        for _ in range(self.iterations):
            near_first, near_last = asked.at(first), asked.at(last)
            state = self.decoder(torch.cat([near_first, near_last], -1), state)
            hidden = state[0]
            starts = self.start(asked.tokens, asked.for_start, hidden, near_first, near_last)
            starts = starts.masked_fill(~asked.allowed, -math.inf)
            first = choose(starts)
            ends = self.end(asked.tokens, asked.for_end, hidden, asked.at(first), near_last)
            ends = ends.masked_fill(~asked.allowed, -math.inf)
            last = choose(ends)
            made.add(starts, ends, first, last)
            if until_all_stop and made.all_stopped:
                break
        return made

    def _loss(self, asked: "_Asked", greedy: "_Trajectory", batch: Batch) -> Tensor:
        start, end = needed(batch.start, "batch.start"), needed(batch.end, "batch.end")
        pairs = zip(greedy.starts, greedy.ends, strict=True)
        found = [cross_entropy(s, start) + cross_entropy(e, end) for s, e in pairs]
        supervised = self.share * torch.stack(found).sum()
        if self.objective == "cross_entropy" or not self.training:
            return supervised
        if batch.reward is None:
            raise CoattendError("the batch does not say how good a span is", where=f"objective: {self.objective}")
        drawn = self._propose(asked, _draw, until_all_stop=False)
        rewards = [batch.reward(one.first[-1], one.last[-1]) for one in (drawn, greedy)]
        policy = self_critical(drawn.log_probability(), *rewards)
        return policy if self.uncertainty is None else self.uncertainty(supervised, policy)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What stays the same in all iterations: tokens U [S, P, H], what both networks make of them, where to begin."""

    tokens: Tensor
    for_start: Tensor
    for_end: Tensor
    allowed: Tensor
    first: Tensor
    last: Tensor

    @classmethod
    def of(cls, attended: Attended, batch: Batch, head: DynamicSpanHead) -> "_Asked":
        tokens = at_least_float32(needed(attended.passage, "attended.passage"))
        allowed = needed(batch.answer_mask, "batch.answer_mask").clone()
        allowed[:, 0] = True
        last = attended.passage_mask.sum(1) - 1
        return cls(
            tokens=tokens,
            for_start=head.start.prepare(tokens),
            for_end=head.end.prepare(tokens),
            allowed=allowed,
            first=torch.zeros_like(last),
            last=last,
        )

    def at(self, place: Tensor) -> Tensor:
        """u at a place in each passage, [S] to [S, H]."""
        return self.tokens[torch.arange(len(place), device=place.device), place]


@dataclass
class _Trajectory:
    """Proposals, one after the other: scores [S, P] and the tokens that were chosen [S]."""

    starts: list[Tensor] = field(default_factory=list)
    ends: list[Tensor] = field(default_factory=list)
    first: list[Tensor] = field(default_factory=list)
    last: list[Tensor] = field(default_factory=list)

    def add(self, starts: Tensor, ends: Tensor, first: Tensor, last: Tensor) -> None:
        for values, value in zip(
            (self.starts, self.ends, self.first, self.last), (starts, ends, first, last), strict=True
        ):
            values.append(value)

    @property
    def all_stopped(self) -> bool:
        return bool(self._repeats().any(0).all())

    @property
    def stopped_at(self) -> tuple[Tensor, Tensor]:
        """Scores of starts and ends [S, P] where an estimate first repeats the one before, else the last ones."""
        repeats = self._repeats()
        last = torch.full_like(self.first[0], len(self.first) - 1)
        place = torch.where(repeats.any(0), repeats.int().argmax(0), last)
        rows = torch.arange(len(place), device=place.device)
        return torch.stack(self.starts)[place, rows], torch.stack(self.ends)[place, rows]

    def log_probability(self) -> Tensor:
        """Of all tokens that were chosen [S]."""
        scores = torch.stack([*self.starts, *self.ends]).log_softmax(-1)  # [2 * iterations, S, P]
        return scores.gather(-1, torch.stack([*self.first, *self.last]).unsqueeze(-1)).sum((0, 2))

    def _repeats(self) -> Tensor:
        """Whether each estimate is the one before [iterations, S]."""
        first, last = torch.stack(self.first), torch.stack(self.last)
        same = (first[1:] == first[:-1]) & (last[1:] == last[:-1])
        return torch.cat([torch.zeros_like(first[:1], dtype=torch.bool), same])


def _draw(scores: Tensor) -> Tensor:
    tokens: Tensor = torch.distributions.Categorical(logits=scores.detach()).sample()
    return tokens


PART = DynamicSpanHead
