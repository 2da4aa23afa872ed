"""The questions of a benchmark to train on or to evaluate, with their passages, tokens and examples."""

import re
from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.batches.ablations import drop_inputs
from coattend.batches.examples import Example, Layout, UnreadableQuestion, answer_in_windows, build_examples, hold_out
from coattend.batches.memory_mapped import (
    PassagesByQuestion,
    Records,
    distinct_values,
    memory_mapped_table,
    stream_batches,
)
from coattend.batches.tokens import Tokens
from coattend.config import TrainingParameters
from coattend.errors import CoattendError, did_you_mean
from coattend.schemas import QuestionRow
from coattend.text.hashing import text_id

_REST_OF_WORD = re.compile(r"\S*")


def covers_passage(example: Example, tokens: Tokens) -> bool:
    """Return True if the windows of an example reach the end of its passage."""
    return sum(example.windows[-1]) >= tokens.length(example.passage)


def has_answer_position(example: Example) -> bool:
    """Return True if the answer has a position in the passage; options have none."""
    return bool(example.spans or example.candidates)


def contains_answer(example: Example, passage: str, tokens: Tokens) -> bool:
    """Return True if the windows of an example contain its answer, or if the answer has no position."""
    if example.spans:
        return answer_in_windows(example, tokens)
    if not example.candidates or example.label is None:
        return True
    last = int(tokens.ends[example.window_slice(0, tokens)][-1]) - 1
    # A word counts if some of its subwords are read, as in a batch; cutting the text within it would miss it.
    rest = _REST_OF_WORD.match(passage, last)
    return example.candidates[example.label] in passage[: rest.end() if rest else last].split()


@dataclass(frozen=True)
class QuestionSet:
    """Questions and their examples; texts are passages by question id, tokens those of these texts and others.

    Attributes:
        unreadable: The questions that have no example.
        dropped: Training examples that were left out because the answer was cut off with the passage.
        scorer: Name of the rules by which spans are scored, of `coattend.evaluation.span_scorer`.
    """

    questions: pa.Table
    texts: Mapping[str, str]
    tokens: Tokens
    examples: Sequence[Example]
    unreadable: list[UnreadableQuestion]
    dropped: Sequence[Example] = ()
    scorer: str = "squad"

    @cached_property
    def rows(self) -> dict[str, QuestionRow]:
        """Rows of the questions table by question id."""
        return {row["question_id"]: row for row in self.questions.to_pylist()}

    @property
    def all_answerable(self) -> bool:
        """True if every question has an answer."""
        return bool(pc.all(self.questions.column("answerable"), min_count=0).as_py())

    def sample(self, count: int) -> "QuestionSet":
        """Draw so many questions that have an example, by hashes of their ids; all of them if there are fewer."""
        ids = [example.question_id for example in self.examples]
        drawn = sorted(range(len(ids)), key=lambda index: text_id(ids[index]))[:count]
        examples = [self.examples[index] for index in sorted(drawn)]
        is_drawn = pc.is_in(self.questions["question_id"], pa.array([example.question_id for example in examples]))
        return replace(self, questions=self.questions.filter(is_drawn), examples=examples, unreadable=[], dropped=())


