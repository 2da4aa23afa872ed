"""From parameters to a plan: which reader, which head, which questions."""

import pyarrow.dataset as pads

from coattend import readers
from coattend.errors import CoattendError
from coattend.parameters import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TokenizerParameters,
    training_of,
)
from coattend.text.subwords import load_tokenizer, special_layout
from coattend.training.data import Source
from coattend.training.fit import Plan
from coattend.training.tokens import Tokens


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
    head = readers.head_for(reader.reader, benchmark.tasks, reader.head)
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
        source=Source(questions, passages, stored, readers.task_of(head), layout.count),
        layout=layout,
    )


def _check_tokenizer(tokens: Tokens, tokenizer: TokenizerParameters, encoder: EncoderParameters) -> None:
    """The stored tokens must be the encoder's own: another tokenizer's ids would mean other words to it."""
    if load_tokenizer(TokenizerParameters(source=encoder.source)).digest == tokens.tokenizer:
        return
    if encoder.source != tokenizer.source:
        cure = f"Give it a tokenizer profile of its own, with the source {encoder.source!r}"
    else:
        cure = "Run the pipeline tokenization again, with the same parameters"
    raise CoattendError("has another tokenizer than the stored tokens", where=f"encoder {encoder.source!r}", cure=cure)
