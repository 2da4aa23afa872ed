"""An experiment: a reader, its configuration, and the questions that it is trained and evaluated on."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow.dataset as pads

from coattend import readers
from coattend.batches.ablations import corrupt_tags
from coattend.batches.dataset import QuestionSet, QuestionSource, training_questions
from coattend.batches.examples import digest
from coattend.batches.memory_mapped import distinct_values
from coattend.batches.subword_alignment import SubwordAlignment
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import WordTokens, word_layout
from coattend.config import (
    BenchmarkParameters,
    DistillationParameters,
    EncoderParameters,
    ReaderParameters,
    TaggingParameters,
    TokenizerParameters,
    TrainingParameters,
    training_of,
)
from coattend.config.reader import encoder_title
from coattend.errors import CoattendError
from coattend.text.tokenizer import SpecialLayout, load_tokenizer, special_layout, unknown_id

logger = logging.getLogger(__name__)

SHARED_WINDOW = 64
"""Tokens to a multiple of which a question's length is rounded where a passage is read once for several questions: all
but a few questions with their options are shorter, and leave it the same window."""


MOST_UNKNOWN = 0.05
"""Share of unknown tokens beyond which nothing is trained: at one in twenty most sentences have a hole. English has
hardly any; of C3, MiniLM does not know 62 %."""


class BenchmarkTables(NamedTuple):
    """The tables of a benchmark that a reader reads, with tagged words for readers of words, and its parameters."""

    questions: pads.Dataset
    passages: pads.Dataset
    tokens: pads.Dataset
    tags: pads.Dataset | None
    benchmark: BenchmarkParameters

    @property
    def tasks(self) -> tuple[str, ...]:
        """The benchmark's tasks that its questions have, in the benchmark's order."""
        tasks = set(distinct_values(self.questions, "task"))
        if self.benchmark.words_as_options and "word" in tasks:
            tasks.add("options")
        return tuple(task for task in self.benchmark.answerable if task in tasks) or self.benchmark.answerable

    def source(self, reading: "Reading") -> QuestionSource:
        """Return the benchmark's questions in the form that a reader takes."""
        task = readers.task_of(reading.head)
        return QuestionSource(
            self.benchmark.name,
            self.questions,
            self.passages,
            reading.texts.tokens,
            task=task if task in self.benchmark.tasks else "word",
            special_tokens=reading.texts.layout.count,
            fill_blanks=self.benchmark.fill_blanks,
            words_as_options=self.benchmark.words_as_options and task == "options",
            question_multiple=question_multiple(reading.options),
            eval_tokens=reading.eval_tokens,
            scorer=self.benchmark.scorer,
        )


def reads_apart(options: Mapping[str, Any]) -> bool:
    """Tell from a reader's options whether it reads a passage once for all of its questions."""
    return options.get("passage") == "apart"


def question_multiple(options: Mapping[str, Any]) -> int:
    """Return the `Layout.question_multiple` of a reader with such options."""
    return SHARED_WINDOW if reads_apart(options) else 1


class ReaderSetup(NamedTuple):
    """A reader's entry, and the profiles that it names."""

    reader: ReaderParameters
    encoder: EncoderParameters
    tokenizer: TokenizerParameters
    tagging: TaggingParameters

    @classmethod
    def resolve(cls, reader: ReaderParameters, profiles: Mapping[str, Mapping[str, object]]) -> "ReaderSetup":
        """Look up the profiles that a reader's entry names: the project's encoders, tokenizers and taggings."""
        encoder = EncoderParameters.model_validate(profiles["encoders"][reader.encoder])
        tokenizer = TokenizerParameters.model_validate(profiles["tokenizers"][encoder.tokenizer])
        tagging = TaggingParameters.model_validate(profiles["taggings"][reader.tagging])
        return cls(reader, encoder, tokenizer, tagging)


class ReaderTexts(NamedTuple):
    """Subwords or words of a benchmark, special tokens around them, and subwords for contextual vectors of words."""

    tokens: Tokens
    layout: SpecialLayout
    alignment: SubwordAlignment | None = None


def load_subwords(
    table: pads.Dataset, tokenizer: TokenizerParameters, encoder: EncoderParameters, *, with_word_index: bool = False
) -> ReaderTexts:
    """Load the subwords of a benchmark, which the encoder's own tokenizer must have made."""
    tokens = Tokens.from_table(table, with_word_index=with_word_index)
    # Another tokenizer's ids mean other words to the encoder.
    if load_tokenizer(TokenizerParameters(source=encoder.source)).digest != tokens.tokenizer:
        # Either the profile is another encoder's, or its tokenizer's files have changed since.
        if encoder.source != tokenizer.source:
            cure = f"Give it a tokenizer profile of its own, with the source {encoder.source!r}"
        else:
            cure = "Run the pipeline tokenization again, with the same parameters"
        where = f"encoder {encoder.source!r}"
        raise CoattendError("has another tokenizer than the stored tokens", where=where, cure=cure)
    return ReaderTexts(tokens, special_layout(load_tokenizer(tokenizer)))


