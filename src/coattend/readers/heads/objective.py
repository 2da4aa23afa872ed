"""DCN+'s mixed objective: cross entropy and a self-critical policy gradient, weighed by learned uncertainties."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus


class Uncertainty(nn.Module):
    """Two losses weighed by homoscedastic uncertainty (Kendall et al. 2017; DCN+, equation 17).

    l = l_ce / (2 sigma_ce^2) + l_rl / (2 sigma_rl^2) + log sigma_ce^2 + log sigma_rl^2. The policy's loss can be
    negative, and then the printed sum has no lower bound as sigma_rl goes to zero. So log sigma is the logarithm of a
    floor plus a softplus: sigma never falls below the floor, and always has a gradient. It begins at 1.

    Args:
        floor: Lowest sigma, between 0 and 1.
    """

    def __init__(self, floor: float) -> None:
        super().__init__()
        self.floor = floor
        self.excess = nn.Parameter(torch.full((2,), math.log(1 / floor - 1)))

    @property
    def sigma(self) -> Tensor:
        """sigma_ce and sigma_rl [2]."""
        return self._log_sigma().exp()

    def forward(self, cross_entropy: Tensor, policy: Tensor) -> Tensor:
        """Weigh two scalars into one."""
        log_sigma = self._log_sigma()
        losses = torch.stack([cross_entropy, policy])
        return (losses * torch.exp(-2 * log_sigma) / 2 + 2 * log_sigma).sum()

    def _log_sigma(self) -> Tensor:
        return math.log(self.floor) + softplus(self.excess)


def self_critical(log_probability: Tensor, sampled: Tensor, greedy: Tensor) -> Tensor:
    """The policy's loss (DCN+, equations 13 and 16): its value is the mean of -R, its gradient that of -R log p.

    Args:
        log_probability: Of each sampled trajectory [S].
        sampled: Reward of what it ended with [S].
        greedy: Reward of the greedy answer, the self-critic [S].

    Returns:
        A scalar.
    """
    reward = (sampled - greedy).detach()
    surrogate = -(reward * log_probability).mean()
    return surrogate + (-reward.mean() - surrogate).detach()
