"""The input of a reader: sequences, and which of their tokens are passage and which are question."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

Reward = Callable[[Tensor, Tensor], Tensor]
"""Quality of spans from 0 to 1: first and last tokens [S] to rewards [S]."""


@dataclass(kw_only=True)
class Batch:
    """S sequences ``[CLS] P [SEP] Q O [SEP]`` of at most N tokens, for B questions.

    For readers of words a token is a word, and there is neither CLS nor SEP; where a span may be "no answer", a
    boundary token takes the place of CLS.

    Attributes:
        input_ids: Ids of subwords or words [S, N], long.
        attention_mask: True at real tokens [S, N], bool. Sequences are padded at their end.
        token_type_ids: Segment ids [S, N], long.
        tag_ids: POS tag ids [S, N], long; 0 is padding.
        passage_mask: True at the passage domain's real tokens [S, P], bool. The domain is the first P positions: CLS,
            the passage, the first SEP.
        question_index: Positions in N of the question domain [S, Q], long: question, option, last SEP.
        question_mask: True at the question domain's real tokens [S, Q], bool.
        option_mask: True at the tokens of the option [S, Q], bool, if it follows its question; all False if it fills
            the question's blank.
        option_index: Sequence of each option [B, C], long; -1 where a question has fewer options. Where passages are
            read in windows, of each option in each window [B, C, W], without a label in the batch: see
            `coattend.readers.windows`.
        passage_of: Number of the passage that each sequence reads [S], long, from 0 without gaps, if encoders that read
            a passage apart are to read it once; None: each has a passage of its own.
        label: The correct option or candidate [B], long.
        answer_mask: True at tokens that an answer may contain [S, P], bool: the passage, without CLS and SEP.
        start: First token of the answer [S], long, counted in P; 0 if there is no answer.
        end: Last token of the answer [S], long; 0 if there is no answer.
        reward: Quality of spans from 0 to 1: a function of their first and last tokens [S] that returns [S].
        word_groups: Number of the distinct word that each passage token belongs to [S, P], long; -1 for no word.
        candidates: Number of each candidate among those words [B, C], long; -1 if the passage does not contain it, -2
            where a question has fewer candidates.
        candidate_ids: The tokens of each candidate [B, C, K], long; -1 is padding.
        blank_mask: True at the tokens of the question's blank [S, Q], bool.
        hidden: Cached hidden states of a frozen encoder [S, N, H]; None: the encoder runs.
        passage_pieces: Subwords of the passage, aligned with its words [S, M], long, with special tokens.
        passage_piece_words: The word in P that each subword belongs to [S, M]; -1 for special tokens, -2 for padding.
        question_pieces: The same for the question domain [S, M'].
        question_piece_words: The word in Q that each of these subwords belongs to [S, M'].
        passage_context: Cached context vectors of the passage's words [S, P, D]; None: they are computed from subwords.
        question_context: The same for the question domain [S, Q, D].
    """

    # Tokens of whole sequences.
    input_ids: Tensor
    attention_mask: Tensor
    token_type_ids: Tensor
    tag_ids: Tensor
    # The two domains that they are split into.
    passage_mask: Tensor
    question_index: Tensor
    question_mask: Tensor
    option_mask: Tensor | None = None
    passage_of: Tensor | None = None
    # Options and the gold answer.
    option_index: Tensor | None = None
    label: Tensor | None = None
    # Spans and the gold answer.
    answer_mask: Tensor | None = None
    start: Tensor | None = None
    end: Tensor | None = None
    reward: Reward | None = None
    # Words of the passage and candidates for a blank.
    word_groups: Tensor | None = None
    candidates: Tensor | None = None
    candidate_ids: Tensor | None = None
    blank_mask: Tensor | None = None
    # Cached outputs of frozen encoders, or their input.
    hidden: Tensor | None = None
    passage_pieces: Tensor | None = None
    passage_piece_words: Tensor | None = None
    question_pieces: Tensor | None = None
    question_piece_words: Tensor | None = None
    passage_context: Tensor | None = None
    question_context: Tensor | None = None

    def to(self, device: torch.device | str) -> "Batch":
        """Copy the batch to another device."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        moved: dict[str, Any] = {name: value.to(device) for name, value in content.items() if isinstance(value, Tensor)}
        return replace(self, **moved)
