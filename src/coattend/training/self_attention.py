"""Where a transformer's last layer looks in a passage, to see of readers that have no map of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from coattend.readers.batch import Batch
from coattend.readers.reader import Reader


def self_attention(reader: Reader, batch: Batch) -> np.ndarray | None:
    """What the question domain's tokens see of the passage in the encoder's last layer, on average over its heads.

    The encoder reads once more, with attention that keeps its weights, which rounds otherwise in the last digit.

    Args:
        reader: A reader, on the device to use.
        batch: S sequences.

    Returns:
        A number for each token of the passage domain [S, P]; None where the encoder has no such layers.
    """
    model = getattr(reader.encoder, "model", None)
    if model is None or not hasattr(model, "set_attn_implementation"):
        return None
    with _keeping_weights(model) as kept, torch.inference_mode():
        reader.encoder(batch)
    if not kept:
        return None
    last = kept[-1].float().mean(1)  # [S, N, N]: who looks, who is looked at
    asked = torch.zeros_like(batch.attention_mask).scatter(1, batch.question_index, batch.question_mask)
    seen = (last * asked.unsqueeze(2)).sum(1) / asked.sum(1, keepdim=True).clamp_min(1)
    return seen[:, : batch.passage_mask.shape[1]].masked_fill(~batch.passage_mask, 0.0).cpu().numpy()


@contextmanager
def _keeping_weights(model: nn.Module) -> Iterator[list[torch.Tensor]]:
    """Let an encoder hand out its attention weights, and gather those of its last layer."""
    kept: list[torch.Tensor] = []

    def gather(_: nn.Module, __: Any, output: Any) -> None:
        if getattr(output, "attentions", None):
            kept.append(output.attentions[-1])

    implementation, told = model.config._attn_implementation, model.config.output_attentions
    hook = model.register_forward_hook(gather)
    model.set_attn_implementation("eager")
    model.config.output_attentions = True
    try:
        yield kept
    finally:
        hook.remove()
        model.config.output_attentions = told
        model.set_attn_implementation(implementation)
