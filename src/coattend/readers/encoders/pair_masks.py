"""Masks of pairs of tokens, which tell an encoder of Hugging Face which tokens of a sequence see each other."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from coattend.errors import CoattendError
from coattend.readers.batch import Batch
from coattend.readers.encoders.pretrained import silence, word_table

if TYPE_CHECKING:
    from transformers import PreTrainedModel

DEBERTA = ("deberta", "deberta-v2")
"""Families whose layers take such a mask, but not their embeddings, to which the model passes it on."""


def co_attention_mask(batch: Batch) -> Tensor:
    """Build the attention mask [S, N, N] that turns every self-attention into co-attention (DUMA, section 6.8).

    Tokens of the passage domain attend to the question domain, and vice versa; padding attends to all real tokens, so
    that no softmax is undefined.
    """
    # Tokens of the passage domain; all other real tokens belong to the question domain.
    real, passage = batch.attention_mask, _passage_of(batch)
    across = passage.unsqueeze(2) != passage.unsqueeze(1)
    return real.unsqueeze(1) & (across | ~real.unsqueeze(2))


def apart_mask(batch: Batch, *, blind: bool) -> Tensor:
    """Build the mask [S, N, N] under which an encoder that reads whole sequences reads the passage apart.

    Padding attends to all real tokens, so that no softmax is undefined.
    """
    real, passage = batch.attention_mask, _passage_of(batch)
    asking, asked = ~passage.unsqueeze(2), passage.unsqueeze(1)
    allowed = (asking != asked) if blind else asking | asked
    return real.unsqueeze(1) & (allowed | ~real.unsqueeze(2))


def _passage_of(batch: Batch) -> Tensor:
    """Mark the tokens of the passage domain in the sequences [S, N]."""
    passage = torch.zeros_like(batch.attention_mask)
    passage[:, : batch.passage_mask.shape[1]] = batch.passage_mask
    return passage


def read_under_pairs(model: "PreTrainedModel", inputs: dict[str, Tensor], mask: Tensor, pairs: Tensor) -> Tensor:
    """Compute the last hidden states [S, N, H] of sequences whose tokens see each other as a mask of pairs says.

    Args:
        model: The encoder.
        inputs: What its embeddings take, each [S, N, ...].
        mask: True at real tokens [S, N].
        pairs: True where a token sees another one [S, N, N].
    """
    hidden: Tensor
    if model.config.model_type in DEBERTA:
        parts: Any = model
        hidden = parts.encoder(parts.embeddings(mask=mask, **inputs), pairs).last_hidden_state
        return hidden
    pairs = pairs.unsqueeze(1)
    if model.config._attn_implementation == "eager":
        # Without a kernel of PyTorch's, masks are added to the scores.
        dtype = word_table(model).weight.dtype
        pairs = torch.zeros_like(pairs, dtype=dtype).masked_fill(~pairs, torch.finfo(dtype).min)
    hidden = model(attention_mask=pairs, **inputs).last_hidden_state
    return hidden


def check_takes_pairs(model: "PreTrainedModel", option: str) -> None:
    """Read a few tokens of which the first ones must not see the others.

    Args:
        model: The encoder.
        option: What needs it.

    Raises:
        CoattendError: If they do, as behind a convolution, or the encoder takes no such mask.
    """
    if model.device.type == "meta":
        return
    ids = torch.arange(8, device=model.device).repeat(2, 1) + 1
    ids[1, 4:] = ids[1, 4:].flip(0)
    real, passage = torch.ones_like(ids, dtype=torch.bool), torch.arange(8, device=model.device) < 4
    pairs = (passage.unsqueeze(0) | ~passage.unsqueeze(1)).expand(2, -1, -1)
    problem = "takes no mask of pairs of tokens"
    try:
        with torch.no_grad(), silence():
            first, second = read_under_pairs(model, {"input_ids": ids}, real, pairs)
            if torch.allclose(first[passage], second[passage], atol=1e-5):
                return
            problem = "mixes tokens outside of its attention"
    except Exception as error:  # Families raise each their own.
        problem = f"{problem} ({type(error).__name__})"
    raise CoattendError(
        f"does not go with {model.config.model_type}, which {problem}", where=option, cure="Take BERT's kin"
    )
