"""Linear layers, as they begin behind a pretrained encoder and where everything is learned from nothing."""

from torch import nn


def linear(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """A linear layer with weights from N(0, 0.02) and a bias of zero, as BERT and the released DUMA begin.

    Args:
        inputs: Width of what it is given.
        outputs: Width of what it returns.
        bias: Whether it has a bias.
    """
    layer = nn.Linear(inputs, outputs, bias=bias)
    nn.init.normal_(layer.weight, std=0.02)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def glorot(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """A linear layer that keeps the size of what goes through it (Glorot and Bengio 2010), with a bias of zero.

    Args:
        inputs: Width of what it is given.
        outputs: Width of what it returns.
        bias: Whether it has a bias.
    """
    layer = nn.Linear(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def identity(width: int, *, bias: bool = True) -> nn.Linear:
    """A linear layer that begins by handing on what it is given, so that what matched before it matches behind it.

    Args:
        width: Width of what it is given and returns.
        bias: Whether it has a bias, which begins at zero.
    """
    layer = nn.Linear(width, width, bias=bias)
    nn.init.eye_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