@dataclass(frozen=True)
class QuestionSource:
    """The tables of a benchmark, from which question sets of one task are read by the rules of a `Layout`.

    ``eval_tokens`` are its tokens for evaluation, if they differ from those for training.
    """

    benchmark: str
    questions: pads.Dataset
    passages: pads.Dataset
    tokens: Tokens
    task: str
    special_tokens: int
    fill_blanks: bool = False
    words_as_options: bool = False
    question_multiple: int = 1
    eval_tokens: Tokens | None = None
    scorer: str = "squad"

    def training(self, training: TrainingParameters) -> tuple[QuestionSet, QuestionSet]:
        """Read the training questions and the held-out questions, which choose the checkpoint.

        Training questions whose answer was cut off with the passage are dropped: they would teach that there is none.
        """
        subsets = self._subsets(training)
        train_rows = self._rows(["train"], subsets)
        # Choosing on dev is allowed, and labelled in reports.
        if training.selection == "dev":
            held_out_rows = self._rows(["dev"], subsets)
        else:
            train_rows, held_out_rows = hold_out(train_rows, training.held_out)
            held_out_rows = _limit(held_out_rows, training.max_questions)
        train_rows = _limit(train_rows, training.max_questions)
        train, held_out = (self._read(rows, training, self.tokens) for rows in (train_rows, held_out_rows))
        train = self._drop_cut_answers(train)
        return self._not_empty(train, "to train on"), self._not_empty(held_out, "to choose the checkpoint by")

    def evaluation(self, training: TrainingParameters) -> QuestionSet:
        """Read the questions of every split but train."""
        splits = set(self._distinct("split")) - {"train"}
        questions = self._read(self._rows(sorted(splits)), training, self.eval_tokens or self.tokens)
        return self._not_empty(questions, "to score")

    def _drop_cut_answers(self, questions: QuestionSet) -> QuestionSet:
        def answerable(example: Example) -> bool:
            passage = questions.texts[example.question_id] if has_answer_position(example) else ""
            return contains_answer(example, passage, self.tokens)

        examples = questions.examples
        mask = np.fromiter(map(answerable, examples), bool, count=len(examples))
        dropped = [examples[int(index)] for index in np.flatnonzero(~mask)]
        if not dropped:
            return questions
        reason = "what is read of the passage does not hold its answer"
        unreadable = questions.unreadable + [UnreadableQuestion(example.question_id, reason) for example in dropped]
        answerable_examples = Records.write(Example, compress(examples, mask))
        return replace(questions, examples=answerable_examples, unreadable=unreadable, dropped=dropped)

    def _not_empty(self, questions: QuestionSet, purpose: str) -> QuestionSet:
        if questions.examples:
            return questions
        unreadable = questions.unreadable
        omitted = f"; {len(unreadable)} are left out, the first because {unreadable[0].reason}" if unreadable else ""
        cure = "Add passages that do not overlap with the others to its files, or, if questions are too long, raise "
        cure += "training.max_length"
        tasks = sorted(self._distinct("task"))
        if tasks and self.task not in tasks:
            found = ", ".join(tasks)
            cure = f"Its questions are of the task {found}: set benchmarks.{self.benchmark}.tasks to [{found}]"
        raise CoattendError(
            f"has no questions of the task {self.task!r} {purpose}{omitted}",
            where=f"benchmark {self.benchmark}",
            cure=cure,
        )

    def _subsets(self, training: TrainingParameters) -> tuple[str, ...]:
        """Return the subsets to train on; empty for the whole benchmark."""
        # One subset may be written without a list.
        configured = training.train_on.get(self.benchmark, ())
        subsets = (configured,) if isinstance(configured, str) else configured
        available = self._distinct("subset")
        for name in subsets:
            if name not in available:
                cure = did_you_mean(name, sorted(filter(None, available)))
                raise CoattendError(f"there is no subset {name!r}", where="training.train_on", cure=cure)
        return subsets

    def _distinct(self, column: str) -> list[str]:
        return distinct_values(self.questions, column)

    def _rows(self, splits: Sequence[str], subsets: Sequence[str] = ()) -> pa.Table:
        condition = pc.field("split").cast(pa.string()).isin(list(splits))
        if subsets:
            condition &= pc.field("subset").cast(pa.string()).isin(list(subsets))
        condition &= pc.field("task").cast(pa.string()) == self.task
        schema = self.questions.schema
        return memory_mapped_table(stream_batches(self.questions, schema.names, condition), schema)

    def layout(self, training: TrainingParameters) -> Layout:
        """Return the rules by which these questions become sequences."""
        return Layout(
            max_length=training.max_length,
            special_tokens=self.special_tokens,
            stride=training.stride,
            stride_counts=training.stride_counts,
            fill_blanks=self.fill_blanks,
            words_as_options=self.words_as_options,
            options_in_windows=training.over_windows is not None,
            question_multiple=self.question_multiple,
        )

    def _read(self, questions: pa.Table, training: TrainingParameters, tokens: Tokens) -> QuestionSet:
        examples, unreadable = build_examples(questions, self.passages, tokens, self.layout(training))
        examples, tokens = drop_inputs(examples, tokens, training.reads)
        texts = PassagesByQuestion(questions, self.passages)
        return QuestionSet(questions, texts, tokens, examples, unreadable, scorer=self.scorer)


def _limit(questions: pa.Table, count: int | None) -> pa.Table:
    """Sample questions by a hash of their ids, whatever their order; None returns all."""
    if count is None:
        return questions
    # The smallest hashes are a random sample that grows with the count.
    keys = pa.array([text_id(name) for name in questions.column("question_id").to_pylist()])
    return questions.take(pc.sort_indices(keys)[:count])


def training_questions(
    sources: Sequence[QuestionSource], training: TrainingParameters
) -> tuple[QuestionSet, QuestionSet]:
    """Read the training and held-out questions of the benchmarks that ``train_on`` names.

    The first source is the experiment's own; all share their tokens. ``max_questions`` applies to each benchmark.
    """
    by_name = {source.benchmark: source for source in sources}
    names = list(training.train_on) or [sources[0].benchmark]
    for name in names:
        if name not in by_name:
            raise CoattendError(
                f"{name!r} is not a benchmark that this reader is registered to train on",
                where="training.train_on",
                cure=f"{did_you_mean(name, list(by_name))} Studies train on others: conf/base/studies/multi_task.yml",
            )
    # Shuffled tokens are a copy of one benchmark's; joint sets share their tokens.
    if len(names) > 1 and training.reads == "shuffled_passage":
        raise CoattendError("is for one benchmark", where="training.reads", cure="Name one in training.train_on")
    train_sets, held_out_sets = zip(*(by_name[name].training(training) for name in names), strict=True)
    return _join(train_sets), _join(held_out_sets)


def _join(sets: Sequence[QuestionSet]) -> QuestionSet:
    if len(sets) == 1:
        return sets[0]
    tables = [questions.questions.unify_dictionaries() for questions in sets]
    joined = pa.concat_tables(tables, promote_options="default")
    counts = pc.value_counts(joined["question_id"]).to_pylist()
    duplicates = [entry["values"] for entry in counts if entry["counts"] > 1]
    if duplicates:
        where = f"question {duplicates[0]}"
        raise CoattendError("is in two of the benchmarks", where=where, cure="Train on one of them")
    scorers = sorted({questions.scorer for questions in sets})
    if len(scorers) > 1:
        problem = f"names benchmarks whose spans are scored by different rules: {' and '.join(scorers)}"
        raise CoattendError(problem, where="training.train_on", cure="Train on those of one scorer")
    # ChainMap is typed for mutable mappings; nothing writes to it.
    texts = ChainMap(*(cast("MutableMapping[str, str]", questions.texts) for questions in sets))
    return QuestionSet(
        joined,
        texts,
        sets[0].tokens,
        Records.write(Example, (example for questions in sets for example in questions.examples)),
        [unreadable for questions in sets for unreadable in questions.unreadable],
        [example for questions in sets for example in questions.dropped],
        scorers[0],
    )
