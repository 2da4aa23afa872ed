"""What a reader is given: sequences, and which of their tokens are passage and which are question."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

Reward = Callable[[Tensor, Tensor], Tensor]
"""How good spans are, from 0 to 1: first and last tokens [S] to [S]."""


@dataclass(kw_only=True)
class Batch:
    """S sequences ``[CLS] P [SEP] Q O [SEP]`` of at most N tokens, for B questions.

    For readers of words a token is a word, and there is neither CLS nor SEP; where a span may be "no answer", a
    boundary stands in the place of CLS.

    Attributes:
        input_ids: Ids of subwords or words [S, N], long.
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
        label: The right option or candidate [B], long.
        answer_mask: True at tokens that an answer may hold [S, P], bool: the passage, without CLS and SEP.
        start: First token of the answer [S], long, counted in P; 0 where there is no answer.
        end: Last token of the answer [S], long; 0 where there is no answer.
        reward: How good spans are, from 0 to 1: a function of their first and last tokens [S] that returns [S].
        word_groups: Number of the distinct word that each passage token lies in [S, P], long; -1 where it is none.
        candidates: Each candidate's number among those words [B, C], long; -1 where the passage does not hold it, -2
            where a question has fewer candidates.
        candidate_ids: The tokens of each candidate [B, C, K], long; -1 is padding.
        blank_mask: True at the tokens of the question's blank [S, Q], bool.
        hidden: What a frozen encoder made of the sequences before [S, N, H]; None: it reads them.
        passage_pieces: Subwords of the passage beside its words [S, M], long, with special tokens.
        passage_piece_words: The word in P that each of them lies in [S, M]; -1 for special tokens, -2 for padding.
        question_pieces: The same of the question domain [S, M'].
        question_piece_words: The word in Q that each of them lies in [S, M'].
        passage_context: Vectors of the passage's words in their context, made before [S, P, D]; None: pieces are read.
        question_context: The same of the question domain [S, Q, D].
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
    reward: Reward | None = None
    word_groups: Tensor | None = None
    candidates: Tensor | None = None
    candidate_ids: Tensor | None = None
    blank_mask: Tensor | None = None
    hidden: Tensor | None = None
    passage_pieces: Tensor | None = None
    passage_piece_words: Tensor | None = None
    question_pieces: Tensor | None = None
    question_piece_words: Tensor | None = None
    passage_context: Tensor | None = None
    question_context: Tensor | None = None

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        held = {part.name: getattr(self, part.name) for part in fields(self)}
        moved: dict[str, Any] = {name: one.to(device) for name, one in held.items() if isinstance(one, Tensor)}
        return replace(self, **moved)
