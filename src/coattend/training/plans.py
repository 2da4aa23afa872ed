"""From parameters to a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend import readers
from coattend.parameters import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TokenizerParameters,
    training_of,
)
from coattend.training.data import Source
from coattend.training.noise import as_tagged
from coattend.training.plan import Plan
from coattend.training.texts import subwords, words


@dataclass(frozen=True)
class BenchmarkTables:
    """What a reader reads of a benchmark.

    Attributes:
        benchmark: What it is.
        questions: Its questions.
        passages: Its passages.
        tokens: Its subwords.
        tags: Its words; None for readers of subwords.
    """

    benchmark: BenchmarkParameters
    questions: pads.Dataset
    passages: pads.Dataset
    tokens: pads.Dataset
    tags: pads.Dataset | None = None

    @classmethod
    def gather(cls, parts: Mapping[str, Any]) -> "tuple[BenchmarkTables, ...]":
        """Benchmarks from their parts by ``<benchmark>.<part>``."""
        names = dict.fromkeys(name.partition(".")[0] for name in parts)
        by_name = {
            name: {key.partition(".")[2]: value for key, value in parts.items() if key.startswith(f"{name}.")}
            for name in names
        }
        return tuple(
            cls(**{**one, "benchmark": BenchmarkParameters.model_validate(one["benchmark"])})
            for one in by_name.values()
        )


def plans_of(
    own: BenchmarkTables,
    others: Sequence[BenchmarkTables],
    reader: ReaderParameters,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
    *,
    starts: Mapping[int, str] | None = None,
) -> tuple[Plan, Plan]:
    """How a reader is trained, and how it is asked the questions of a benchmark.

    One plan says both, unless the reader is trained on one other benchmark alone: then its trials are that benchmark's,
    trained as that one says, and the same wherever else they are asked.

    Args:
        own: The benchmark that is asked.
        others: Other benchmarks that the reader may be trained on.
        reader: Which reader, and how it is set.
        encoder: The reader's pretrained encoder.
        tokenizer: Where the subwords come from.
        starts: The trial that each seed's begins with.

    Raises:
        CoattendError: As `plan_of`.
    """

    def plan(tables: BenchmarkTables, reader: ReaderParameters, **more: Any) -> Plan:
        read = (tables.questions, tables.passages, tables.tokens, tables.tags, tables.benchmark)
        return plan_of(*read, reader, encoder, tokenizer, **more)

    home = reader.trained_on(own.benchmark.name)
    elsewhere = next((other for other in others if other.benchmark.name == home), None)
    if elsewhere is None:
        both = plan(own, reader, others=others, starts=starts)
        return both, both
    asked = plan(own, reader)
    return plan(elsewhere, reader.model_copy(update={"head": asked.head}), starts=starts), asked


def plan_of(
    questions: pads.Dataset,
    passages: pads.Dataset,
    tokens: pads.Dataset,
    tags: pads.Dataset | None,
    benchmark: BenchmarkParameters,
    reader: ReaderParameters,
    encoder: EncoderParameters,
    tokenizer: TokenizerParameters,
    *,
    others: Sequence[BenchmarkTables] = (),
    starts: Mapping[int, str] | None = None,
) -> Plan:
    """Bring a reader and a benchmark together.

    Args:
        questions: The benchmark's questions.
        passages: Its passages.
        tokens: Its subwords.
        tags: Its words; None for readers of subwords.
        benchmark: What it is.
        reader: Which reader, and how it is set.
        encoder: The reader's pretrained encoder.
        tokenizer: Where the subwords come from.
        others: Other benchmarks that it may be trained on too.
        starts: The trial that each seed's begins with.

    Raises:
        CoattendError: If a parameter names nothing that exists, or the reader has no head for the benchmark.
    """
    training = training_of(benchmark, reader, recurrent=tags is not None)
    head = readers.head_for(reader.reader, _asked_for(questions, benchmark), reader.head)
    task = readers.task_of(head)
    options = readers.resolve(reader.reader, head=head, **reader.options)
    tokens = pads.dataset([tokens, *(other.tokens for other in others)]) if others else tokens
    if tags is None:
        read = subwords(tokens, tokenizer, encoder, of_words=training.tag_noise > 0)
    else:
        beside = (tokens, tokenizer, encoder) if options.get("context") else None
        every = [tags, *(other.tags for other in others if other.tags is not None)]
        read = words(pads.dataset(every) if others else tags, task, beside=beside)
    trained, scored = as_tagged(read.tokens, training, tags=options.get("tag_count", 0))

    def source(benchmark: BenchmarkParameters, questions: pads.Dataset, passages: pads.Dataset) -> Source:
        return Source(
            benchmark.name,
            questions,
            passages,
            trained,
            task if task in benchmark.tasks else "word",
            read.layout.count,
            fill_blanks=benchmark.fill_blanks,
            words_as_options=benchmark.words_as_options and task == "options",
            scored_tokens=scored,
        )

    return Plan(
        benchmark=benchmark.name,
        name=reader.name,
        reader=reader.reader,
        head=head,
        options=options,
        encoder=encoder,
        training=training,
        source=source(benchmark, questions, passages),
        others=tuple(source(other.benchmark, other.questions, other.passages) for other in others),
        layout=read.layout,
        pieces=read.pieces,
        starts=starts or {},
    )


def _asked_for(questions: pads.Dataset, benchmark: BenchmarkParameters) -> tuple[str, ...]:
    """Of the tasks that a benchmark may have, in their order, those that its questions ask for."""
    tasks = set(pc.unique(questions.to_table(columns=["task"]).column("task")).to_pylist())
    if benchmark.words_as_options and "word" in tasks:
        tasks.add("options")
    return tuple(task for task in benchmark.answerable if task in tasks) or benchmark.answerable
