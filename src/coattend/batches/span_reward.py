"""Reward of a span for objectives that mix in reinforcement learning: its F1 in the official scorer."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from coattend.batches.examples import Example, token_span
from coattend.batches.tokens import Tokens
from coattend.evaluation import squad

if TYPE_CHECKING:
    from torch import Tensor


class SpanReward:
    """F1 of a span's text against the gold answers, after the official normalisation (DCN+, equation 13).

    Position 0 is "no answer", which is right if the window contains no answer; a span that ends before it starts is
    worth nothing.

    Args:
        examples: The examples of a batch.
        passages: Passage text by question id.
        tokens: The benchmark's tokens.
        passage_start: Position of a passage's first token in its domain.
    """

    def __init__(
        self, examples: Sequence[Example], passages: Mapping[str, str], tokens: Tokens, *, passage_start: int
    ) -> None:
        self._rows = [(example, index) for example in examples for index in range(len(example.windows))]
        self._passages, self._tokens, self._passage_start = passages, tokens, passage_start
        self._golds = [self._golds_of(example, index) for example, index in self._rows]

    def __call__(self, start: "Tensor", end: "Tensor") -> "Tensor":
        """Return the reward of the spans between first and last positions [S], as [S]."""
        import torch

        rewards = [self._f1(row, *span) for row, span in enumerate(zip(start.tolist(), end.tolist(), strict=True))]
        return torch.tensor(rewards, dtype=torch.float32, device=start.device)

    def _f1(self, row: int, start: int, end: int) -> float:
        if start == 0 or end == 0:
            text = ""
        elif end < start:
            return 0.0
        else:
            # From positions in the passage domain to characters of the passage.
            example, window = self._rows[row]
            first, last = start - self._passage_start, end - self._passage_start
            text = self._passages[example.question_id][slice(*example.characters(window, first, last, self._tokens))]
        return squad.best(text, self._golds[row], version="v2.0")[1]

    def _golds_of(self, example: Example, window: int) -> list[str]:
        if token_span(example, example.windows[window], self._tokens) is None:
            return []
        passage = self._passages[example.question_id]
        return [passage[start:end] for start, end in example.spans]
