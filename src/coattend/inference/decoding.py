"""Decode a reader's output into answers: options, words and spans, with their probabilities.

Shapes: B questions, S sequences (one for each option, or for each window of a passage), C options or candidates, P
tokens of the passage domain.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from coattend.batches.collator import Collator
from coattend.batches.examples import Example
from coattend.batches.sampler import LengthBuckets
from coattend.batches.tokens import Tokens
from coattend.readers.batch import Batch
from coattend.readers.heads.span import Spans, best_spans
from coattend.readers.reader import Reader, ReaderOutput

N_BEST = 3
"""Number of spans that `top_spans` lists."""


@dataclass(frozen=True)
class Decision:
    """The option, word or span that a reader decided for, as indices into its output.

    Attributes:
        sequence: Index of the sequence that it belongs to: that of an option, or a window of the passage.
        option: Index of the option or candidate; None if there are none.
        word: Index of a distinct word of the passage, for readers that choose among all of them.
        span: First and last token in the passage domain; both 0 for "no answer".
    """

    sequence: int
    option: int | None = None
    word: int | None = None
    span: tuple[int, int] | None = None

    def probability(self, output: ReaderOutput, *, softmaxed: bool) -> Tensor:
        """Return its probability in other outputs for the same question, such as those of occluded copies.

        Args:
            output: Output for B copies of the question; for spans, of the window of the decision alone.
            softmaxed: True if span scores are probabilities already.

        Returns:
            [B].
        """
        if self.option is not None:
            return option_probabilities(output)[:, self.option]
        if self.word is not None:
            return output.word_mass[:, self.word]
        start, end = span_probabilities(output, softmaxed=softmaxed)
        return start[:, self.span[0]] * end[:, self.span[1]]


class ScoredSpan(NamedTuple):
    """A span of tokens of the passage domain, both ends included, with its probability."""

    first: int
    last: int
    probability: float


@dataclass(frozen=True)
class Answer:
    """A reader's answer to one question.

    Attributes:
        example: The question.
        scores: Score of each option or candidate.
        start: First character of the best span in the passage.
        end: Character after its last.
        span_score: Score of that span.
        null_score: Score of "no answer" in the passage.
        probabilities: Probability of that span, and of "no answer".
        word: The word that was chosen among all words of the passage.
        tied: True if another word is as probable.
        decision: The best option, word or span as indices.
        null_sequence: Index of the window where "no answer" is least likely, whose score counts.
    """

    example: Example
    scores: tuple[float, ...] | None = None
    start: int | None = None
    end: int | None = None
    span_score: float | None = None
    null_score: float | None = None
    probabilities: tuple[float, float] | None = None
    word: str | None = None
    tied: bool = False
    decision: Decision | None = None
    null_sequence: int | None = None

    @property
    def choice(self) -> int:
        """Index of the option or candidate with the best score."""
        return max(range(len(self.scores)), key=self.scores.__getitem__)

    @property
    def null_margin(self) -> float:
        """Score of "no answer" less that of the best span."""
        return self.null_score - self.span_score

    def decide(self, threshold: float | None) -> Decision:
        """Return the decision, which is "no answer" if its margin exceeds a threshold; None: never."""
        if threshold is None or self.null_sequence is None or self.null_margin <= threshold:
            return self.decision
        return Decision(self.null_sequence, span=(0, 0))


def option_probabilities(output: ReaderOutput) -> Tensor:
    """Return the probability of each option or candidate [B, C]; masses of words are normalised over candidates."""
    if output.word_mass is None:
        return output.scores.float().softmax(-1)
    masses = output.scores.float().clamp_min(0)
    return masses / masses.sum(-1, keepdim=True).clamp_min(torch.finfo(masses.dtype).tiny)


def span_probabilities(output: ReaderOutput, *, softmaxed: bool) -> tuple[Tensor, Tensor]:
    """Return each token's probability to be the first and the last of the span, [S, P] each.

    Args:
        output: Output for S sequences.
        softmaxed: True if its scores are probabilities already.
    """
    start, end = output.start.float(), output.end.float()
    return (start.clamp_min(0), end.clamp_min(0)) if softmaxed else (start.softmax(-1), end.softmax(-1))


def top_spans(
    output: ReaderOutput, batch: Batch, window: int, *, max_length: int, softmaxed: bool, n_best: int = N_BEST
) -> list[ScoredSpan]:
    """Return the best spans of one window with their probabilities.

    Args:
        output: Output for the batch.
        batch: The batch.
        window: Index of the window.
        max_length: Longest span in tokens.
        softmaxed: True if span scores are probabilities already.
        n_best: Number of spans.
    """
    start_probabilities, end_probabilities = span_probabilities(output, softmaxed=softmaxed)
    spans = best_spans(
        output.start[[window]].float(),
        output.end[[window]].float(),
        batch.answer_mask[[window]],
        max_length=max_length,
        n_best=n_best,
    )
    return [
        ScoredSpan(first, last, float(start_probabilities[window, first] * end_probabilities[window, last]))
        for first, last in zip(spans.start[0].tolist(), spans.end[0].tolist(), strict=True)
        if last > 0  # Token 0 stands for "no answer".
    ]


def answer_examples(
    reader: Reader,
    examples: Sequence[Example],
    *,
    collator: Collator,
    tokens: Tokens,
    tokens_per_batch: int,
    bf16: bool,
    max_answer_length: int,
    softmaxed: bool,
) -> Generator[Answer, None, None]:
    """Answer examples in batches of similar length, without gradients and dropout.

    Args:
        reader: The reader, on the device to use.
        examples: The questions.
        collator: Makes the batches.
        tokens: The benchmark's tokens, for the characters of a span.
        tokens_per_batch: Maximum of padded tokens in a batch.
        bf16: True to run matrix products in bf16.
        max_answer_length: Longest span in tokens.
        softmaxed: True if span scores are probabilities already.

    Yields:
        The answers, in the order of the batches.
    """
    device = next(reader.parameters()).device
    was_training = reader.training
    reader.eval()
    batches = LengthBuckets.from_examples(
        examples, collator.sequence_length, tokens_per_batch=tokens_per_batch, shuffle=False
    )
    for indices in batches:
        batch_examples = [examples[index] for index in indices]
        batch = Batch(**collator(batch_examples)).to(device)
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            output = reader(batch)
        yield from decode(
            output,
            batch,
            batch_examples,
            collator=collator,
            tokens=tokens,
            max_answer_length=max_answer_length,
            softmaxed=softmaxed,
        )
    reader.train(was_training)


def decode(
    output: ReaderOutput,
    batch: Batch,
    examples: Sequence[Example],
    *,
    collator: Collator,
    tokens: Tokens,
    max_answer_length: int,
    softmaxed: bool,
) -> Iterator[Answer]:
    """Decode the output for a batch into one answer for each of its questions.

    Args:
        output: The reader's output.
        batch: The batch.
        examples: The questions in it.
        collator: Made the batch.
        tokens: Tokens of the questions.
        max_answer_length: Longest span in tokens.
        softmaxed: True if span scores are probabilities already.

    Yields:
        The answers, in the order of the examples.
    """
    # Options, or candidates for a word.
    if output.scores is not None:
        for example, scores in zip(examples, output.scores.float().tolist(), strict=True):
            yield _decode_option(example, scores)
        return
    # All distinct words of the passage.
    if output.word_mass is not None:
        for example, mass in zip(examples, output.word_mass.float(), strict=True):
            yield _decode_word(example, collator.words(example), mass)
        return
    # Spans: the windows of a question are consecutive rows.
    spans = best_spans(output.start.float(), output.end.float(), batch.answer_mask, max_length=max_answer_length)
    probabilities = span_probabilities(output, softmaxed=softmaxed)
    row = 0
    for example in examples:
        yield _decode_span(example, spans, probabilities, row, collator.passage_start, tokens)
        row += len(example.windows)


def _decode_option(example: Example, padded_scores: Sequence[float]) -> Answer:
    scores = tuple(padded_scores[: len(example.candidates) or len(example.sequences)])
    option = max(range(len(scores)), key=scores.__getitem__)
    # Candidates for a word share one sequence.
    sequence = option if len(example.sequences) > 1 else 0
    return Answer(example, scores=scores, decision=Decision(sequence, option=option))


def _decode_word(example: Example, words: Sequence[str], mass: Tensor) -> Answer:
    best = int(mass.argmax())
    tied = int((mass == mass[best]).sum()) > 1
    return Answer(example, word=words[best] if words else "", tied=tied, decision=Decision(0, word=best))


def _decode_span(
    example: Example,
    spans: Spans,
    probabilities: tuple[Tensor, Tensor],
    first_row: int,
    passage_start: int,
    tokens: Tokens,
) -> Answer:
    """Take the best span of all windows; "no answer" is as likely as in the window where it is least likely."""
    rows = slice(first_row, first_row + len(example.windows))
    best_window, null_window = int(spans.score[rows, 0].argmax()), int(spans.null_score[rows].argmin())
    best, null = first_row + best_window, first_row + null_window
    first, last = int(spans.start[best, 0]), int(spans.end[best, 0])
    start_probabilities, end_probabilities = probabilities
    # From positions in the sequence to tokens of the benchmark.
    offset = tokens.slice(example.passage).start + example.windows[best_window][0] - passage_start
    return Answer(
        example,
        start=int(tokens.starts[offset + first]),
        end=int(tokens.ends[offset + last]),
        span_score=float(spans.score[best, 0]),
        null_score=float(spans.null_score[null]),
        probabilities=(
            float(start_probabilities[best, first] * end_probabilities[best, last]),
            float(start_probabilities[null, 0] * end_probabilities[null, 0]),
        ),
        decision=Decision(best_window, span=(first, last)),
        null_sequence=null_window,
    )
