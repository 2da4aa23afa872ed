"""Strategies that integrate the scores of several turns into one attention."""

from typing import Literal

import torch
from torch import Tensor, nn

Strategy = Literal["average", "weighted", "forgetting", "intuition", "gate"]


def integrate(scores: list[Tensor], betas: list[Tensor], strategy: Strategy) -> Tensor:
    """Integrate the scores of all turns into one attention, without parameters (POI-Net, 2.3).

    Args:
        scores: s-hat of each turn, [S, L] each.
        betas: Confidence of each turn, [S, 1] each.
        strategy: The strategy; ``gate`` only with a single turn, which every strategy leaves unchanged.

    Returns:
        The attention [S, L].
    """
    if len(scores) == 1:
        return scores[0]
    if strategy == "forgetting":
        attention = scores[0]
        for score, beta in zip(scores[1:], betas[1:], strict=True):
            attention = (attention + beta * score) / (1 + beta)
        return attention
    # The other strategies are weighted averages over turns.
    turn_weights = torch.stack(betas)  # [T, S, 1]
    if strategy == "average":
        turn_weights = torch.ones_like(turn_weights)
    elif strategy == "intuition":
        turn_weights = turn_weights.cumprod(0)
    return (turn_weights * torch.stack(scores)).sum(0) / turn_weights.sum(0)


class Gate(nn.Module):
    """Gates instead of the forgetting strategy (POI-Net, footnote 3).

    The footnote names the "method of activation functions in LSTM", which "may filter out information completely in one
    single-turn calculation", and prints no equation. The form here is the cell of an LSTM with one number for each
    token: a^1 = s-hat^1; then f^t = sigmoid(w_f . x^t + b_f), i^t = sigmoid(w_i . x^t + b_i) and
    a^t = f^t a^(t-1) + i^t s-hat^t, where x^t = [a^(t-1), s-hat^t, beta^t]. Eight parameters serve all tokens of both
    domains in all turns. They start near a^t = (a^(t-1) + s-hat^t) / 2; unlike an average, a^t may exceed one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2, 3).normal_(std=0.02))  # w_f, w_i
        self.bias = nn.Parameter(torch.zeros(2))  # b_f, b_i

    def forward(self, scores: list[Tensor], betas: list[Tensor]) -> Tensor:
        """Integrate the scores of all turns into one attention.

        Args:
            scores: s-hat of each turn, [S, L] each.
            betas: Confidence of each turn, [S, 1] each.

        Returns:
            The attention [S, L].
        """
        attention = scores[0]
        for score, beta in zip(scores[1:], betas[1:], strict=True):
            forget, take = (
                torch.sigmoid(attention_weight * attention + score_weight * score + beta_weight * beta + bias)
                for (attention_weight, score_weight, beta_weight), bias in zip(self.weight, self.bias, strict=True)
            )
            attention = forget * attention + take * score
        return attention
