"""DCN's dynamic pointing decoder, which proposes spans one after another, and DCN+'s mixed objective."""

import math
from collections.abc import Callable, Set
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from coattend.errors import CoattendError
from coattend.readers.batch import Batch
from coattend.readers.heads.configs import DynamicSpanConfig
from coattend.readers.heads.span import answerable, span_loss
from coattend.readers.interfaces import Attended, EncoderShape, require
from coattend.readers.layers.masked import at_least_float32
from coattend.readers.layers.maxout import HighwayMaxout
from coattend.readers.reader import ReaderOutput

Choose = Callable[[Tensor], Tensor]
"""Chooses a token of each sequence by its scores: [S, P] to [S]."""


class DynamicSpanHead(nn.Module):
    """The dynamic pointing decoder (DCN, section 2.3) with the objectives of DCN+ (section 2.2).

    h_i = LSTM(h_(i-1), [u_s(i-1); u_e(i-1)]); alpha_t = HMN_start(u_t, h_i, u_s(i-1), u_e(i-1)), s_i = argmax alpha;
    beta_t = HMN_end(u_t, h_i, u_s(i), u_e(i-1)), e_i = argmax beta. It starts from the first and the last token, and
    stops for an example when an estimate repeats the previous one. CLS, position 0, stands for "no answer".

    With ``answer: proposal`` the output has the final s_i and e_i, which are DCN's answer; else spans are sought by the
    final alpha and beta, as by those of any head for spans.

    The loss is over all iterations (DCN+, equation 11), each conditioned on the decoder's own estimates. With ``mixed``
    a second trajectory is sampled, each position from its distribution given the positions sampled before (the paper
    prints p^start for both), and is rewarded by ``batch.reward`` against the greedy answer of the last iteration;
    ``policy`` is that loss alone. Nothing is sampled in evaluation, where the loss is the cross entropy.
    """

    Config = DynamicSpanConfig

    def __init__(self, config: DynamicSpanConfig, shape: EncoderShape, provided: Set[str]) -> None:
        super().__init__()
        # U has two directions of width l.
        width = shape.hidden_size
        hidden = config.decoder_hidden or max(1, width // 2)
        self.decoder = nn.LSTMCell(2 * width, hidden)
        self.start, self.end = (
            HighwayMaxout(width, hidden, pool=config.pool, experts=config.experts) for _ in range(2)
        )
        self.uncertainty = Uncertainty(config.sigma_floor) if config.objective == "mixed" else None
        self.iterations, self.objective = config.iterations, config.objective
        self.share = 1.0 if config.over_iterations == "sum" else 1 / config.iterations
        self.answers_with_proposal = config.answer == "proposal"

    def forward(self, attended: Attended, batch: Batch) -> ReaderOutput:
        """Propose spans of the passage U [S, P, H]; return the scores of the proposal at which it stopped.

        Raises:
            CoattendError: If a policy is trained and the batch has no reward.
        """
        constants = _DecoderInput.of(attended, batch, self)
        has_answers = batch.start is not None and batch.end is not None
        # The loss needs all iterations, an answer only those until every example has stopped.
        greedy = self._propose(constants, lambda scores: scores.argmax(-1), until_all_stop=not has_answers)
        loss = self._loss(constants, greedy, batch) if has_answers else None
        start, end = greedy.final_scores
        proposal = greedy.final_span if self.answers_with_proposal else None
        return ReaderOutput(attended=attended, start=start, end=end, proposal=proposal, loss=loss)

    def extra_metrics(self) -> dict[str, float]:
        """Return sigma_ce and sigma_rl, if the objective is mixed."""
        if self.uncertainty is None:
            return {}
        return dict(zip(("sigma_ce", "sigma_rl"), self.uncertainty.sigma.tolist(), strict=True))

    def _propose(self, constants: "_DecoderInput", choose: Choose, *, until_all_stop: bool) -> "_Trajectory":
        trajectory = _Trajectory()
        first, last = constants.first, constants.last
        state = None
        for _ in range(self.iterations):
            # u_s(i-1) and u_e(i-1), from which the decoder's state moves on.
            start_vector, end_vector = constants.token_at(first), constants.token_at(last)
            state = self.decoder(torch.cat([start_vector, end_vector], -1), state)
            hidden = state[0]
            starts = self.start(constants.tokens, constants.start_prepared, hidden, start_vector, end_vector)
            starts = starts.masked_fill(~constants.allowed, -math.inf)
            first = choose(starts)
            # The end is scored with the start that has just been chosen.
            ends = self.end(constants.tokens, constants.end_prepared, hidden, constants.token_at(first), end_vector)
            ends = ends.masked_fill(~constants.allowed, -math.inf)
            last = choose(ends)
            trajectory.add(starts, ends, first, last)
            if until_all_stop and trajectory.all_stopped:
                break
        return trajectory

    def _loss(self, constants: "_DecoderInput", greedy: "_Trajectory", batch: Batch) -> Tensor:
        start, end = require(batch.start, "batch.start"), require(batch.end, "batch.end")
        pairs = zip(greedy.starts, greedy.ends, strict=True)
        supervised = self.share * torch.stack([span_loss(*scores, start, end) for scores in pairs]).sum()
        if self.objective == "cross_entropy" or not self.training:
            return supervised
        if batch.reward is None:
            raise CoattendError("the batch does not say how good a span is", where=f"objective: {self.objective}")
        sampled = self._propose(constants, _sample, until_all_stop=False)
        rewards = [batch.reward(trajectory.first[-1], trajectory.last[-1]) for trajectory in (sampled, greedy)]
        policy = self_critical(sampled.log_probability(), *rewards)
        return policy if self.uncertainty is None else self.uncertainty(supervised, policy)


@dataclass(frozen=True, kw_only=True)
class _DecoderInput:
    """Tensors that are the same in all iterations: tokens U [S, P, H] and what both networks prepare from them.

    ``first`` and ``last`` are the tokens that the first iteration starts from.
    """

    tokens: Tensor
    start_prepared: Tensor
    end_prepared: Tensor
    allowed: Tensor
    first: Tensor
    last: Tensor

    @classmethod
    def of(cls, attended: Attended, batch: Batch, head: DynamicSpanHead) -> "_DecoderInput":
        tokens = at_least_float32(require(attended.passage, "attended.passage"))
        last = attended.passage_mask.sum(1) - 1
        return cls(
            tokens=tokens,
            start_prepared=head.start.prepare(tokens),
            end_prepared=head.end.prepare(tokens),
            allowed=answerable(batch),
            first=torch.zeros_like(last),
            last=last,
        )

    def token_at(self, position: Tensor) -> Tensor:
        """Select u at a position of each passage, [S] to [S, H]."""
        return self.tokens[torch.arange(len(position), device=position.device), position]


@dataclass
class _Trajectory:
    """Proposals of all iterations: scores [S, P] and the chosen tokens [S]."""

    starts: list[Tensor] = field(default_factory=list)
    ends: list[Tensor] = field(default_factory=list)
    first: list[Tensor] = field(default_factory=list)
    last: list[Tensor] = field(default_factory=list)

    def add(self, starts: Tensor, ends: Tensor, first: Tensor, last: Tensor) -> None:
        self.starts.append(starts)
        self.ends.append(ends)
        self.first.append(first)
        self.last.append(last)

    @property
    def all_stopped(self) -> bool:
        return bool(self._repeats().any(0).all())

    @property
    def final_scores(self) -> tuple[Tensor, Tensor]:
        """Scores of starts and ends [S, P] when an estimate first repeats the previous one, else the last ones."""
        return self._final(self.starts), self._final(self.ends)

    @property
    def final_span(self) -> Tensor:
        """First and last token of that estimate [S, 2]."""
        return torch.stack([self._final(self.first), self._final(self.last)], -1)

    def log_probability(self) -> Tensor:
        """Sum the log probabilities of all chosen tokens [S]."""
        scores = torch.stack([*self.starts, *self.ends]).log_softmax(-1)  # [2 * iterations, S, P]
        return scores.gather(-1, torch.stack([*self.first, *self.last]).unsqueeze(-1)).sum((0, 2))

    def _final(self, tensors: list[Tensor]) -> Tensor:
        """Select each sequence's row of the iteration at which it stops: [S, ...] each to [S, ...]."""
        repeats = self._repeats()
        last = torch.full_like(self.first[0], len(self.first) - 1)
        iteration = torch.where(repeats.any(0), repeats.int().argmax(0), last)
        return torch.stack(tensors)[iteration, torch.arange(len(iteration), device=iteration.device)]

    def _repeats(self) -> Tensor:
        """Mark the estimates that equal the previous one [iterations, S]."""
        first, last = torch.stack(self.first), torch.stack(self.last)
        same = (first[1:] == first[:-1]) & (last[1:] == last[:-1])
        return torch.cat([torch.zeros_like(first[:1], dtype=torch.bool), same])


def _sample(scores: Tensor) -> Tensor:
    tokens: Tensor = torch.distributions.Categorical(logits=scores.detach()).sample()
    return tokens


class Uncertainty(nn.Module):
    """Two losses weighted by homoscedastic uncertainty (Kendall et al. 2017; DCN+, equation 17).

    l = l_ce / (2 sigma_ce^2) + l_rl / (2 sigma_rl^2) + log sigma_ce^2 + log sigma_rl^2. The policy's loss can be
    negative, and then the printed sum has no lower bound as sigma_rl goes to zero. So log sigma is the logarithm of a
    floor plus a softplus: sigma never falls below the floor, and always has a gradient. It starts at 1.
    """

    def __init__(self, floor: float) -> None:
        super().__init__()
        self.floor = floor
        # The softplus of this value is -log floor, so that sigma starts at 1.
        self.excess = nn.Parameter(torch.full((2,), math.log(1 / floor - 1)))

    @property
    def sigma(self) -> Tensor:
        """sigma_ce and sigma_rl [2]."""
        return self._log_sigma().exp()

    def forward(self, cross_entropy: Tensor, policy: Tensor) -> Tensor:
        """Combine the two losses, scalars, into one."""
        log_sigma = self._log_sigma()
        losses = torch.stack([cross_entropy, policy])
        return (losses * torch.exp(-2 * log_sigma) / 2 + 2 * log_sigma).sum()

    def _log_sigma(self) -> Tensor:
        return math.log(self.floor) + softplus(self.excess)


def self_critical(log_probability: Tensor, sampled: Tensor, greedy: Tensor) -> Tensor:
    """Compute the policy's loss (DCN+, equations 13 and 16): the mean of -R, with the gradient of -R log p.

    Args:
        log_probability: Log probability of each sampled trajectory [S].
        sampled: Reward of its last span [S].
        greedy: Reward of the greedy answer, the self-critic [S].
    """
    reward = (sampled - greedy).detach()
    # The surrogate has the gradient; its value is replaced by the mean of -R.
    surrogate = -(reward * log_probability).mean()
    return surrogate + (-reward.mean() - surrogate).detach()


PART = DynamicSpanHead