class Reading(NamedTuple):
    """A reader's configuration on a benchmark, resolved, with its texts: words or subwords to train on.

    Attributes:
        eval_tokens: Tokens to evaluate on; they differ from those of `texts` only if tags are corrupted in one of both.
    """

    head: str
    options: dict[str, Any]
    training: TrainingParameters
    texts: ReaderTexts
    eval_tokens: Tokens

    @classmethod
    def resolve(
        cls,
        setup: ReaderSetup,
        benchmark: BenchmarkParameters,
        tasks: Sequence[str],
        tokens: pads.Dataset,
        tags: pads.Dataset | None,
    ) -> "Reading":
        """Resolve a reader's configuration on a benchmark, and load the texts."""
        reader, encoder, tokenizer, _ = setup
        training = training_of(benchmark, reader, recurrent=tags is not None)
        # The head decides on the task, and the task on the texts to load.
        head = readers.head_for(reader.reader, tasks, reader.head)
        options = readers.resolve(reader.reader, head=head, **reader.options)
        if tags is None:
            texts = load_subwords(tokens, tokenizer, encoder, with_word_index=training.tag_noise > 0)
        else:
            words, alignment = WordTokens.from_tags(tags), None
            if options.get("context"):
                subwords = load_subwords(tokens, tokenizer, encoder, with_word_index=True)
                alignment = SubwordAlignment.between(words, subwords.tokens, subwords.layout)
            texts = ReaderTexts(words, word_layout(readers.task_of(head)), alignment)
        train_tokens, eval_tokens = corrupt_tags(texts.tokens, training, tag_count=options.get("tag_count", 0))
        return cls(head, options, training, texts._replace(tokens=train_tokens), eval_tokens)


class TextPreparation(NamedTuple):
    """Names of the profiles that an experiment's texts were tagged and tokenised with, and the tagging's settings."""

    tagging: str
    tokenizer: str
    tagging_parameters: TaggingParameters


