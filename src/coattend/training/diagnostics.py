"""Diagnostics of a training: signs that it failed, or that its data is not read as it should be."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import cast

import numpy as np
import pyarrow as pa

from coattend.batches.dataset import QuestionSet, contains_answer, covers_passage, has_answer_position
from coattend.batches.examples import Example
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import WordTokens
from coattend.readers.encoders.recurrent import RecurrentEncoder
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.readers.encoders.word_embeddings import UNKNOWN
from coattend.readers.reader import Reader
from coattend.text.tagset import ERR
from coattend.trials.experiment import Experiment, TrainingQuestions

FINAL_SHARE = 0.25
"""Share of the steps over which the final loss is averaged: a single point of a curve is noisy."""

WITHOUT_PASSAGE = ("no_passage", "options_only")
"""Values of ``training.reads`` that leave passages out on purpose."""


def training_diagnostics(
    experiment: Experiment,
    reader: Reader,
    questions: TrainingQuestions,
    history: Sequence[Mapping[str, float]],
) -> dict[str, float | None]:
    """Compute the diagnostics of a training and its data, for which `coattend.trials.warnings` has limits.

    ``history`` are points of the training with ``step`` and ``loss``.

    Returns ``final_loss``; ``steps``, how many there were; ``chance_loss``, that of guessing, None if the loss is not
    over options or candidates; and as shares from 0 to 1: ``truncated_passages``, None if passages are left out on
    purpose; ``lost_answers``, of the answers that have a position, None if none has; ``err_tags``, of the tokens of all
    texts; ``unknown_words``, of the words or characters of the held-out texts that are unknown to a reader that learns
    them, None for a pretrained encoder's subwords. ``untrained_pooler`` is 1 if a frozen encoder's summary comes from a
    pooler that was never trained, else 0; None if no transformer is frozen.
    """
    train, held_out = questions.train, questions.held_out
    tokens = held_out.tokens
    examples = [*train.examples, *train.dropped, *held_out.examples]
    left_out = experiment.training.reads in WITHOUT_PASSAGE
    return {
        "final_loss": _final_loss(history),
        "steps": max((point["step"] for point in history), default=None),
        "chance_loss": _chance_loss(experiment, train.examples),
        "truncated_passages": None if left_out else _truncated_passage_rate(examples, tokens),
        "lost_answers": _truncated_answer_rate(train, held_out),
        "err_tags": _token_rate(examples, tokens, lambda row_slice: tokens.tag_ids[row_slice] == ERR),
        "unknown_words": _unknown_word_rate(experiment, reader, held_out),
        "untrained_pooler": _untrained_pooler(experiment, reader),
    }


def answer_diagnostics(predictions: pa.Table) -> dict[str, float | None]:
    """Count the answers to the held-out questions, and compute the share of the most frequent one, ``most_given``."""
    # Answers are compared by position in the options or in the passage.
    columns = ("label", "start", "end", "prediction")
    rows = zip(*(predictions[name].to_pylist() for name in columns), strict=True)
    counts = Counter(_answer_key(*row) for row in rows)
    most_given = counts.most_common(1)[0][1] / counts.total() if counts else None
    return {"held_out_questions": predictions.num_rows, "most_given": most_given}


def _final_loss(history: Sequence[Mapping[str, float]]) -> float | None:
    points = [(point["step"], point["loss"]) for point in history if point.get("loss") is not None]
    if not points:
        return None
    first_step = (1 - FINAL_SHARE) * points[-1][0]
    return float(np.mean([loss for step, loss in points if step > first_step]))


def _chance_loss(experiment: Experiment, examples: Sequence[Example]) -> float | None:
    """Return the cross entropy of a uniform guess, a mean over questions like the training loss; None if the loss is
    not over options or candidates alone."""
    over_words = experiment.task == "word" and experiment.options.get("normalise") == "document"
    if experiment.task == "span" or over_words:
        return None
    # Options have sequences of their own; candidates share one.
    return float(np.log([len(example.candidates) or example.option_count for example in examples]).mean())


def _answer_key(
    label: int | None, start: int | None, end: int | None, prediction: str
) -> int | str | tuple[int | None, int | None]:
    """Return a key that is equal for equal answers."""
    if label is not None:
        return label
    return (start, end) if start is not None and prediction else prediction


def _truncated_passage_rate(examples: Iterable[Example], tokens: Tokens) -> float | None:
    # A passage counts as truncated if any of its questions cuts it.
    is_read, is_truncated = (np.zeros(len(tokens.offsets) - 1, bool) for _ in range(2))
    for example in examples:
        is_read[example.passage] = True
        is_truncated[example.passage] |= not covers_passage(example, tokens)
    if not is_read.any():
        return None
    return 1 - int((is_read & ~is_truncated).sum()) / int(is_read.sum())


def _truncated_answer_rate(train: QuestionSet, held_out: QuestionSet) -> float | None:
    """Return the share of gold answers that were cut off with their passage: training questions that were dropped, and
    held-out ones, which count as errors. None if the task has no positions."""
    examples = chain(train.examples, train.dropped, held_out.examples)
    with_position = sum(map(has_answer_position, examples))
    if not with_position:
        return None
    cut_off = sum(
        not contains_answer(example, held_out.texts[example.question_id], held_out.tokens)
        for example in held_out.examples
    )
    return (len(train.dropped) + cut_off) / with_position


def _untrained_pooler(experiment: Experiment, reader: Reader) -> float | None:
    if not experiment.training.frozen or not isinstance(reader.encoder, TransformerEncoder):
        return None
    return float(reader.encoder.summarises_at_random)


def _unknown_word_rate(experiment: Experiment, reader: Reader, held_out: QuestionSet) -> float | None:
    tokens = held_out.tokens
    if not isinstance(tokens, WordTokens):
        if not experiment.encoder.is_untrained:
            return None
        known_ids = cast(TransformerEncoder, reader.encoder).describe()["known_ids"]
        return _token_rate(
            held_out.examples, tokens, lambda row_slice: ~np.isin(tokens.input_ids[row_slice], known_ids)
        )
    encoder = cast(RecurrentEncoder, reader.encoder)
    reader_ids = tokens.lookup(encoder.words or (), lowercase=encoder.lowercase)
    return _token_rate(held_out.examples, tokens, lambda row_slice: reader_ids[tokens.input_ids[row_slice]] == UNKNOWN)


def _token_rate(examples: Iterable[Example], tokens: Tokens, matches: Callable[[slice], np.ndarray]) -> float | None:
    """Return the share of matching tokens in the texts of examples; None without tokens."""
    # Each text counts once, however many examples share it.
    is_read = np.zeros(len(tokens.offsets) - 1, bool)
    for example in examples:
        is_read[[example.passage, *(row for rows in example.sequences for row in rows)]] = True
    matching = total = 0
    for row in np.flatnonzero(is_read).tolist():
        matching += int(matches(tokens.slice(row)).sum())
        total += tokens.length(row)
    return matching / total if total else None
