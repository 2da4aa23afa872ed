"""Questions with their tokens: what a batch is made of."""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.text.identity import text_id
from coattend.text.questions import BLANK, question_domains
from coattend.training.layout import Layout
from coattend.training.mapped import ROWS, MappedFile, filtered, in_order, let_go
from coattend.training.passages import Passages
from coattend.training.records import Records
from coattend.training.tokens import Tokens


@dataclass(frozen=True)
class Example:
    """A question about a passage.

    Attributes:
        question_id: Its id.
        passage: Row of the passage's tokens.
        sequences: For each option, or for each window of the passage, the rows of the texts in the question domain.
        lengths: Tokens of each question domain, without special tokens.
        windows: For each sequence the first of the passage's tokens that it holds, and how many. Beside options they
            are all the same, as many as fit beside the longest question domain; for spans they overlap and together
            hold the whole passage.
        label: The right option.
        spans: Gold answers as character spans of the passage; empty if there is none.
        candidates: Words to choose from, where the passage is searched for one.
        blank: Tokens of the question that are its blank, counted in the question domain.
    """

    question_id: str
    passage: int
    sequences: tuple[tuple[int, ...], ...]
    lengths: tuple[int, ...]
    windows: tuple[tuple[int, int], ...]
    label: int | None
    spans: tuple[tuple[int, int], ...]
    candidates: tuple[str, ...] = ()
    blank: tuple[int, ...] = ()

    @property
    def longest(self) -> int:
        """Tokens of its longest sequence, without special tokens."""
        return self.passage_tokens + max(self.lengths)

    @property
    def passage_tokens(self) -> int:
        """Tokens of the passage in the sequence that holds most of it."""
        return max(count for _, count in self.windows)

    @property
    def tokens(self) -> int:
        """Tokens of all its sequences, without special tokens."""
        return sum(count for _, count in self.windows) + sum(self.lengths)


@dataclass(frozen=True)
class Unreadable:
    """A question that a reader cannot be given, and why."""

    question_id: str
    reason: str


def build_examples(
    questions: pa.Table, passages: pads.Dataset, tokens: Tokens, layout: Layout
) -> tuple[Sequence[Example], list[Unreadable]]:
    """Look up the tokens of every question.

    Args:
        questions: Rows of the questions table, of one task.
        passages: The benchmark's passages.
        tokens: The benchmark's tokens.
        layout: How questions become sequences.

    Returns:
        The examples, in the order of the questions, and the questions whose question domain leaves no room for a
        passage.
    """
    texts = Passages(passages)
    unreadable: list[Unreadable] = []

    def readable() -> Iterator[Example]:
        for batch in questions.select(_COLUMNS).to_batches(ROWS):
            for question in batch.to_pylist():
                example = _example(question, tokens.row(texts[question["passage_id"]]), tokens, layout)
                if isinstance(example, Unreadable):
                    unreadable.append(example)
                else:
                    yield example

    return Records.of(Example, readable()), unreadable


_COLUMNS = ["question_id", "passage_id", "task", "question", "options", "label", "answers"]


def _example(question: dict[str, Any], passage: int, tokens: Tokens, layout: Layout) -> Example | Unreadable:
    domains = question_domains(
        question["task"],
        question["question"],
        question["options"],
        fill_blanks=layout.fill_blanks,
        words_as_options=layout.words_as_options,
    )
    sequences = [tuple(tokens.row(text) for text in texts) for texts in domains]
    lengths = [sum(tokens.length(row) for row in rows) for rows in sequences]
    windows = layout.windows(tokens.length(passage), max(lengths))
    if not windows:
        taken = f"question and option take {max(lengths)} tokens"
        return Unreadable(question["question_id"], f"{taken} and leave no room for a passage in {layout.max_length}")
    if question["task"] == "span":
        sequences, lengths = sequences * len(windows), lengths * len(windows)
    else:
        windows = windows[:1] * len(sequences)
    for_a_word = question["task"] == "word" and not layout.words_as_options
    return Example(
        question_id=question["question_id"],
        passage=passage,
        sequences=tuple(sequences),
        lengths=tuple(lengths),
        windows=tuple(windows),
        label=question["label"],
        spans=tuple((a["start"], a["start"] + len(a["text"])) for a in question["answers"] or ()),
        candidates=tuple(question["options"] or ()) if for_a_word else (),
        blank=_blank(question["question"], tokens, sequences[0][0]) if for_a_word else (),
    )


