"""Self-attention in float32 on processors, where its half-precision kernel is the slower one."""

from typing import Any

import torch
from torch import Tensor, nn

NAME = "float32_on_cpu"


def use_float32_on_cpu(model: nn.Module) -> None:
    """Let an encoder that attends by SDPA do so in float32 on a processor; on a GPU nothing changes.

    Backward through PyTorch's bf16 kernel for processors takes two to three times as long as through the float32 one
    at the lengths of passages, and the rounding of scores is gone as well.

    Args:
        model: An encoder of transformers.
    """
    if model.config._attn_implementation != "sdpa":
        return
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)


def _attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if query.device.type != "cpu" or query.dtype != torch.bfloat16:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    with torch.autocast("cpu", enabled=False):
        return sdpa_attention_forward(module, query.float(), key.float(), value.float(), attention_mask, **options)