@dataclass(frozen=True)
class Experiment:
    """The configuration that the trials of one reader on one benchmark share; they differ in their seeds.

    Attributes:
        name: Name of the reader's entry; ``reader`` is that in the registry.
        layout: Special tokens of its tokenizer.
        alignment: Subwords aligned with words, for readers of words that use contextual vectors.
        other_sources: Questions of other benchmarks that it may be trained on too; ``benchmarks`` has all parameters.
        parent_trials: The trial that each seed starts from; other seeds start as ``training.start_from`` says.
        teacher_trials: The trial that each seed is distilled from; others learn as ``training.distillation`` says.
    """

    benchmark: str
    name: str
    reader: str
    head: str
    options: dict[str, Any]
    encoder: EncoderParameters
    training: TrainingParameters
    source: QuestionSource
    layout: SpecialLayout
    preparation: TextPreparation
    alignment: SubwordAlignment | None = None
    other_sources: tuple[QuestionSource, ...] = ()
    benchmarks: Mapping[str, BenchmarkParameters] = field(default_factory=dict)
    parent_trials: Mapping[int, str] = field(default_factory=dict)
    teacher_trials: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def from_config(
        cls,
        tables: BenchmarkTables,
        setup: ReaderSetup,
        *,
        additional: Sequence[BenchmarkTables] = (),
        parent_trials: Mapping[int, str] | None = None,
        teacher_trials: Mapping[int, str] | None = None,
    ) -> "Experiment":
        """Resolve the configuration of a reader on a benchmark, and on others that it may be trained on too.

        Raises:
            CoattendError: If a parameter names nothing that exists, or the reader has no head for the benchmark.
        """
        # All benchmarks go into one table, so that their texts share ids and joint batches index into one lexicon.
        everywhere = (tables, *additional)
        tokens = _concat([part.tokens for part in everywhere])
        tags = _concat([part.tags for part in everywhere if part.tags is not None]) if tables.tags is not None else None
        reading = Reading.resolve(setup, tables.benchmark, tables.tasks, tokens, tags)
        source, *other_sources = (part.source(reading) for part in everywhere)
        return cls(
            benchmark=tables.benchmark.name,
            name=setup.reader.name,
            reader=setup.reader.reader,
            head=reading.head,
            options=reading.options,
            encoder=setup.encoder,
            training=reading.training,
            source=source,
            layout=reading.texts.layout,
            preparation=TextPreparation(setup.reader.tagging, setup.encoder.tokenizer, setup.tagging),
            alignment=reading.texts.alignment,
            other_sources=tuple(other_sources),
            benchmarks={part.benchmark.name: part.benchmark for part in everywhere},
            parent_trials=parent_trials or {},
            teacher_trials=teacher_trials or {},
        )

    @property
    def task(self) -> str:
        """The task of its head: ``options``, ``span`` or ``word``."""
        return readers.task_of(self.head)

    @property
    def scores_are_softmaxed(self) -> bool:
        """True if the scores of spans are probabilities."""
        return self.options.get("score") == "softmax"

    @property
    def model_options(self) -> dict[str, Any]:
        """All options of the model: the encoder's dropout and layers apply unless the reader's entry sets its own, and
        those of the encoder's configuration if neither does."""
        profile = {"dropout": self.encoder.dropout}
        if readers.encoder_of(self.reader) == "transformer":
            profile["encoder_layers"] = self.encoder.layers
        return {name: value for name, value in profile.items() if value is not None} | self.options

    @property
    def tokenizer(self) -> str:
        """The digest of the tokenizer of its encoder's pieces; readers of words have one only if they use contextual
        vectors."""
        return (self.source.tokens if self.alignment is None else self.alignment.tokens).tokenizer

    @property
    def encoder_title(self) -> str:
        """Its encoder as pages show it."""
        return encoder_title(self.encoder.source, self.model_options.get("encoder_layers"))

    def parent_trial(self, seed: int) -> str | None:
        """Return the trial whose weights a seed starts from; None for fresh weights."""
        return self.parent_trials.get(seed, self.training.start_from)

    def distillation(self, seed: int) -> DistillationParameters | None:
        """Return how a seed is distilled, with its teacher's trial; None: it learns from the right answers alone."""
        distillation = self.training.distillation
        if distillation is None:
            return None
        return distillation.model_copy(update={"teacher": self.teacher_trials.get(seed, distillation.teacher)})

    def training_questions(self) -> "TrainingQuestions":
        """Read the questions of all benchmarks that it is trained on, and log those that cannot be read.

        Raises:
            CoattendError: If too many of the tokens of its training questions are unknown to the encoder.
        """
        train, held_out = training_questions((self.source, *self.other_sources), self.training)
        self._check_unknown(train)
        for unreadable in (*train.unreadable, *held_out.unreadable):
            logger.warning("question %s is left out: %s", unreadable.question_id, unreadable.reason)
        return TrainingQuestions(train, held_out)

    def _check_unknown(self, train: QuestionSet) -> None:
        """Refuse texts in a language that the encoder's tokenizer does not know."""
        counts = self._subword_counts(train)
        if counts is None:
            return
        unknown = unknown_id(load_tokenizer(TokenizerParameters(source=self.encoder.source)))
        share = counts[unknown] / counts.sum() if unknown is not None and unknown < len(counts) else 0.0
        if share > MOST_UNKNOWN:
            # Vectors of a word's context come from the encoder itself.
            borrowed = isinstance(train.tokens, WordTokens) and self.alignment is None
            learned = "vectors to random" if borrowed else "its encoder to `characters`"
            raise CoattendError(
                f"does not know {100 * share:.1f} % of the tokens of its training questions, of which at most "
                f"{100 * MOST_UNKNOWN:.0f} % may be unknown",
                where=f"{self.benchmark}.{self.name}, encoder {self.encoder.source!r}",
                cure=f"Set {learned}, which are learned, or take an encoder that knows the language",
            )

    def _subword_counts(self, train: QuestionSet) -> np.ndarray | None:
        """Count each id of the encoder's tokenizer in training questions; None if nothing of the encoder is read."""
        tokens, rows = train.tokens, (row for example in train.examples for row in example.rows)
        if not isinstance(tokens, WordTokens):
            return tokens.id_counts(rows)
        if self.alignment is not None:
            return self.alignment.tokens.id_counts(int(self.alignment.rows[row]) for row in rows)
        if self.options.get("vectors") != "encoder":
            return None
        # A word's vector is the mean of those of its subwords.
        counts = tokens.id_counts(rows)
        numbers = np.flatnonzero(counts)
        words = [tokens.lexicon[number] for number in numbers]
        subwords = load_tokenizer(TokenizerParameters(source=self.encoder.source))
        ids, spans = subwords.encode(words, [False] * len(words))
        weights = np.repeat(counts[numbers], np.diff(spans.offsets))
        return np.bincount(ids, weights)


@dataclass(frozen=True)
class TrainingQuestions:
    """The questions that an experiment's trials learn from, and those held out, which choose the checkpoint."""

    train: QuestionSet
    held_out: QuestionSet

    @cached_property
    def digest(self) -> str:
        """A hash of both."""
        return digest(chain(self.train.examples, self.held_out.examples), self.train.tokens)


def _concat(datasets: Sequence[pads.Dataset]) -> pads.Dataset:
    return datasets[0] if len(datasets) == 1 else pads.dataset(list(datasets))
