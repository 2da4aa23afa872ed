"""Decode a reader's output into answers: options, words and spans, with their probabilities.

A span is the best pair of a start and an end, or, of a head that proposes spans itself, its proposal.

Shapes: B questions, S sequences (for each window of a passage one, or one for each option), C options or candidates, P
tokens of the passage domain.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, cast

import torch
from torch import Tensor

from coattend.batches.collator import Collator
from coattend.batches.examples import Example
from coattend.readers.batch import Batch
from coattend.readers.heads.span import Spans, best_spans
from coattend.readers.interfaces import require
from coattend.readers.reader import ReaderOutput
from coattend.readers.windows import WindowedOutput

N_BEST = 3
"""Number of spans that `top_spans` lists."""


@dataclass(frozen=True)
class BaseAnswer:
    """A reader's answer to one question, in the sequence of an option or of a window of the passage."""

    example: Example
    sequence: int

    def decide(self, threshold: float | None) -> Self:
        """Return the answer, or "no answer" if its margin exceeds a threshold; None: never."""
        return self


@dataclass(frozen=True)
class OptionAnswer(BaseAnswer):
    """A choice among options, or among candidates for a word, with the score of each."""

    scores: tuple[float, ...]

    @property
    def choice(self) -> int:
        """Index of the option or candidate with the best score."""
        return best_option(self.scores)

    def probability(self, output: ReaderOutput, *, softmaxed: bool) -> Tensor:
        """Return its probability in an output for the same question, or for occluded copies of it [B]."""
        return option_probabilities(output)[:, self.choice]


@dataclass(frozen=True)
class WordAnswer(BaseAnswer):
    """A choice among all distinct words of the passage; ``tied`` if another word is as probable."""

    word: str
    number: int
    tied: bool

    def probability(self, output: ReaderOutput, *, softmaxed: bool) -> Tensor:
        """Return its probability, likewise [B]."""
        return require(output.word_mass, "output.word_mass")[:, self.number]


@dataclass(frozen=True)
class SpanAnswer(BaseAnswer):
    """The best span of all windows, in tokens of the passage domain and characters of the passage.

    Attributes:
        tokens: First and last token; both 0 for "no answer". A proposal without text may have others.
        start: First character; 0, as ``end``, of a proposal without text.
        end: Character behind the last one.
        null_score: Score of "no answer", in the window where it is least likely.
        null_sequence: Index of that window.
        probabilities: Probability of the best span, and of "no answer".
    """

    tokens: tuple[int, int]
    start: int
    end: int
    span_score: float
    null_score: float
    null_sequence: int
    probabilities: tuple[float, float]

    @property
    def null_margin(self) -> float:
        """Score of "no answer" less that of the best span."""
        return self.null_score - self.span_score

    def probability(self, output: ReaderOutput, *, softmaxed: bool) -> Tensor:
        """Return its probability, likewise, in the same window [B]; ``softmaxed`` as in `span_probabilities`."""
        start, end = span_probabilities(output, softmaxed=softmaxed)
        return start[:, self.tokens[0]] * end[:, self.tokens[1]]

    def decide(self, threshold: float | None) -> Self:
        """Return the span, or "no answer" if its margin exceeds a threshold; None: never."""
        if threshold is None or self.null_margin <= threshold:
            return self
        return replace(self, sequence=self.null_sequence, tokens=(0, 0))


Answer = OptionAnswer | WordAnswer | SpanAnswer


class ScoredSpan(NamedTuple):
    """A span of tokens of the passage domain, both ends included, with its probability."""

    first: int
    last: int
    probability: float


def option_probabilities(output: ReaderOutput) -> Tensor:
    """Return the probability of each option or candidate [B, C]; masses of words are normalised over candidates."""
    scores = require(output.scores, "output.scores").float()
    if output.word_mass is None:
        return scores.softmax(-1)
    masses = scores.clamp_min(0)
    return masses / masses.sum(-1, keepdim=True).clamp_min(torch.finfo(masses.dtype).tiny)


def _span_scores(output: ReaderOutput) -> tuple[Tensor, Tensor]:
    return require(output.start, "output.start").float(), require(output.end, "output.end").float()


def span_probabilities(output: ReaderOutput, *, softmaxed: bool) -> tuple[Tensor, Tensor]:
    """Return each token's probability to be the first and the last of the span, [S, P] each.

    ``softmaxed`` scores are probabilities already.
    """
    start, end = _span_scores(output)
    return (start.clamp_min(0), end.clamp_min(0)) if softmaxed else (start.softmax(-1), end.softmax(-1))


