"""Linear layers by their initialisation: behind a pretrained encoder, trained from scratch, or as the identity."""

from torch import nn


def linear(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """Create a linear layer with weights from N(0, 0.02) and a bias of zero, as BERT and the released DUMA do."""
    layer = _zero_bias(inputs, outputs, bias=bias)
    nn.init.normal_(layer.weight, std=0.02)
    return layer


def glorot(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """Create a linear layer that preserves the variance of its input (Glorot and Bengio 2010), with a bias of zero."""
    layer = _zero_bias(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    return layer


def identity(width: int, *, bias: bool = True) -> nn.Linear:
    """Create a linear layer that starts as the identity, so that vectors that matched before it match behind it."""
    layer = _zero_bias(width, width, bias=bias)
    nn.init.eye_(layer.weight)
    return layer


def _zero_bias(inputs: int, outputs: int, *, bias: bool) -> nn.Linear:
    layer = nn.Linear(inputs, outputs, bias=bias)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