def _blank(question: str, tokens: Tokens, row: int) -> tuple[int, ...]:
    """The tokens of a question that are its blank."""
    found = BLANK.search(question)
    if found is None:
        return ()
    where = tokens.slice(row)
    inside = (tokens.ends[where] > found.start()) & (tokens.starts[where] < found.end())
    return tuple(np.flatnonzero(inside).tolist())


def token_span(example: Example, window: tuple[int, int], tokens: Tokens) -> tuple[int, int] | None:
    """The first gold answer as first and last token of a window, counted from the window's start.

    Returns:
        None if there is no answer, or if it does not lie in the window as a whole.
    """
    if not example.spans:
        return None
    where = tokens.slice(example.passage)
    first, last = example.spans[0]
    inside = np.flatnonzero((tokens.ends[where] > first) & (tokens.starts[where] < last)) - window[0]
    if not len(inside) or inside[0] < 0 or inside[-1] >= window[1]:
        return None
    return int(inside[0]), int(inside[-1])


def is_in_sight(example: Example, tokens: Tokens) -> bool:
    """Whether one of an example's windows holds its answer."""
    return any(token_span(example, window, tokens) is not None for window in example.windows)


def hold_out(questions: pa.Table, passages: pads.Dataset, share: float) -> tuple[pa.Table, pa.Table]:
    """Split training questions by passage, the same way on every machine.

    Args:
        questions: The training questions.
        passages: The benchmark's passages.
        share: Share of the distinct passage texts to hold out; at least one.

    Returns:
        The questions to train on, and those held out. Equal passages stay on one side.
    """
    if not questions.num_rows:
        return questions, questions
    ids = _passage_ids(questions, passages)
    cuts = range(0, len(ids), ROWS)
    ordered = in_order((ids[cut : cut + ROWS] for cut in cuts), ids.dtype, lambda some: some.view(np.uint8)[::12] >> 2)
    wanted = max(1, math.ceil(share * sum(map(len, _distinct(ordered)))))
    for some in _distinct(ordered):
        last = some[:wanted][-1:]
        wanted -= len(some)
        if wanted <= 0:
            break
    held = np.concatenate([ids[cut : cut + ROWS] <= last for cut in cuts])
    return filtered(questions, ~held), filtered(questions, held)


def _passage_ids(questions: pa.Table, passages: pads.Dataset) -> np.ndarray:
    """Each question's passage by a hash of its text, as bytes, whose order is that of the digits."""
    texts, found = Passages(passages), MappedFile()
    for batch in questions.select(["passage_id"]).to_batches(ROWS):
        for passage in batch.column(0).to_pylist():
            found.write(bytes.fromhex(text_id(texts[passage])))
        let_go()
    return found.array("S12")


def _distinct(ordered: np.ndarray) -> Iterator[np.ndarray]:
    """Distinct values of an array that is in order, few at a time."""
    for first in range(0, len(ordered), ROWS):
        some = np.unique(ordered[first : first + ROWS])
        yield some[1:] if first and some[0] == ordered[first - 1] else some
        let_go()


def digest(examples: Iterable[Example], tokens: Tokens) -> str:
    """A hash of everything that examples bring to training, their order included: batches depend on it."""
    content = hashlib.sha256()
    for example in examples:
        rows = [example.passage, *(row for rows in example.sequences for row in rows)]
        head = [example.question_id, example.label, example.spans, example.windows]
        head += [example.candidates] if example.candidates else []
        content.update(json.dumps(head).encode())
        content.update(tokens.digest(rows).encode())
    return content.hexdigest()
