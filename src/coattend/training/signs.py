"""Signs by which a training that went wrong, or data that is not read as it should be, can be told."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from coattend.readers.encoders.words import UNKNOWN
from coattend.readers.reader import Reader
from coattend.text.tagset import ERR
from coattend.training.data import QuestionSet
from coattend.training.examples import Example
from coattend.training.plan import Plan
from coattend.training.sight import has_place, holds_answer, is_read_whole
from coattend.training.tokens import Tokens
from coattend.training.words import WordTokens

LAST_PART = 0.25
"""Share of the steps over which the final loss is averaged: a single point of a curve jumps."""

WITHOUT_PASSAGE = ("no_passage", "options_only")
"""What is read where passages are left out on purpose."""


def signs_of(
    plan: Plan,
    reader: Reader,
    train: QuestionSet,
    held_out: QuestionSet,
    *,
    batches: Iterable[Sequence[int]],
    answered: pa.Table,
    curve: Sequence[dict[str, Any]],
) -> dict[str, float | None]:
    """Gather the signs of a training; `coattend.evaluation.alarms` says which of them raise an alarm.

    Args:
        plan: What was trained.
        reader: What came of it.
        train: What it was trained on.
        held_out: What the checkpoint was chosen by.
        batches: Which of its questions went into a batch together.
        answered: What it answers to that, as a predictions table.
        curve: Points of the training with ``step`` and ``loss``.

    Returns:
        ``final_loss``; ``chance_loss``, that of guessing, None where the loss is not over options or candidates;
        ``held_out_questions``; and as shares from 0 to 1 ``most_given``, the most frequent answer among those to the
        questions held out; ``truncated_passages``, of all passages, None where they are not to be read;
        ``lost_answers``, of the answers that have a place, None where none has; ``err_tags``, of the tokens of all
        texts; ``unknown_words``, of the words of all texts of the questions held out, None for readers of subwords.
    """
    tokens = held_out.tokens
    asked = (train.examples, train.lost, held_out.examples)
    return {
        "final_loss": _final_loss(curve),
        "chance_loss": _chance_loss(plan, train.examples, batches),
        "held_out_questions": answered.num_rows,
        "most_given": _most_given(answered),
        "truncated_passages": None if plan.training.reads in WITHOUT_PASSAGE else _truncated(chain(*asked), tokens),
        "lost_answers": _lost(train, held_out),
        "err_tags": _share(chain(*asked), tokens, lambda where: tokens.tag_ids[where] == ERR),
        "unknown_words": _unknown(reader, held_out),
    }


def _final_loss(curve: Sequence[dict[str, Any]]) -> float | None:
    points = [(point["step"], point["loss"]) for point in curve if point.get("loss") is not None]
    if not points:
        return None
    begin = (1 - LAST_PART) * points[-1][0]
    return float(np.mean([loss for step, loss in points if step > begin]))


def _chance_loss(plan: Plan, examples: Sequence[Example], batches: Iterable[Sequence[int]]) -> float | None:
    """The logarithm of the number of options or candidates, where the loss is a cross entropy over these alone.

    It is a mean of means as the loss is: each batch counts once, and questions with few options share batches.
    """
    over_words = plan.task == "word" and plan.options.get("normalise") == "document"
    if plan.task == "span" or over_words:
        return None
    logs = np.log([len(one.candidates) or len(one.sequences) for one in examples])
    return float(np.mean([logs[list(batch)].mean() for batch in batches]))


def _most_given(answered: pa.Table) -> float | None:
    """For options and candidates the place in the list counts, for spans the place in the passage."""
    columns = ("label", "start", "end", "prediction")
    rows = zip(*(answered[name].to_pylist() for name in columns), strict=True)
    given = Counter(_same(*row) for row in rows)
    return given.most_common(1)[0][1] / given.total() if given else None


def _same(label: int | None, start: int | None, end: int | None, prediction: str) -> Any:
    """What equals what counts as the same answer."""
    if label is not None:
        return label
    return (start, end) if start is not None and prediction else prediction


def _truncated(examples: Iterable[Example], tokens: Tokens) -> float | None:
    read, cut = (np.zeros(len(tokens.offsets) - 1, bool) for _ in range(2))
    for one in examples:
        read[one.passage] = True
        cut[one.passage] |= not is_read_whole(one, tokens)
    return 1 - int((read & ~cut).sum()) / int(read.sum()) if read.any() else None


def _lost(train: QuestionSet, held_out: QuestionSet) -> float | None:
    """Those of the questions to train on were left out for it; those of the questions held out count as wrong."""
    asked = sum(map(has_place, chain(train.examples, train.lost, held_out.examples)))
    if not asked:
        return None
    there = [holds_answer(one, held_out.texts[one.question_id], held_out.tokens) for one in held_out.examples]
    return (len(train.lost) + there.count(False)) / asked


def _unknown(reader: Reader, held_out: QuestionSet) -> float | None:
    tokens = held_out.tokens
    if not isinstance(tokens, WordTokens):
        return None
    known = tokens.lookup(reader.encoder.words, lowercase=reader.encoder.lowercase)
    return _share(held_out.examples, tokens, lambda where: known[tokens.input_ids[where]] == UNKNOWN)


def _share(examples: Iterable[Example], tokens: Tokens, hits: Callable[[slice], np.ndarray]) -> float | None:
    """Share of hits among the tokens of examples' texts, each text counted once; None where there are no tokens."""
    chosen = np.zeros(len(tokens.offsets) - 1, bool)
    for one in examples:
        chosen[[one.passage, *(row for rows in one.sequences for row in rows)]] = True
    found = total = 0
    for row in np.flatnonzero(chosen).tolist():
        found += int(hits(tokens.slice(row)).sum())
        total += tokens.length(row)
    return found / total if total else None
