"""Prompts with the same beginning as one sequence, a tree, in which a token sees those on its own branch alone.

Shapes: R sequences, N tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class EncodedPrompt(NamedTuple):
    """Tokens of a prompt's context, and of what may follow it."""

    context: tuple[int, ...]
    continuations: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int:
        """Tokens of the context with its longest continuation."""
        return len(self.context) + max(map(len, self.continuations))


@dataclass
class Tree:
    """Prompts with the same beginning as one sequence of N tokens.

    Attributes:
        question: Number of the prompt that a token belongs to, from 1; 0 for those that all share [N].
        option: Number of its continuation, from 1; 0 for tokens of a context [N].
        predictions: For each predicted token the index of the token before it, its id, and the numbers of the prompt
            and of the continuation that it belongs to.
        branches: False for a single continuation, as every model reads it.
    """

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    question: list[int] = field(default_factory=list)
    option: list[int] = field(default_factory=list)
    predictions: list[tuple[int, int, tuple[int, int]]] = field(default_factory=list)
    branches: bool = True

    @classmethod
    def of(cls, prompts: Sequence[tuple[int, EncodedPrompt]]) -> "Tree":
        """Build a tree of numbered prompts."""
        tree = cls()
        shared = shared_length([prompt.context for _, prompt in prompts])
        tree._add(prompts[0][1].context[:shared], 0, 0, 0)
        for question, (number, prompt) in enumerate(prompts, 1):
            tree._add(prompt.context[shared:], shared, question, 0)
            # Without tokens of its own, a context ends where the shared ones end.
            end = len(tree.ids) - 1 if len(prompt.context) > shared else shared - 1
            for option, tokens in enumerate(prompt.continuations, 1):
                # The last token is predicted, and predicts nothing.
                start = len(tree.ids)
                tree._add(tokens[:-1], len(prompt.context), question, option)
                before = (end, *range(start, len(tree.ids)))
                tree.predictions += [(i, token, (number, option - 1)) for i, token in zip(before, tokens, strict=True)]
        return tree

    def behind(self, length: int) -> "Tree":
        """Return the tree without so many tokens of its beginning, which predict nothing."""
        return Tree(
            ids=self.ids[length:],
            positions=self.positions[length:],
            question=self.question[length:],
            option=self.option[length:],
            predictions=[(index - length, token, owner) for index, token, owner in self.predictions],
        )

    def _add(self, tokens: Sequence[int], position: int, question: int, option: int) -> None:
        self.ids += tokens
        self.positions += range(position, position + len(tokens))
        self.question += [question] * len(tokens)
        self.option += [option] * len(tokens)


def shared_length(contexts: Sequence[tuple[int, ...]]) -> int:
    """Return the number of tokens with which all contexts begin."""
    first, last = min(contexts), max(contexts)
    for index, (left, right) in enumerate(zip(first, last, strict=False)):
        if left != right:
            return index
    return min(len(first), len(last))


def predicting_first(tree: Tree) -> np.ndarray:
    """Order the tokens of a tree so that those that predict another one come first [N]."""
    predicts = np.zeros(len(tree.ids), bool)
    predicts[[index for index, _, _ in tree.predictions]] = True
    return np.argsort(~predicts, kind="stable")


def tree_mask(order: Tensor, question: Tensor, option: Tensor, dtype: torch.dtype) -> Tensor:
    """Mask what a token does not see [R, 1, N, N]: tokens behind it, and those of other questions and options."""

    def same(branch: Tensor) -> Tensor:
        return (branch[:, None] == 0) | (branch[:, None] == branch[:, :, None])

    visible = (order[:, None] <= order[:, :, None]) & same(question) & same(option)
    hidden = torch.finfo(dtype).min
    return torch.zeros(visible.shape, dtype=dtype, device=visible.device).masked_fill(~visible, hidden)[:, None]
