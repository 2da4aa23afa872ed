"""DCN+'s mixed objective: cross entropy and a self-critical policy gradient, weighted by learned uncertainties."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus


class Uncertainty(nn.Module):
    """Two losses weighted by homoscedastic uncertainty (Kendall et al. 2017; DCN+, equation 17).

    l = l_ce / (2 sigma_ce^2) + l_rl / (2 sigma_rl^2) + log sigma_ce^2 + log sigma_rl^2. The policy's loss can be
    negative, and then the printed sum has no lower bound as sigma_rl goes to zero. So log sigma is the logarithm of a
    floor plus a softplus: sigma never falls below the floor, and always has a gradient. It starts at 1.

    Args:
        floor: Lowest sigma, between 0 and 1.
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

    Returns:
        A scalar.
    """
    reward = (sampled - greedy).detach()
    # The surrogate has the gradient; its value is replaced by the mean of -R.
    surrogate = -(reward * log_probability).mean()
    return surrogate + (-reward.mean() - surrogate).detach()
