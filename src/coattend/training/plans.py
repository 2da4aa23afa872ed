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
from coattend.text.subwords import Subwords, load_tokenizer, special_layout
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
    subwords = load_tokenizer(tokenizer)
    _check_tokenizer(subwords, tokenizer, encoder)
    layout = special_layout(subwords)
    return Plan(
        benchmark=benchmark.name,
        name=reader.name,
        reader=reader.reader,
        head=head,
        options=readers.resolve(reader.reader, head=head, **reader.options),
        encoder=encoder,
        training=training_of(benchmark, reader),
        source=Source(questions, passages, Tokens.from_table(tokens), readers.task_of(head), layout.count),
        layout=layout,
    )


def _check_tokenizer(subwords: Subwords, tokenizer: TokenizerParameters, encoder: EncoderParameters) -> None:
    """The tokens must be the encoder's own: another tokenizer's ids would mean other words to it."""
    if encoder.source == tokenizer.source:
        return
    own = load_tokenizer(TokenizerParameters(source=encoder.source))
    if own.digest != subwords.digest:
        raise CoattendError(
            f"reads the tokens of {tokenizer.source!r}, but has a tokenizer of its own",
            where=f"encoder {encoder.source!r}",
            cure=f"Set tokenizers.{encoder.tokenizer}.source to {encoder.source!r} as well, and run all stages again",
        )
