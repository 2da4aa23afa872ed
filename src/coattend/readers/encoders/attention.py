"""The self-attention of pretrained encoders, as readers attend."""

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from coattend.readers.attend import attend

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME = "coattend"


def use_own_attention(model: "PreTrainedModel") -> None:
    """Let an encoder that attends by SDPA do so by `coattend.readers.attend`.

    Args:
        model: An encoder of transformers.
    """
    if model.config._attn_implementation != "sdpa":
        return
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    def mask(*given: Any, **options: Any) -> Tensor | None:
        made = sdpa_mask(*given, **options)
        return None if made is None else shared_by_queries(made)

    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, mask)
    model.set_attn_implementation(NAME)


def shared_by_queries(mask: Tensor) -> Tensor:
    """The same mask, held once for all queries if it says the same for each, as it does where it hides padding alone.

    Args:
        mask: True where a query may look [S, 1, L, M].
    """
    one = mask[:, :, :1].expand_as(mask)
    return one if torch.equal(one, mask) else mask


def _attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    dropout, scale = options.get("dropout", 0.0), options.get("scaling")
    usual = scale is None or math.isclose(scale, query.shape[-1] ** -0.5)
    causal = options.get("is_causal", getattr(module, "is_causal", False))
    if not usual or causal or options.get("position_bias") is not None or query.shape[:2] != key.shape[:2]:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    return attend(query, key, value, attention_mask, dropout=dropout).transpose(1, 2).contiguous(), None
