"""What a reader answers to examples."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import torch

from coattend.readers.batch import Batch
from coattend.readers.heads.span import Spans, best_spans
from coattend.readers.reader import Reader, ReaderOutput
from coattend.training.batching import LengthBuckets
from coattend.training.chosen import of_spans
from coattend.training.collation import Collator
from coattend.training.examples import Example
from coattend.training.tokens import Tokens


@dataclass(frozen=True)
class Answer:
    """A reader's answer to one question.

    Attributes:
        example: The question.
        scores: Score of each option or candidate.
        word: The word of the passage that was chosen, out of all.
        tied: Whether another of them is as probable.
        start: First character of the best span in the passage.
        end: Character after its last.
        span_score: Score of that span.
        null_score: Score of "no answer" in the passage.
        probabilities: Those of that span, and of "no answer".
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

    @property
    def choice(self) -> int:
        """The option or candidate with the best score."""
        return max(range(len(self.scores)), key=self.scores.__getitem__)


def answer(
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
    """Answer every example, in batches of like length; gradients are off and dropout too.

    Args:
        reader: A reader, on the device to use.
        examples: The questions.
        collator: Makes a batch's tensors.
        tokens: The benchmark's tokens, for the characters of a span.
        tokens_per_batch: Most padded tokens in a batch.
        bf16: Whether matrix products run in bf16.
        max_answer_length: Longest span in tokens.
        softmaxed: Whether the scores of spans are probabilities already.

    Yields:
        The answers, not in the order of the examples.
    """
    device = next(reader.parameters()).device
    training = reader.training
    reader.eval()
    how = {"tokens_per_batch": tokens_per_batch, "shuffle": False}
    for rows in LengthBuckets.of(examples, collator.sequence_length, **how):
        chosen = [examples[row] for row in rows]
        batch = Batch(**collator(chosen)).to(device)
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            output = reader(batch)
        yield from answers_in(
            output,
            batch,
            chosen,
            collator=collator,
            tokens=tokens,
            max_answer_length=max_answer_length,
            softmaxed=softmaxed,
        )
    reader.train(training)


def answers_in(
    output: ReaderOutput,
    batch: Batch,
    examples: Sequence[Example],
    *,
    collator: Collator,
    tokens: Tokens,
    max_answer_length: int,
    softmaxed: bool,
) -> Iterator[Answer]:
    """The answers that a reader's output holds.

    Args:
        output: What it made of a batch.
        batch: The batch.
        examples: The questions in it.
        collator: What made the batch.
        tokens: The questions' tokens.
        max_answer_length: Longest span in tokens.
        softmaxed: Whether the scores of spans are probabilities already.
    """
    if output.scores is not None:
        for example, scores in zip(examples, output.scores.float().tolist(), strict=True):
            yield Answer(example, scores=tuple(scores[: len(example.candidates) or len(example.sequences)]))
        return
    if output.word_mass is not None:
        for example, mass in zip(examples, output.word_mass.float(), strict=True):
            yield _of_words(example, collator.words(example), mass)
        return
    spans = best_spans(output.start.float(), output.end.float(), batch.answer_mask, max_length=max_answer_length)
    sides = of_spans(output, softmaxed=softmaxed)
    row = 0
    for example in examples:
        yield _of_windows(example, spans, sides, row, collator.passage_start, tokens)
        row += len(example.windows)


def _of_words(example: Example, words: Sequence[str], mass: torch.Tensor) -> Answer:
    """The most probable word of the passage."""
    best = int(mass.argmax())
    tied = int((mass == mass[best]).sum()) > 1
    return Answer(example, word=words[best] if words else "", tied=tied)


def _of_windows(
    example: Example, spans: Spans, sides: tuple[torch.Tensor, torch.Tensor], row: int, before: int, tokens: Tokens
) -> Answer:
    """The best span of all windows; "no answer" is as likely as in the window where it is least so."""
    last = row + len(example.windows)
    best, least = row + int(spans.score[row:last, 0].argmax()), row + int(spans.null_score[row:last].argmin())
    start, end = sides
    where = tokens.slice(example.passage)
    shift = where.start + example.windows[best - row][0] - before
    return Answer(
        example,
        start=int(tokens.starts[shift + int(spans.start[best, 0])]),
        end=int(tokens.ends[shift + int(spans.end[best, 0])]),
        span_score=float(spans.score[best, 0]),
        null_score=float(spans.null_score[least]),
        probabilities=(
            float(start[best, spans.start[best, 0]] * end[best, spans.end[best, 0]]),
            float(start[least, 0] * end[least, 0]),
        ),
    )
