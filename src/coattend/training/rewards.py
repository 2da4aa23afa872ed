"""How good a span is, as the official scorer has it, for objectives that are no cross entropy."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from coattend.evaluation import squad
from coattend.training.examples import Example, token_span
from coattend.training.tokens import Tokens

if TYPE_CHECKING:
    from torch import Tensor


class SpanReward:
    """F1 of the text of a span against the gold answers, by the official normalisation (DCN+, equation 13).

    Position 0 answers "nothing", which is right where the window holds no answer; an end before its start is no answer
    at all and worth nothing.

    Args:
        examples: The questions of a batch.
        passages: Passage text by question id.
        tokens: The benchmark's tokens.
        before: Position of a passage's first token in its domain.
    """

    def __init__(
        self, examples: Sequence[Example], passages: Mapping[str, str], tokens: Tokens, *, before: int
    ) -> None:
        self._rows = [(example, window) for example in examples for window in example.windows]
        self._passages, self._tokens, self._before = passages, tokens, before
        self._golds = [self._golds_of(example, window) for example, window in self._rows]

    def __call__(self, start: "Tensor", end: "Tensor") -> "Tensor":
        """Rewards of spans, from their first and last positions [S] to [S]."""
        import torch

        found = [self._f1(row, *span) for row, span in enumerate(zip(start.tolist(), end.tolist(), strict=True))]
        return torch.tensor(found, dtype=torch.float32, device=start.device)

    def _f1(self, row: int, start: int, end: int) -> float:
        if start == 0 or end == 0:
            text = ""
        elif end < start:
            return 0.0
        else:
            example, window = self._rows[row]
            shift = self._tokens.slice(example.passage).start + window[0] - self._before
            starts, ends = self._tokens.starts, self._tokens.ends
            text = self._passages[example.question_id][int(starts[shift + start]) : int(ends[shift + end])]
        return squad.best(text, self._golds[row], version="v2.0")[1]

    def _golds_of(self, example: Example, window: tuple[int, int]) -> list[str]:
        if token_span(example, window, self._tokens) is None:
            return []
        passage = self._passages[example.question_id]
        return [passage[first:last] for first, last in example.spans]
