"""An experiment: a reader, its configuration, and the questions that it is trained and evaluated on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend import readers
from coattend.batches.ablations import corrupt_tags
from coattend.batches.dataset import QuestionSet, QuestionSource, training_questions
from coattend.batches.load_tokens import ReaderTexts, load_subwords, load_words
from coattend.batches.subword_alignment import SubwordAlignment
from coattend.config import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TaggingParameters,
    TokenizerParameters,
    TrainingParameters,
    training_of,
)
from coattend.text.tokenizer import SpecialLayout


@dataclass(frozen=True)
class BenchmarkTables:
    """The tables of a benchmark that a reader reads.

    Attributes:
        benchmark: The benchmark's parameters.
        questions: Its questions.
        passages: Its passages.
        tokens: Its subwords.
        tags: Its tagged words; None for readers of subwords.
    """

    benchmark: BenchmarkParameters
    questions: pads.Dataset
    passages: pads.Dataset
    tokens: pads.Dataset
    tags: pads.Dataset | None = None

    @classmethod
    def gather(cls, tables: Mapping[str, Any]) -> "tuple[BenchmarkTables, ...]":
        """Group the inputs of a node, named ``<benchmark>.<table>``, by benchmark."""
        by_benchmark: dict[str, dict[str, Any]] = {}
        for name, table in tables.items():
            benchmark, _, field_name = name.partition(".")
            by_benchmark.setdefault(benchmark, {})[field_name] = table
        return tuple(
            cls(**fields | {"benchmark": BenchmarkParameters.model_validate(fields["benchmark"])})
            for fields in by_benchmark.values()
        )


class TextPreparation(NamedTuple):
    """The profiles that an experiment's texts were tagged and tokenised with.

    Attributes:
        tagging: Name of the tagging profile.
        tokenizer: Name of the tokenizer profile.
        tagging_parameters: Settings of the tagging profile.
    """

    tagging: str
    tokenizer: str
    tagging_parameters: TaggingParameters


@dataclass(frozen=True)
class Experiment:
    """The configuration that the trials of one reader on one benchmark share; they differ in their seeds.

    Attributes:
        benchmark: Name of the benchmark.
        name: Name of the reader's entry.
        reader: Name of the reader in the registry.
        head: Name of its head.
        options: Its options, resolved.
        encoder: Its encoder.
        training: Its training parameters.
        source: The benchmark's questions.
        layout: Special tokens of its tokenizer.
        preparation: The profiles that its texts were tagged and tokenised with.
        alignment: Subwords aligned with words, for readers of words that use contextual vectors.
        other_sources: Questions of other benchmarks that it may be trained on too.
        benchmarks: Parameters of all these benchmarks, by name.
        parent_trials: The trial that each seed starts from; other seeds start as ``training.start_from`` says.
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

    @classmethod
    def from_config(
        cls,
        tables: BenchmarkTables,
        reader: ReaderParameters,
        encoder: EncoderParameters,
        tokenizer: TokenizerParameters,
        tagging: TaggingParameters,
        *,
        additional: Sequence[BenchmarkTables] = (),
        parent_trials: Mapping[int, str] | None = None,
    ) -> "Experiment":
        """Resolve the configuration of a reader on a benchmark.

        Args:
            tables: The benchmark.
            reader: The reader's entry.
            encoder: Its pretrained encoder.
            tokenizer: The tokenizer of the tables' subwords.
            tagging: The tagging profile of the tables' words.
            additional: Other benchmarks that it may be trained on too.
            parent_trials: The trial that each seed starts from.

        Raises:
            CoattendError: If a parameter names nothing that exists, or the reader has no head for the benchmark.
        """
        benchmark = tables.benchmark
        # The head decides on the task, and the task on the texts to load.
        training = training_of(benchmark, reader, recurrent=tables.tags is not None)
        head = readers.head_for(reader.reader, _tasks_of(tables.questions, benchmark), reader.head)
        task = readers.task_of(head)
        options = readers.resolve(reader.reader, head=head, **reader.options)
        texts = _load_texts(
            (tables, *additional), training, task, encoder, tokenizer, context=bool(options.get("context"))
        )
        train_tokens, eval_tokens = corrupt_tags(texts.tokens, training, tag_count=options.get("tag_count", 0))

        # All sources share the token arrays, so that joint batches index into one lexicon.
        def source_of(part: BenchmarkTables) -> QuestionSource:
            return QuestionSource(
                part.benchmark.name,
                part.questions,
                part.passages,
                train_tokens,
                task=task if task in part.benchmark.tasks else "word",
                special_tokens=texts.layout.count,
                fill_blanks=part.benchmark.fill_blanks,
                words_as_options=part.benchmark.words_as_options and task == "options",
                eval_tokens=eval_tokens,
            )

        return cls(
            benchmark=benchmark.name,
            name=reader.name,
            reader=reader.reader,
            head=head,
            options=options,
            encoder=encoder,
            training=training,
            source=source_of(tables),
            layout=texts.layout,
            preparation=TextPreparation(reader.tagging, encoder.tokenizer, tagging),
            alignment=texts.alignment,
            other_sources=tuple(map(source_of, additional)),
            benchmarks={part.benchmark.name: part.benchmark for part in (tables, *additional)},
            parent_trials=parent_trials or {},
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
        """All options of the model: the encoder's dropout applies unless the reader's entry sets its own."""
        return {"dropout": self.encoder.dropout} | self.options

    def parent_trial(self, seed: int) -> str | None:
        """Return the trial whose weights a seed starts from; None for fresh weights."""
        return self.parent_trials.get(seed, self.training.start_from)

    def training_questions(self) -> tuple[QuestionSet, QuestionSet]:
        """Read the training questions and the held-out questions, which choose the checkpoint."""
        return training_questions((self.source, *self.other_sources), self.training)


def train_and_eval_experiments(
    tables: BenchmarkTables,
    additional: Sequence[BenchmarkTables],
    reader: ReaderParameters,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
    tagging: TaggingParameters,
    *,
    parent_trials: Mapping[int, str] | None = None,
) -> tuple[Experiment, Experiment]:
    """Configure how a reader is trained, and how it is evaluated on a benchmark.

    Both are one experiment, unless the reader is trained on one other benchmark alone: then its trials are that
    benchmark's, trained with that one's parameters, and the same wherever else they are evaluated.

    Args:
        tables: The benchmark that is evaluated.
        additional: Other benchmarks that the reader may be trained on.
        reader: The reader's entry.
        encoder: Its pretrained encoder.
        tokenizer: The tokenizer of the tables' subwords.
        tagging: The tagging profile of the tables' words.
        parent_trials: The trial that each seed starts from.

    Raises:
        CoattendError: As `Experiment.from_config`.
    """
    text_config = encoder, tokenizer, tagging
    home = reader.trained_on(tables.benchmark.name)
    # Trials of another benchmark are trained as that benchmark says, but with the head that answers this one.
    training_tables = next((part for part in additional if part.benchmark.name == home), None)
    if training_tables is None:
        experiment = Experiment.from_config(
            tables, reader, *text_config, additional=additional, parent_trials=parent_trials
        )
        return experiment, experiment
    evaluated = Experiment.from_config(tables, reader, *text_config)
    trained_reader = reader.model_copy(update={"head": evaluated.head})
    trained = Experiment.from_config(training_tables, trained_reader, *text_config, parent_trials=parent_trials)
    return trained, evaluated


def _load_texts(
    parts: Sequence[BenchmarkTables],
    training: TrainingParameters,
    task: str,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
    *,
    context: bool,
) -> ReaderTexts:
    """Load the words or subwords of one or several benchmarks; the first of them decides which.

    Args:
        parts: The benchmarks' tables.
        training: Training parameters.
        task: The task of the reader's head.
        encoder: The reader's encoder.
        tokenizer: The tokenizer of the subwords.
        context: True if a reader of words uses contextual vectors of their subwords.
    """
    # All benchmarks go into one table, so that their texts share ids.
    tokens = _concat([part.tokens for part in parts])
    if parts[0].tags is None:
        return load_subwords(tokens, tokenizer, encoder, with_word_index=training.tag_noise > 0)
    tags = _concat([part.tags for part in parts if part.tags is not None])
    return load_words(tags, task, subwords=(tokens, tokenizer, encoder) if context else None)


def _concat(datasets: Sequence[pads.Dataset]) -> pads.Dataset:
    return datasets[0] if len(datasets) == 1 else pads.dataset(list(datasets))


def _tasks_of(questions: pads.Dataset, benchmark: BenchmarkParameters) -> tuple[str, ...]:
    """Return the benchmark's tasks that its questions have, in the benchmark's order."""
    tasks = set(pc.unique(questions.to_table(columns=["task"]).column("task")).to_pylist())
    if benchmark.words_as_options and "word" in tasks:
        tasks.add("options")
    return tuple(task for task in benchmark.answerable if task in tasks) or benchmark.answerable
