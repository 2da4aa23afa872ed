"""Bytes that an interaction keeps from its forward pass for its backward pass, and how they grow."""

from typing import Any

import torch
from torch import Tensor, nn

from coattend.readers.attended import Encoded
from coattend.readers.parts import EncoderShape

PASSAGE, QUESTION = 200, 40


def growth(interaction: nn.Module, shape: EncoderShape) -> dict[str, Any]:
    """MiB for one sequence of 400 and 40 tokens in float32, and how many times as many twice the tokens keep.

    What grows at most with P x Q is at most 2 times as much where the passage or the question is twice as long, and at
    most 4 times as much where both are.
    """
    sizes = [(p, q) for p in (PASSAGE, 2 * PASSAGE) for q in (QUESTION, 2 * QUESTION)]
    kept = {size: kept_bytes(interaction, vectors(*size, shape.hidden_size, shape.word_width)) for size in sizes}
    least = max(1, kept[PASSAGE, QUESTION])
    return {
        "mib": round(kept[2 * PASSAGE, QUESTION] / 2**20, 3),
        "passage_doubled": round(kept[2 * PASSAGE, QUESTION] / least, 3),
        "question_doubled": round(kept[PASSAGE, 2 * QUESTION] / least, 3),
        "both_doubled": round(kept[2 * PASSAGE, 2 * QUESTION] / least, 3),
    }


def vectors(passage: int, question: int, width: int, word_width: int | None = None) -> Encoded:
    """Random vectors of one sequence, [1, P, H] and [1, Q, H]; the second half of the question is the option.

    With ``word_width`` there are also fixed vectors of the question's words [1, Q, D].
    """
    asked = torch.arange(question).unsqueeze(0)
    return Encoded(
        passage=torch.randn(1, passage, width, requires_grad=True),
        question=torch.randn(1, question, width, requires_grad=True),
        passage_mask=torch.ones(1, passage, dtype=torch.bool),
        question_mask=torch.ones(1, question, dtype=torch.bool),
        option_mask=asked >= question // 2,
        question_state=torch.randn(1, width, requires_grad=True),
        question_words=torch.randn(1, question, word_width) if word_width else None,
    )


def kept_bytes(interaction: nn.Module, encoded: Encoded) -> int:
    """Bytes kept beyond weights and the encoder's vectors; what is kept twice counts once."""
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    given = [*interaction.parameters(), encoded.passage, encoded.question, encoded.question_state]
    given += [] if encoded.question_words is None else [encoded.question_words]
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        # Held until the sum is taken: the place of a tensor that is gone would be used again.
        attended = interaction(encoded)
    known = {one.untyped_storage().data_ptr() for one in given}
    total = sum(size for place, size in sizes.items() if place not in known)
    del attended
    return total
