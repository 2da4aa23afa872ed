"""What a reader is given: sequences, and which of their tokens are passage and which are question."""

from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass(kw_only=True)
class Batch:
    """S sequences ``[CLS] P [SEP] Q O [SEP]`` of at most N tokens, for B questions.

    Attributes:
        input_ids: Subword ids [S, N], long.
        attention_mask: True at real tokens [S, N], bool. Sequences are padded at their end.
        token_type_ids: Segment ids [S, N], long.
        tag_ids: POS tag ids [S, N], long; 0 is padding.
        passage_mask: True at the passage domain's real tokens [S, P], bool. The domain is the first P positions: CLS,
            the passage, the first SEP.
        question_index: Positions in N of the question domain [S, Q], long: question, option, last SEP.
        question_mask: True at the question domain's real tokens [S, Q], bool.
        option_mask: True at the tokens of the option [S, Q], bool, where it stands behind its question; all False where
            it fills the question's blank.
        option_index: Sequence of each option [B, C], long; -1 where a question has fewer options.
        label: The right option [B], long.
        answer_mask: True at tokens that an answer may hold [S, P], bool: the passage, without CLS and SEP.
        start: First token of the answer [S], long, counted in P; 0 where there is no answer.
        end: Last token of the answer [S], long; 0 where there is no answer.
    """

    input_ids: Tensor
    attention_mask: Tensor
    token_type_ids: Tensor
    tag_ids: Tensor
    passage_mask: Tensor
    question_index: Tensor
    question_mask: Tensor
    option_mask: Tensor | None = None
    option_index: Tensor | None = None
    label: Tensor | None = None
    answer_mask: Tensor | None = None
    start: Tensor | None = None
    end: Tensor | None = None

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        tensors = {part.name: getattr(self, part.name) for part in fields(self)}
        return Batch(**{name: None if tensor is None else tensor.to(device) for name, tensor in tensors.items()})
