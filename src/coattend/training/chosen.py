"""What a reader chose, and how probable it takes that to be."""

from dataclasses import dataclass

import torch
from torch import Tensor

from coattend.readers.batch import Batch
from coattend.readers.heads.span import best_spans
from coattend.readers.reader import ReaderOutput

BEST = 3
"""How many spans are told with their probabilities."""


@dataclass(frozen=True)
class Chosen:
    """What a reader chose for one question.

    Attributes:
        sequence: The sequence that it is of: an option's, or a window of the passage.
        option: The option or candidate; None if there are none to choose from.
        word: The number of a distinct word of the passage, where all of them are chosen from.
        span: First and last token in the passage domain; both 0 for "no answer".
    """

    sequence: int
    option: int | None = None
    word: int | None = None
    span: tuple[int, int] | None = None

    def probability(self, output: ReaderOutput, *, softmaxed: bool) -> Tensor:
        """How probable it is by other readings of the question: [B], each with the sequences of the first one.

        Args:
            output: What a reader made of B copies; of spans, of the chosen window alone.
            softmaxed: Whether the scores of spans are probabilities already.
        """
        if self.option is not None:
            return of_options(output)[:, self.option]
        if self.word is not None:
            return output.word_mass[:, self.word]
        start, end = of_spans(output, softmaxed=softmaxed)
        return start[:, self.span[0]] * end[:, self.span[1]]


def chosen(output: ReaderOutput, batch: Batch, *, max_length: int, threshold: float | None) -> Chosen:
    """What a reader chose.

    Args:
        output: What it made of one question.
        batch: The question.
        max_length: Longest span in tokens.
        threshold: "No answer" is chosen if its score exceeds the best span's by more than this; None: never.
    """
    if output.scores is not None:
        option = int(output.scores[0].argmax())
        return Chosen(option if len(batch.input_ids) > 1 else 0, option=option)
    if output.word_mass is not None:
        return Chosen(0, word=int(output.word_mass[0].argmax()))
    spans = best_spans(output.start.float(), output.end.float(), batch.answer_mask, max_length=max_length)
    best, window = spans.score[:, 0].max(0)
    nothing, least = spans.null_score.min(0)
    if threshold is not None and nothing - best > threshold:
        return Chosen(int(least), span=(0, 0))
    return Chosen(int(window), span=(int(spans.start[window, 0]), int(spans.end[window, 0])))


def of_options(output: ReaderOutput) -> Tensor:
    """The probability of each option or candidate [B, C]; masses of words in the passage are made to add up to one."""
    if output.word_mass is None:
        return output.scores.float().softmax(-1)
    masses = output.scores.float().clamp_min(0)
    return masses / masses.sum(-1, keepdim=True).clamp_min(torch.finfo(masses.dtype).tiny)


def of_spans(output: ReaderOutput, *, softmaxed: bool) -> tuple[Tensor, Tensor]:
    """The probability of each token to be a span's first, and its last, [S, P] each.

    Args:
        output: What a reader made of S sequences.
        softmaxed: Whether its scores are that already.
    """
    start, end = output.start.float(), output.end.float()
    return (start.clamp_min(0), end.clamp_min(0)) if softmaxed else (start.softmax(-1), end.softmax(-1))


def likeliest(output: ReaderOutput, batch: Batch, window: int, *, max_length: int, softmaxed: bool) -> list[tuple]:
    """The best spans of a window with their probabilities, as (first token, last token, probability).

    Args:
        output: What a reader made of one question.
        batch: The question.
        window: Which of its sequences.
        max_length: Longest span in tokens.
        softmaxed: Whether the scores are probabilities already.
    """
    one = slice(window, window + 1)
    start, end = (one_side[one] for one_side in of_spans(output, softmaxed=softmaxed))
    scores = output.start[one].float(), output.end[one].float()
    spans = best_spans(*scores, batch.answer_mask[one], max_length=max_length, n_best=BEST)
    places = zip(spans.start[0].tolist(), spans.end[0].tolist(), strict=True)
    return [(first, last, float(start[0, first] * end[0, last])) for first, last in places if last]
