"""From parameters to a plan: which reader, which head, which questions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow.dataset as pads

from coattend import readers
from coattend.errors import CoattendError
from coattend.parameters import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TokenizerParameters,
    TrainingParameters,
    training_of,
)
from coattend.readers.reader import Reader
from coattend.text.subwords import SpecialLayout, load_tokenizer, special_layout
from coattend.training.answers import Answer, answer
from coattend.training.collation import Collator
from coattend.training.data import QuestionSet, Source
from coattend.training.devices import device_of, uses_bf16
from coattend.training.entities import EntityNames, Permutation
from coattend.training.tokens import Tokens


@dataclass(frozen=True)
class Plan:
    """Everything that the trials of one reader on one benchmark share.

    Attributes:
        benchmark: Name of the benchmark.
        name: Name of the reader's entry.
        reader: Its name in the registry.
        head: Its head.
        options: Its options, resolved.
        encoder: Its encoder.
        training: How it is trained.
        source: Where its questions come from.
        layout: Special tokens of its tokenizer.
    """

    benchmark: str
    name: str
    reader: str
    head: str
    options: dict[str, Any]
    encoder: EncoderParameters
    training: TrainingParameters
    source: Source
    layout: SpecialLayout

    def collator(self, *, permute: Permutation | None = None) -> Collator:
        """Makes this plan's batches; to train on, with permuted entities."""
        return Collator(self.source.tokens, self.layout, self.head, permute=permute)

    def permutation(self, seed: int, epoch: Callable[[], int]) -> Permutation | None:
        """How entities change their names in training, if they do."""
        if not self.training.permute_entities:
            return None
        names = EntityNames(load_tokenizer(TokenizerParameters(source=self.encoder.source)))
        return Permutation(names, self.source.tokens, seed=seed, epoch=epoch)

    def build(self) -> Reader:
        """A fresh reader of this plan.

        Raises:
            CoattendError: If the encoder cannot read sequences as long as they may become.
        """
        options = {"dropout": self.encoder.dropout} | self.options
        reader = readers.build(self.reader, encoder=self.encoder.source, head=self.head, **options)
        longest = reader.encoder.max_length
        if longest is not None and self.training.max_length > longest:
            raise CoattendError(
                f"is {self.training.max_length}, and the encoder reads at most {longest} tokens",
                where="training.max_length",
                cure=f"Set it to {longest} or less",
            )
        return reader

    def ask(self, reader: Reader, asked: QuestionSet) -> list[Answer]:
        """What a reader of this plan answers to questions."""
        _, bf16 = self.precision()
        return list(
            answer(
                reader,
                asked.examples,
                collator=self.collator(),
                tokens=self.source.tokens,
                tokens_per_batch=self.training.tokens_per_batch,
                bf16=bf16,
                max_answer_length=self.training.max_answer_length,
            )
        )

    def precision(self) -> tuple[str, bool]:
        """The device, and whether matrix products run in bf16."""
        device = device_of(self.training)
        return device, uses_bf16(self.training, device)


def plan_of(
    questions: pads.Dataset,
    passages: pads.Dataset,
    tokens: pads.Dataset,
    benchmark: BenchmarkParameters,
    reader: ReaderParameters,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
) -> Plan:
    """Bring a reader and a benchmark together.

    Raises:
        CoattendError: If a parameter names nothing that exists, or the reader has no head for the benchmark.
    """
    head = readers.head_for(reader.reader, _asked_for(questions, benchmark), reader.head)
    stored = Tokens.from_table(tokens)
    _check_tokenizer(stored, tokenizer, encoder)
    layout = special_layout(load_tokenizer(tokenizer))
    return Plan(
        benchmark=benchmark.name,
        name=reader.name,
        reader=reader.reader,
        head=head,
        options=readers.resolve(reader.reader, head=head, **reader.options),
        encoder=encoder,
        training=training_of(benchmark, reader),
        source=Source(
            benchmark.name,
            questions,
            passages,
            stored,
            _task(head, benchmark),
            layout.count,
            fill_blanks=benchmark.fill_blanks,
            words_as_options=benchmark.words_as_options,
        ),
        layout=layout,
    )


def _asked_for(questions: pads.Dataset, benchmark: BenchmarkParameters) -> tuple[str, ...]:
    """Of the tasks that a benchmark may have, in their order, those that its questions ask for."""
    tasks = set(questions.to_table(columns=["task"]).column("task").to_pylist())
    if benchmark.words_as_options and "word" in tasks:
        tasks.add("options")
    return tuple(task for task in benchmark.answerable if task in tasks) or benchmark.answerable


def _task(head: str, benchmark: BenchmarkParameters) -> str:
    """The task of the questions that a head is given."""
    task = readers.task_of(head)
    return task if task in benchmark.tasks else "word"


def _check_tokenizer(tokens: Tokens, tokenizer: TokenizerParameters, encoder: EncoderParameters) -> None:
    """The stored tokens must be the encoder's own: another tokenizer's ids would mean other words to it."""
    if load_tokenizer(TokenizerParameters(source=encoder.source)).digest == tokens.tokenizer:
        return
    if encoder.source != tokenizer.source:
        cure = f"Give it a tokenizer profile of its own, with the source {encoder.source!r}"
    else:
        cure = "Run the pipeline tokenization again, with the same parameters"
    raise CoattendError("has another tokenizer than the stored tokens", where=f"encoder {encoder.source!r}", cure=cure)
