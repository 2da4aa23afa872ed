"""A benchmark's questions as a reader is trained on them and asked them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import TrainingParameters
from coattend.text.identity import text_id
from coattend.training.examples import Example, Unreadable, build_examples, hold_out
from coattend.training.layout import Layout
from coattend.training.mapped import mapped_table, streamed
from coattend.training.partial import read_in_part
from coattend.training.passages import PassageOf
from coattend.training.records import Records
from coattend.training.sight import has_place, holds_answer
from coattend.training.tokens import Tokens


@dataclass(frozen=True)
class QuestionSet:
    """Questions, their passages, and the examples made of them.

    Attributes:
        questions: Rows of the questions table.
        texts: Passage text by question id.
        tokens: Of these texts, and of others.
        examples: Those that a reader can be given.
        unreadable: Those that it cannot, or shall not.
        lost: Of these the ones that it is not trained on since what is read of the passage does not hold the answer.
    """

    questions: pa.Table
    texts: Mapping[str, str]
    tokens: Tokens
    examples: Sequence[Example]
    unreadable: list[Unreadable]
    lost: Sequence[Example] = ()

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """Rows of the questions by id."""
        return {row["question_id"]: row for row in self.questions.to_pylist()}


@dataclass(frozen=True)
class Source:
    """Where the questions of one task come from.

    Args:
        benchmark: Its name.
        questions: Its questions.
        passages: Its passages.
        tokens: Its tokens, as they are trained on.
        task: The task to read.
        special_tokens: How many special tokens a sequence has.
        fill_blanks: Whether options fill blanks.
        words_as_options: Whether candidates for a word are read like options.
        scored_tokens: Its tokens as they are scored; None: as they are trained on.
    """

    benchmark: str
    questions: pads.Dataset
    passages: pads.Dataset
    tokens: Tokens
    task: str
    special_tokens: int
    fill_blanks: bool = False
    words_as_options: bool = False
    scored_tokens: Tokens | None = None

    def training(self, training: TrainingParameters) -> tuple[QuestionSet, QuestionSet]:
        """The questions to train on and those that choose the checkpoint.

        A training question whose answer what is read of its passage does not hold is left out: it would teach that
        there is none.

        Raises:
            CoattendError: If there are none of one of the two.
        """
        subsets = self._subsets(training)
        train = self._rows(["train"], subsets)
        if training.selection == "dev":
            held_out = self._rows(["dev"], subsets)
        else:
            train, held_out = hold_out(train, self.passages, training.held_out)
            held_out = _first(held_out, training.max_questions)
        train = _first(train, training.max_questions)
        chosen, choosing = (self._set(rows, training, self.tokens) for rows in (train, held_out))
        chosen = self._answers_in_sight(chosen)
        for questions, purpose in ((chosen, "to train on"), (choosing, "to choose the checkpoint by")):
            if not questions.examples:
                raise self._none(purpose, questions.unreadable)
        return chosen, choosing

    def scored(self, training: TrainingParameters) -> QuestionSet:
        """The questions of every split but train.

        Raises:
            CoattendError: If there are none.
        """
        splits = set(pc.unique(self.questions.to_table(columns=["split"]).column("split")).to_pylist()) - {"train"}
        asked = self._set(self._rows(sorted(splits)), training, self.scored_tokens or self.tokens)
        if not asked.examples:
            raise self._none("to score", asked.unreadable)
        return asked

    def _answers_in_sight(self, questions: QuestionSet) -> QuestionSet:
        def in_sight(one: Example) -> bool:
            return not has_place(one) or holds_answer(one, questions.texts[one.question_id], self.tokens)

        every = questions.examples
        there = np.fromiter(map(in_sight, every), bool, count=len(every))
        lost = [every[int(place)] for place in np.flatnonzero(~there)]
        if not lost:
            return questions
        reason = "what is read of the passage does not hold its answer"
        left_out = [Unreadable(one.question_id, reason) for one in lost]
        kept = Records.of(Example, compress(every, there))
        return replace(questions, examples=kept, unreadable=[*questions.unreadable, *left_out], lost=lost)

    def _none(self, purpose: str, unreadable: Sequence[Unreadable]) -> CoattendError:
        why = f"; {len(unreadable)} are left out, the first because {unreadable[0].reason}" if unreadable else ""
        return CoattendError(
            f"there are no questions of the task {self.task!r} {purpose}{why}",
            where="questions table",
            cure="Add passages to its files, or, if questions are too long, raise training.max_length",
        )

    def _subsets(self, training: TrainingParameters) -> tuple[str, ...]:
        """The subsets to train on; none: all.

        Raises:
            CoattendError: If the benchmark has no such subset.
        """
        wanted = training.train_on.get(self.benchmark, ())
        subsets = (wanted,) if isinstance(wanted, str) else wanted
        known = pc.unique(self.questions.to_table(columns=["subset"]).column("subset").cast(pa.string())).to_pylist()
        for name in subsets:
            if name not in known:
                cure = did_you_mean(name, sorted(filter(None, known)))
                raise CoattendError(f"there is no subset {name!r}", where="training.train_on", cure=cure)
        return subsets

    def _rows(self, splits: Sequence[str], subsets: Sequence[str] = ()) -> pa.Table:
        wanted = pc.field("split").cast(pa.string()).isin(list(splits))
        if subsets:
            wanted &= pc.field("subset").cast(pa.string()).isin(list(subsets))
        wanted &= pc.field("task").cast(pa.string()) == self.task
        schema = self.questions.schema
        return mapped_table(streamed(self.questions, schema.names, filter=wanted), schema)

    def _set(self, questions: pa.Table, training: TrainingParameters, tokens: Tokens) -> QuestionSet:
        layout = Layout(
            max_length=training.max_length,
            special_tokens=self.special_tokens,
            stride=training.stride,
            stride_counts=training.stride_counts,
            fill_blanks=self.fill_blanks,
            words_as_options=self.words_as_options,
        )
        examples, unreadable = build_examples(questions, self.passages, tokens, layout)
        examples, tokens = read_in_part(examples, tokens, training.reads)
        return QuestionSet(questions, PassageOf(questions, self.passages), tokens, examples, unreadable)


def _first(questions: pa.Table, count: int | None) -> pa.Table:
    """As many questions as wanted, chosen by their ids and not by their order; None: all of them."""
    if count is None:
        return questions
    keys = pa.array([text_id(name) for name in questions.column("question_id").to_pylist()])
    return questions.take(pc.sort_indices(keys)[:count])
