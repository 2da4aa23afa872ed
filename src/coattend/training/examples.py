"""Questions with their tokens: what a batch is made of."""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.text.identity import text_id
from coattend.text.questions import question_texts
from coattend.training.tokens import Tokens


@dataclass(frozen=True)
class Example:
    """A question about a passage.

    Attributes:
        question_id: Its id.
        passage: Row of the passage's tokens.
        sequences: For each option (or once, for a span) the rows of the texts in the question domain.
        lengths: Tokens of each question domain, without special tokens.
        passage_tokens: How many of the passage's tokens fit beside the longest question domain.
        label: The right option.
        spans: Gold answers as character spans of the passage; empty if there is none.
    """

    question_id: str
    passage: int
    sequences: tuple[tuple[int, ...], ...]
    lengths: tuple[int, ...]
    passage_tokens: int
    label: int | None
    spans: tuple[tuple[int, int], ...]

    @property
    def longest(self) -> int:
        """Tokens of its longest sequence, without special tokens."""
        return self.passage_tokens + max(self.lengths)

    @property
    def tokens(self) -> int:
        """Tokens of all its sequences, without special tokens."""
        return self.passage_tokens * len(self.lengths) + sum(self.lengths)


@dataclass(frozen=True)
class Unreadable:
    """A question that a reader cannot be given, and why."""

    question_id: str
    reason: str


def build_examples(
    questions: pa.Table, passages: pads.Dataset, tokens: Tokens, *, max_length: int, special_tokens: int
) -> tuple[list[Example], list[Unreadable]]:
    """Look up the tokens of every question.

    Args:
        questions: Rows of the questions table, of one task.
        passages: The benchmark's passages.
        tokens: The benchmark's tokens.
        max_length: Longest sequence in tokens. A passage is cut to fit; a question never is.
        special_tokens: How many special tokens a sequence has.

    Returns:
        The examples, in the order of the questions, and the questions whose question domain leaves no room for a
        passage.
    """
    texts = passage_texts(passages, questions)
    examples: list[Example] = []
    unreadable: list[Unreadable] = []
    for question in questions.select(_COLUMNS).to_pylist():
        options = question["options"] if question["task"] == "options" else [None]
        sequences = tuple(
            tuple(tokens.row(text) for text in question_texts(question["question"], option)) for option in options
        )
        lengths = tuple(sum(tokens.length(row) for row in rows) for rows in sequences)
        passage = tokens.row(texts[question["passage_id"]])
        room = max_length - special_tokens - max(lengths)
        if room < 1:
            reason = f"question and option take {max(lengths)} tokens and leave no room for a passage in {max_length}"
            unreadable.append(Unreadable(question["question_id"], reason))
            continue
        spans = tuple((a["start"], a["start"] + len(a["text"])) for a in question["answers"] or ())
        examples.append(
            Example(
                question_id=question["question_id"],
                passage=passage,
                sequences=sequences,
                lengths=lengths,
                passage_tokens=min(room, tokens.length(passage)),
                label=question["label"],
                spans=spans,
            )
        )
    return examples, unreadable


_COLUMNS = ["question_id", "passage_id", "task", "question", "options", "label", "answers"]


def token_span(example: Example, tokens: Tokens) -> tuple[int, int] | None:
    """The first gold answer as first and last token of the passage.

    Returns:
        None if there is no answer, or if it lies in the part of the passage that was cut.
    """
    if not example.spans:
        return None
    where = tokens.slice(example.passage)
    first, last = example.spans[0]
    inside = np.flatnonzero((tokens.ends[where] > first) & (tokens.starts[where] < last))
    if not len(inside) or inside[-1] >= example.passage_tokens:
        return None
    return int(inside[0]), int(inside[-1])


def hold_out(questions: pa.Table, passages: pads.Dataset, share: float) -> tuple[pa.Table, pa.Table]:
    """Split training questions by passage, the same way on every machine.

    Args:
        questions: The training questions.
        passages: The benchmark's passages.
        share: Share of the distinct passage texts to hold out; at least one.

    Returns:
        The questions to train on, and those held out. Equal passages stay on one side.
    """
    ids = {passage: text_id(text) for passage, text in passage_texts(passages, questions).items()}
    distinct = sorted(set(ids.values()))
    chosen = set(distinct[: max(1, math.ceil(share * len(distinct)))])
    held = pa.array([ids[passage] in chosen for passage in questions.column("passage_id").to_pylist()])
    return questions.filter(pc.invert(held)), questions.filter(held)


def digest(examples: Iterable[Example], tokens: Tokens) -> str:
    """A hash of everything that examples bring to training, their order included: batches depend on it."""
    content = hashlib.sha256()
    for example in examples:
        rows = [example.passage, *(row for rows in example.sequences for row in rows)]
        head = [example.question_id, example.label, example.spans, example.passage_tokens]
        content.update(json.dumps(head).encode())
        content.update(tokens.digest(rows).encode())
    return content.hexdigest()


def passage_texts(passages: pads.Dataset, questions: pa.Table) -> dict[str, str]:
    """The texts of the passages that questions are about, by passage id."""
    wanted = pc.field("passage_id").isin(pc.unique(questions.column("passage_id")))
    table = passages.to_table(columns=["passage_id", "text"], filter=wanted)
    return dict(zip(table.column("passage_id").to_pylist(), table.column("text").to_pylist(), strict=True))