def top_spans(output: ReaderOutput, batch: Batch, window: int, *, max_length: int, softmaxed: bool) -> list[ScoredSpan]:
    """Return the best spans of one window, of at most ``max_length`` tokens, with their probabilities; a head's own
    proposal comes first, however long it is."""
    start, end = (scores[[window]] for scores in _span_scores(output))
    answer_mask = require(batch.answer_mask, "batch.answer_mask")[[window]]
    spans = best_spans(start, end, answer_mask, max_length=max_length, n_best=N_BEST)
    start_probabilities, end_probabilities = span_probabilities(output, softmaxed=softmaxed)
    pairs = list(zip(spans.start[0].tolist(), spans.end[0].tolist(), strict=True))
    if output.proposal is not None:
        proposal = cast(tuple[int, int], tuple(output.proposal[window].tolist()))
        pairs = [proposal, *(pair for pair in pairs if pair != proposal)][:N_BEST]
    return [
        ScoredSpan(first, last, float(start_probabilities[window, first] * end_probabilities[window, last]))
        for first, last in pairs
        if 0 < first <= last  # Token 0 stands for "no answer".
    ]


def decode(
    output: ReaderOutput,
    batch: Batch,
    examples: Sequence[Example],
    *,
    collator: Collator,
    max_answer_length: int,
    softmaxed: bool,
) -> Iterator[Answer]:
    """Decode the output for a batch into one answer for each of its questions, in their order.

    The best spans have at most ``max_answer_length`` tokens; ``softmaxed`` as in `span_probabilities`.
    """
    # Options, or candidates for a word.
    if output.scores is not None:
        by_window = output.window_scores.tolist() if isinstance(output, WindowedOutput) else None
        for row, (example, scores) in enumerate(zip(examples, output.scores.float().tolist(), strict=True)):
            yield _decode_option(example, scores, by_window and by_window[row])
        return
    # All distinct words of the passage.
    if output.word_mass is not None:
        for example, mass in zip(examples, output.word_mass.float(), strict=True):
            yield _decode_word(example, collator.words(example), mass)
        return
    # Spans: the windows of a question are consecutive rows.
    if output.proposal is None:
        answer_mask = require(batch.answer_mask, "batch.answer_mask")
        spans = best_spans(*_span_scores(output), answer_mask, max_length=max_answer_length)
    else:
        spans = _proposed_spans(output.proposal, *_span_scores(output))
    probabilities = span_probabilities(output, softmaxed=softmaxed)
    row = 0
    for example in examples:
        yield _decode_span(example, spans, probabilities, row, collator)
        row += len(example.windows)


def best_option(scores: Sequence[float]) -> int:
    """Return the index of the first of the best scores."""
    return max(range(len(scores)), key=scores.__getitem__)


def _decode_option(
    example: Example, padded_scores: Sequence[float], by_window: Sequence[Sequence[float]] | None
) -> OptionAnswer:
    """Take the best option; its sequence is that of the window in which its score is best."""
    scores = tuple(padded_scores[: len(example.candidates) or example.option_count])
    # Candidates for a word share one sequence.
    choice = best_option(scores) if example.option_count > 1 else 0
    window = best_option(by_window[choice]) if by_window else 0
    return OptionAnswer(example, window * example.option_count + choice, scores)


def _decode_word(example: Example, words: Sequence[str], mass: Tensor) -> WordAnswer:
    best = int(mass.argmax())
    tied = int((mass == mass[best]).sum()) > 1
    return WordAnswer(example, 0, word=words[best] if words else "", number=best, tied=tied)


def _proposed_spans(proposal: Tensor, start: Tensor, end: Tensor) -> Spans:
    """Return a head's proposals [S, 2] with their scores [S, P], whether or not they hold text."""
    first, last = proposal[:, :1], proposal[:, 1:]
    score = start.gather(1, first) + end.gather(1, last)
    return Spans(start=first, end=last, score=score, null_score=start[:, 0] + end[:, 0])


def _decode_span(
    example: Example, spans: Spans, probabilities: tuple[Tensor, Tensor], first_row: int, collator: Collator
) -> SpanAnswer:
    """Take the best span of all windows; "no answer" is as likely as in the window where it is least likely."""
    rows = slice(first_row, first_row + len(example.windows))
    # A span without text, which only a proposal can be, is the answer if no other window has one.
    holds_text = (spans.start[rows, 0] > 0) & (spans.start[rows, 0] <= spans.end[rows, 0])
    scores = spans.score[rows, 0].masked_fill(~holds_text, -math.inf)
    best_window, null_window = int(scores.argmax()), int(spans.null_score[rows].argmin())
    best, null = first_row + best_window, first_row + null_window
    first, last = int(spans.start[best, 0]), int(spans.end[best, 0])
    start_probabilities, end_probabilities = probabilities
    # From positions in the sequence to characters of the passage.
    before, start, end = collator.passage_start, 0, 0
    if holds_text[best_window]:
        start, end = example.characters(best_window, first - before, last - before, collator.tokens)
    return SpanAnswer(
        example,
        best_window,
        tokens=(first, last),
        start=start,
        end=end,
        span_score=float(spans.score[best, 0]),
        null_score=float(spans.null_score[null]),
        null_sequence=null_window,
        probabilities=(
            float(start_probabilities[best, first] * end_probabilities[best, last]),
            float(start_probabilities[null, 0] * end_probabilities[null, 0]),
        ),
    )
