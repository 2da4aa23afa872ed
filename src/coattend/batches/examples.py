"""Turn questions into examples: token rows of passage, question and options, and windows of the passage."""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.batches.memory_mapped import (
    ROWS,
    MappedFile,
    PassageTexts,
    Records,
    external_sort,
    filter_rows,
    release_pages,
)
from coattend.batches.tokens import Tokens
from coattend.schemas import QuestionRow
from coattend.text.cloze import BLANK, domains_of
from coattend.text.hashing import text_digest

_QUESTIONS = 1_024
"""Questions whose texts are looked up together."""

_COLUMNS = ["question_id", "passage_id", "task", "question", "options", "label", "answers"]


@dataclass(frozen=True)
class Layout:
    """Rules by which questions become sequences.

    Attributes:
        max_length: Longest sequence in tokens, special ones included. The passage is cut, never the question.
        stride: Tokens between the windows of a long passage.
        stride_counts: ``overlap``: the tokens that two windows share (at most half a window). ``advance``: those from
            the start of one to the start of the next.
        fill_blanks: True if an option fills the question's blank, False if it follows the question.
        words_as_options: True if candidates for a word are read like options.
        options_in_windows: True if options are read with every window of a passage, False if with the first alone.
        question_multiple: A question takes the room of a multiple of so many tokens, so that questions about one
            passage leave it the same window, and it can be read once for them.
    """

    max_length: int
    special_tokens: int
    stride: int = 128
    stride_counts: Literal["overlap", "advance"] = "overlap"
    fill_blanks: bool = False
    words_as_options: bool = False
    options_in_windows: bool = False
    question_multiple: int = 1

    def windows(self, passage: int, question: int) -> list[tuple[int, int]]:
        """Cut a passage into windows that fit beside a question, given the tokens of both.

        Returns:
            The first token of each window and its number of tokens; empty if the question leaves no room.
        """
        longest = self.max_length - self.special_tokens
        # A question that leaves no room when rounded up is as long as it is.
        rounded = -(-question // self.question_multiple) * self.question_multiple
        room = longest - (rounded if rounded < longest else question)
        if room < 1:
            return []
        # Windows advance by at least half their length, so that none is mostly a repetition.
        overlap = self.stride if self.stride_counts == "overlap" else room - self.stride
        advance = room - min(max(overlap, 0), room // 2)
        starts = range(0, max(passage - room, 0) + advance, advance)
        return [(start, min(room, passage - start)) for start in starts]


@dataclass(frozen=True)
class Example:
    """A question about a passage.

    Attributes:
        sequences: The rows of the texts in the question domain: for each window of the passage, for each option.
        lengths: Tokens of each question domain, without special tokens.
        windows: For each sequence the first of the passage's tokens that it contains, and their number. Windows are as
            long as fits beside the longest question domain, and options share them. For spans they overlap and cover
            the whole passage; for options there is one, unless they are read in windows.
        spans: Gold answers as character spans of the passage; empty if there is none.
        candidates: Words to choose from, if the answer is a word of the passage.
        blank: Indices in the question domain of the tokens that are its blank.
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
    def rows(self) -> tuple[int, ...]:
        """Rows of the passage and of the texts of all sequences."""
        return self.passage, *(row for texts in self.sequences for row in texts)

    @property
    def option_count(self) -> int:
        """Number of its options; 1 for spans, and for words that are sought in the passage."""
        return len(self.sequences) // len(set(self.windows))

    @property
    def longest(self) -> int:
        """Tokens of its longest sequence, without special tokens."""
        return self.passage_tokens + max(self.lengths)

    @property
    def passage_tokens(self) -> int:
        """Tokens of the longest window."""
        return max(count for _, count in self.windows)

    @property
    def tokens(self) -> int:
        """Tokens of all its sequences, without special tokens."""
        return sum(count for _, count in self.windows) + sum(self.lengths)

    def alone(self, window: int) -> "Example":
        """Return the example with one of its windows alone."""
        part = slice(window, window + 1)
        return replace(self, sequences=self.sequences[part], lengths=self.lengths[part], windows=self.windows[part])

    def window_slice(self, window: int, tokens: Tokens) -> slice:
        """Return the slice of the tokens' flat arrays that holds a window of the passage."""
        first, count = self.windows[window]
        start = tokens.slice(self.passage).start + first
        return slice(start, start + count)

    def characters(self, window: int, first: int, last: int, tokens: Tokens) -> tuple[int, int]:
        """Return the characters of the passage from one token of a window to another."""
        start = self.window_slice(window, tokens).start
        return int(tokens.starts[start + first]), int(tokens.ends[start + last])


@dataclass(frozen=True)
class UnreadableQuestion:
    """A question that a reader cannot be given, and the reason."""

    question_id: str
    reason: str


def build_examples(
    questions: pa.Table, passages: pads.Dataset, tokens: Tokens, layout: Layout
) -> tuple[Sequence[Example], list[UnreadableQuestion]]:
    """Build an example of every question of one task, in order, and list those that leave no room for a passage."""
    texts = PassageTexts(passages)
    unreadable: list[UnreadableQuestion] = []

    def readable() -> Iterator[Example]:
        for batch in questions.select(_COLUMNS).to_batches(_QUESTIONS):
            rows: list[QuestionRow] = batch.to_pylist()
            domains = [domains_of(question, layout) for question in rows]
            # Each text is looked up once, and all of them together.
            ids = dict.fromkeys(question["passage_id"] for question in rows)
            passage_rows = dict(zip(ids, tokens.rows_of([texts[name] for name in ids]), strict=True))
            distinct = list(dict.fromkeys(text for domain in domains for row in domain for text in row))
            row_of = dict(zip(distinct, tokens.rows_of(distinct), strict=True))
            for question, domain in zip(rows, domains, strict=True):
                sequences = [tuple(map(row_of.__getitem__, sequence)) for sequence in domain]
                example = _example(question, passage_rows[question["passage_id"]], sequences, tokens, layout)
                if isinstance(example, UnreadableQuestion):
                    unreadable.append(example)
                else:
                    yield example

    return Records.write(Example, readable()), unreadable


def _example(
    question: QuestionRow, passage: int, sequences: Sequence[tuple[int, ...]], tokens: Tokens, layout: Layout
) -> Example | UnreadableQuestion:
    # The longest question domain decides on the room that the passage has.
    lengths = list(map(tokens.total_length, sequences))
    windows = layout.windows(tokens.length(passage), max(lengths))
    if not windows:
        problem = f"question and option take {max(lengths)} tokens"
        reason = f"{problem} and leave no room for a passage in {layout.max_length}"
        return UnreadableQuestion(question["question_id"], reason)
    is_word_search = question["task"] == "word" and not layout.words_as_options
    # A span may lie in any window; options are compared over the same ones.
    if question["task"] != "span" and (is_word_search or not layout.options_in_windows):
        windows = windows[:1]
    windows, sequences, lengths = (
        [window for window in windows for _ in sequences],
        [*sequences] * len(windows),
        lengths * len(windows),
    )
    return Example(
        question_id=question["question_id"],
        passage=passage,
        sequences=tuple(sequences),
        lengths=tuple(lengths),
        windows=tuple(windows),
        label=question["label"],
        spans=tuple((gold["start"], gold["start"] + len(gold["text"])) for gold in question["answers"] or ()),
        candidates=tuple(question["options"] or ()) if is_word_search else (),
        blank=_blank(question["question"], tokens, sequences[0][0]) if is_word_search else (),
    )


def _blank(question: str, tokens: Tokens, row: int) -> tuple[int, ...]:
    """Return the indices of the tokens that overlap a question's blank."""
    match = BLANK.search(question)
    return () if match is None else tuple(_overlapping(tokens, row, *match.span()).tolist())


def _overlapping(tokens: Tokens, row: int, start: int, end: int) -> np.ndarray:
    """Return the indices of the tokens of a text that overlap a span of its characters."""
    row_slice = tokens.slice(row)
    return np.flatnonzero((tokens.ends[row_slice] > start) & (tokens.starts[row_slice] < end))


def token_span(example: Example, window: tuple[int, int], tokens: Tokens) -> tuple[int, int] | None:
    """Return the first and last token of the first gold answer, relative to the start of a window that contains it."""
    if not example.spans:
        return None
    inside = _overlapping(tokens, example.passage, *example.spans[0]) - window[0]
    if not len(inside) or inside[0] < 0 or inside[-1] >= window[1]:
        return None
    return int(inside[0]), int(inside[-1])


def answer_in_windows(example: Example, tokens: Tokens) -> bool:
    """Return True if one of an example's windows contains its answer."""
    return any(token_span(example, window, tokens) is not None for window in example.windows)


def labels_of(examples: Sequence[Example]) -> dict[str, np.ndarray]:
    """Return ``label`` [B], the index of each right option or candidate, if all are known."""
    labels = [example.label for example in examples]
    return {} if None in labels else {"label": np.array(labels, np.int64)}


def hold_out(questions: pa.Table, share: float) -> tuple[pa.Table, pa.Table]:
    """Split training questions by group, the same way on every machine: those to train on, and those held out.

    Whole groups are held out, whose passages overlap with no other: as many as have a share of the questions together,
    and at least one.
    """
    if not questions.num_rows:
        return questions, questions
    hashes = _group_hashes(questions)
    cuts = range(0, len(hashes), ROWS)
    chunks = (hashes[cut : cut + ROWS] for cut in cuts)
    ordered = external_sort(chunks, hashes.dtype)
    groups = _draw_groups(ordered, math.ceil(share * len(hashes)))
    held_out = np.concatenate([_is_in(hashes[cut : cut + ROWS], groups) for cut in cuts])
    return filter_rows(questions, ~held_out), filter_rows(questions, held_out)


def _group_hashes(questions: pa.Table) -> np.ndarray:
    """Hash each question's group to 12 bytes, whose order is that of their hexadecimal digits."""
    file = MappedFile()
    for batch in questions.select(["group"]).to_batches(ROWS):
        for group in batch.column(0).to_pylist():
            file.write(text_digest(group))
        release_pages()
    return file.array("S12")


def _draw_groups(ordered: np.ndarray, limit: int) -> np.ndarray:
    """Draw groups from the sorted hashes of all questions' groups: each that fits into what is left of the limit.

    The choice depends neither on the order nor on the number of the groups. If all are larger than the limit, the
    smallest is drawn. Returns their hashes, sorted.
    """
    drawn: list[bytes] = []
    smallest, smallest_size, remaining = b"", len(ordered) + 1, limit
    for group, size in _group_sizes(ordered):
        if size <= remaining:
            drawn.append(group)
            remaining -= size
        if size < smallest_size:
            smallest, smallest_size = group, size
        # Every group has a question.
        if drawn and not remaining:
            break
    return np.array(drawn or [smallest], ordered.dtype)


def _group_sizes(ordered: np.ndarray) -> Iterator[tuple[bytes, int]]:
    """Yield the distinct values of a sorted array, and how often each occurs."""
    last, count = b"", 0
    for start in range(0, len(ordered), ROWS):
        values, counts = np.unique(ordered[start : start + ROWS], return_counts=True)
        for value, size in zip(values.tolist(), counts.tolist(), strict=True):
            if value != last and count:
                yield last, count
                count = 0
            last = value
            count += size
        release_pages()
    if count:
        yield last, count


def _is_in(values: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Mask the values that are in a sorted array."""
    positions = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    mask: np.ndarray = ordered[positions] == values
    return mask


def digest(examples: Iterable[Example], tokens: Tokens) -> str:
    """Hash everything that examples contribute to training, their order included, since batches depend on it."""
    content = hashlib.sha256()
    contents: dict[int, bytes] = {}
    for example in examples:
        # Questions about one passage follow one another, and options share their question.
        if example.passage not in contents:
            contents = {}
        for row in set(example.rows) - contents.keys():
            contents[row] = tokens.content(row)
        fields: list[object] = [example.question_id, example.label, example.spans, example.windows]
        # Left out if empty, so that the digests of other tasks do not depend on this field.
        fields += [example.candidates] if example.candidates else []
        content.update(json.dumps(fields).encode())
        texts = hashlib.sha256(b"".join(contents[row] for row in example.rows))
        content.update(texts.hexdigest().encode())
    return content.hexdigest()
