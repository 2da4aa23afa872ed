"""The highway maxout network of DCN's decoder, and the mixture of experts that DCN+ puts into it."""

import torch
from torch import Tensor, nn

from coattend.readers.layers.initializers import glorot
from coattend.readers.layers.masked import at_least_float32, full_precision

EXPERTS_PER_TOKEN = 2
"""Experts that a token is routed to (DCN+, section 3: k = 2)."""


class HighwayMaxout(nn.Module):
    """HMN(u_t, h, u_s, u_e) scores each token (DCN, equations 9 to 12).

    r = tanh(W_D [h; u_s; u_e]), m1 = max(W1 [u_t; r] + b1), m2 = max(W2 m1 + b2), and the score is
    max(W3 [m1; m2] + b3); each maximum is over ``pool`` values. W1 is held in two parts, as its product with u_t is the
    same in every iteration.

    Args:
        width: Width of u.
        hidden: l, the width of h and of m1 and m2.
        pool: Values that a maxout takes the maximum of.
        experts: Whether the first maxout becomes a sparse mixture of as many experts (`Experts`).
    """

    def __init__(self, width: int, hidden: int, *, pool: int, experts: bool) -> None:
        super().__init__()
        self.state = glorot(hidden + 2 * width, hidden, bias=False)
        self.of_token = glorot(width, pool * hidden)
        self.of_state = glorot(hidden, pool * hidden, bias=False)
        self.gates = Experts(width, hidden, pool) if experts else None
        self.second = glorot(hidden, pool * hidden)
        self.last = glorot(2 * hidden, pool)
        self.pool = pool

    def prepare(self, tokens: Tensor) -> Tensor:
        """Compute the part of W1 [u_t; r] + b1 that no iteration changes: [S, P, width] to [S, P, pool * hidden]."""
        prepared: Tensor = self.of_token(tokens)
        return prepared

    def forward(self, tokens: Tensor, prepared: Tensor, state: Tensor, start: Tensor, end: Tensor) -> Tensor:
        """Score every token [S, P], in float32 at least, from U and what `prepare` made of it.

        The state is h [S, hidden], ``start`` and ``end`` are u_s and u_e [S, width].
        """
        proposal = torch.tanh(self.state(torch.cat([state, start, end], -1)))  # r [S, hidden]
        # Both summands of W1 [u_t; r] + b1, with the values of each maxout in their own dimension.
        token_part = prepared.unflatten(-1, (-1, self.pool))  # [S, P, hidden, pool]
        state_part = self.of_state(proposal).unflatten(-1, (-1, self.pool))  # [S, hidden, pool]
        if self.gates is None:
            first = (token_part + state_part.unsqueeze(1)).max(-1).values  # amax would keep all for its backward pass.
        else:  # Weighted one by one, as the sum of both would be as large as `prepared`, in every iteration.
            weights = self.gates(tokens, proposal).to(prepared.dtype)
            first = (token_part @ weights.unsqueeze(-1)).squeeze(-1) + weights @ state_part.transpose(1, 2)
        second = self.second(first).unflatten(-1, (-1, self.pool)).max(-1).values
        with full_precision(first):
            layers = at_least_float32(torch.cat([first, second], -1))  # [m1; m2]
            scores: Tensor = self.last(layers).max(-1).values
            return scores


class Experts(nn.Module):
    """Noisy top-k gates (Shazeer et al. 2017, section 2.1): each token is routed to the two best experts.

    DCN+ does not say how many experts there are; here as many as the maxout that they replace has values. Noise is
    added in training only. Shazeer's balancing losses are not named by DCN+ and are left out.
    """

    def __init__(self, width: int, hidden: int, count: int) -> None:
        super().__init__()
        self.of_token, self.of_state = glorot(width, count, bias=False), glorot(hidden, count, bias=False)
        self.noise = glorot(width, count, bias=False)

    def forward(self, tokens: Tensor, proposal: Tensor) -> Tensor:
        """Weight the experts: U [S, P, width] and r [S, hidden] to [S, P, count], all but two zero."""
        scores = self.of_token(tokens) + self.of_state(proposal).unsqueeze(1)
        if self.training:
            scores = scores + torch.randn_like(scores) * nn.functional.softplus(self.noise(tokens))
        # The softmax is over the two best alone.
        best = scores.topk(min(EXPERTS_PER_TOKEN, scores.shape[-1]), -1)
        return torch.zeros_like(scores).scatter(-1, best.indices, best.values.softmax(-1).to(scores.dtype))
