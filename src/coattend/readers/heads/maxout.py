"""The highway maxout network of DCN's decoder, and the mixture of experts that DCN+ puts into it."""

import torch
from torch import Tensor, nn

from coattend.readers.linear import glorot
from coattend.readers.precision import at_least_float32, full_precision

CHOSEN = 2
"""How many experts a token has (DCN+, section 3: k = 2)."""


class HighwayMaxout(nn.Module):
    """HMN(u_t, h, u_s, u_e) scores each token (DCN, equations 9 to 12).

    r = tanh(W_D [h; u_s; u_e]), m1 = max(W1 [u_t; r] + b1), m2 = max(W2 m1 + b2), and the score is
    max(W3 [m1; m2] + b3); each maximum is over ``pool`` values. W1 is held in two parts, as its product with u_t is the
    same in every iteration.

    Args:
        width: Width of u.
        hidden: l, the width of h and of m1 and m2.
        pool: Values of which a maxout takes the greatest.
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
        """The part of W1 [u_t; r] + b1 that no iteration changes: [S, P, width] to [S, P, pool * hidden]."""
        prepared: Tensor = self.of_token(tokens)
        return prepared

    def forward(self, tokens: Tensor, prepared: Tensor, state: Tensor, start: Tensor, end: Tensor) -> Tensor:
        """Score every token.

        Args:
            tokens: U [S, P, width].
            prepared: What `prepare` made of it.
            state: h [S, hidden].
            start: u_s [S, width].
            end: u_e [S, width].

        Returns:
            [S, P], in float32 at least.
        """
        known = torch.tanh(self.state(torch.cat([state, start, end], -1)))  # r [S, hidden]
        of_tokens, of_state = (one.unflatten(-1, (-1, self.pool)) for one in (prepared, self.of_state(known)))
        if self.gates is None:
            first = (of_tokens + of_state.unsqueeze(1)).max(-1).values  # amax would keep all for its backward pass.
        else:  # Weighed one by one, as the sum of both would be as large as what is prepared, in every iteration.
            weights = self.gates(tokens, known).to(prepared.dtype)
            first = (of_tokens @ weights.unsqueeze(-1)).squeeze(-1) + weights @ of_state.transpose(1, 2)
        second = self.second(first).unflatten(-1, (-1, self.pool)).max(-1).values
        with full_precision(first):
            both = at_least_float32(torch.cat([first, second], -1))
            scores: Tensor = self.last(both).max(-1).values
            return scores


class Experts(nn.Module):
    """Noisy top-k gates (Shazeer et al. 2017, section 2.1): of all experts, each token weighs the two best.

    DCN+ does not say how many experts there are; here as many as the maxout that they replace has values. Noise is
    added in training alone. Shazeer's balancing losses are not named by DCN+ and are left out.

    Args:
        width: Width of u.
        hidden: Width of r.
        count: How many experts.
    """

    def __init__(self, width: int, hidden: int, count: int) -> None:
        super().__init__()
        self.of_token, self.of_state = glorot(width, count, bias=False), glorot(hidden, count, bias=False)
        self.noise = glorot(width, count, bias=False)

    def forward(self, tokens: Tensor, known: Tensor) -> Tensor:
        """How much each expert counts: U [S, P, width] and r [S, hidden] to [S, P, count], all but two zero."""
        scores = self.of_token(tokens) + self.of_state(known).unsqueeze(1)
        if self.training:
            scores = scores + torch.randn_like(scores) * nn.functional.softplus(self.noise(tokens))
        best = scores.topk(min(CHOSEN, scores.shape[-1]), -1)
        return torch.zeros_like(scores).scatter(-1, best.indices, best.values.softmax(-1).to(scores.dtype))
