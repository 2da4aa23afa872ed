"""Trace a reader's forward pass over one question: its attention maps, token by token."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from coattend.batches.dataset import QuestionSet
from coattend.batches.examples import Example
from coattend.batches.tokens import Tokens
from coattend.batches.word_tokens import WordTokens
from coattend.config import TokenizerParameters
from coattend.inference.decoding import Answer, decode, span_probabilities
from coattend.readers.batch import Batch
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.readers.interfaces import require
from coattend.readers.layers.masked import masked_mean
from coattend.readers.legend import MapSpec, legend_of
from coattend.readers.reader import Reader, ReaderOutput
from coattend.readers.windows import read_batch
from coattend.schemas import ATTENTION, QuestionRow
from coattend.text.cloze import domains_of
from coattend.text.tokenizer import load_tokenizer
from coattend.trials.build import build_collator
from coattend.trials.experiment import Experiment

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

SPAN_MAPS = {name: MapSpec(("passage",)) for name in ("start", "end")}
"""Legend of the start and end probabilities of spans, which are shown as maps."""


class Token(NamedTuple):
    """A token of the ``passage``, ``question`` or ``option``, with its characters there unless it is a special one."""

    domain: str
    text: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class TracedSequence:
    """A sequence that a reader has read, the tokens of its two domains, and its attention maps.

    Attributes:
        maps: Map name to its values by turn, head or layer, [levels, P] or [levels, Q] as its `MapSpec` says.
    """

    passage: list[Token]
    question: list[Token]
    maps: dict[str, np.ndarray]

    def attended(self, spec: MapSpec) -> list[Token]:
        """Return the tokens of the domain whose tokens are attended to in a map."""
        return self.passage if spec.seen == "passage" else self.question


@dataclass(frozen=True)
class ForwardTrace:
    """A reader's forward pass over one question: a sequence for each window of the passage and, in it, each option.

    Attributes:
        encoder_attention: What the question domain sees of the passage in the encoder's last layer [S, P]; None if the
            interaction has a map of that, or the encoder shows no attention.
    """

    output: ReaderOutput
    batch: Batch
    answer: Answer
    legend: Mapping[str, MapSpec]
    sequences: list[TracedSequence]
    encoder_attention: np.ndarray | None


def trace_forward(reader: Reader, experiment: Experiment, questions: QuestionSet, example: Example) -> ForwardTrace:
    """Run a reader on one question and record its attention maps.

    It runs in full precision, so that a near tie may be decided otherwise than in bf16.
    """
    collator, softmaxed = build_collator(experiment, reader, questions).unanswered(), experiment.scores_are_softmaxed
    batch = Batch(**collator([example])).to(next(reader.parameters()).device)
    reader.eval()
    with _kept_attention(reader), torch.inference_mode():
        output = read_batch(reader, batch, experiment.training.over_windows)
    max_answer_length = experiment.training.max_answer_length
    (answer,) = decode(
        output, batch, [example], collator=collator, max_answer_length=max_answer_length, softmaxed=softmaxed
    )
    # Maps of the interaction; the mass of tokens, if a cloze head needs it; and the probabilities of spans.
    tensors, legend = dict(output.attended.maps), dict(legend_of(cast(nn.Module, reader.interaction)))
    if "token_mass" in legend and output.attended.token_mass is not None:
        tensors["token_mass"] = output.attended.token_mass
    if output.start is not None:
        tensors |= dict(zip(SPAN_MAPS, span_probabilities(output, softmaxed=softmaxed), strict=True))
        legend |= SPAN_MAPS
    legend = {name: legend[name] for name in tensors if name in legend}
    of_passages = any(legend[name].seen == "passage" for name in legend.keys() - SPAN_MAPS.keys())
    encoder_attention = None if of_passages else _encoder_attention(reader, batch)
    # Cut the padding off each sequence's maps.
    sequences = []
    for row, (passage, question) in enumerate(_sequence_tokens(experiment, questions, example)):
        sequence, masks = TracedSequence(passage, question, {}), _stream_masks(batch, row)
        for name, spec in legend.items():
            attention = _attention_per_token(tensors[name][row], spec, masks)
            sequence.maps[name] = attention[:, : len(sequence.attended(spec))]
        sequences.append(sequence)
    return ForwardTrace(output, batch, answer, legend, sequences, encoder_attention)


@contextmanager
def _kept_attention(reader: Reader) -> Iterator[None]:
    """Let a reader's interaction keep its maps meanwhile, and its transformer what the last layer attends to."""
    encoder = reader.encoder
    reader.keep_maps()
    if isinstance(encoder, TransformerEncoder):
        encoder.keep_attention = True
    try:
        yield
    finally:
        reader.keep_maps(False)
        if isinstance(encoder, TransformerEncoder):
            encoder.keep_attention = False


def _encoder_attention(reader: Reader, batch: Batch) -> np.ndarray | None:
    """Return what questions see of passages in the encoder's last layer, averaged over heads [S, P], right after it has
    read the batch.

    An encoder whose attention is not ours reads once more, with an implementation that returns its weights and rounds
    differently. None if it has no such layers, or some of them read passages apart and others do not.
    """
    encoder = reader.encoder
    if not isinstance(encoder, TransformerEncoder):
        return None
    attention = encoder.passage_attention(batch)
    if attention is None and encoder.reads_under_one_mask:
        with _last_layer_attention(encoder.model) as weights, encoder.whole_sequences(), torch.inference_mode():
            encoder(batch)
        if weights:
            last_layer = weights[-1].float().mean(1)  # [S, N, N]: from, to
            asking = torch.zeros_like(batch.attention_mask).scatter(1, batch.question_index, batch.question_mask)
            attention = masked_mean([last_layer], [asking])[:, : batch.passage_mask.shape[1]]
            attention = attention.masked_fill(~batch.passage_mask, 0.0)
    return None if attention is None else attention.float().cpu().numpy()


@contextmanager
def _last_layer_attention(model: "PreTrainedModel") -> Iterator[list[Tensor]]:
    """Make an encoder return its attention weights, and collect those of its last layer."""
    weights: list[Tensor] = []

    def collect(_: nn.Module, __: tuple[object, ...], output: object) -> None:
        attentions = getattr(output, "attentions", None)
        if attentions:
            weights.append(attentions[-1])

    implementation, output_attentions = model.config._attn_implementation, model.config.output_attentions
    hook = model.register_forward_hook(collect)
    # Fused kernels never form the weights.
    model.set_attn_implementation("eager")
    model.config.output_attentions = True
    try:
        yield weights
    finally:
        hook.remove()
        model.config.output_attentions = output_attentions
        model.set_attn_implementation(implementation)


def _stream_masks(batch: Batch, row: int) -> dict[str, Tensor]:
    """Return the tokens of its domain that each stream of a sequence consists of."""
    domain = batch.question_mask[row]
    option = require(batch.option_mask, "batch.option_mask")[row] & domain
    question = domain & ~option
    # A domain without an option, or without a question, is one stream.
    separate = bool(option.any()) and bool(question.any())
    return {
        "passage": batch.passage_mask[row],
        "question": domain,
        "asked": question if separate else domain,
        "option": option if separate else domain,
    }


def _attention_per_token(values: Tensor, spec: MapSpec, masks: Mapping[str, Tensor]) -> np.ndarray:
    """Return the attention that each token receives, averaged over the tokens that attend: [levels, tokens]."""
    values = values.float() if spec.level is not None else values.float().unsqueeze(0)
    if spec.by is not None:
        # Bring the attended tokens last, and turn products into weights.
        if spec.axes[-1] != spec.seen:
            values = values.transpose(-1, -2)
        if spec.kind == "product":
            values = values.masked_fill(~masks[spec.seen], -torch.inf).softmax(-1)
        values = values[:, masks[spec.by]].mean(1)
    attention: np.ndarray = values.masked_fill(~masks[spec.seen], 0.0).cpu().numpy()
    return attention


def _sequence_tokens(
    experiment: Experiment, questions: QuestionSet, example: Example
) -> list[tuple[list[Token], list[Token]]]:
    """Return the tokens of the passage domain and of the question domain of every sequence."""
    tokens, layout = questions.tokens, experiment.layout
    prefix, middle, suffix = (
        _special_token_names(experiment, tokens, ids) for ids in (layout.prefix, layout.middle, layout.suffix)
    )
    passage = _text_tokens(tokens, example.passage, "passage", questions.texts[example.question_id])
    before, between = ([Token("passage", name) for name in names] for names in (prefix, middle))
    texts = question_texts(experiment, questions.rows[example.question_id])
    # Windows share the texts of the question or of its options.
    texts = texts * (len(example.sequences) // len(texts))
    sequences = []
    for rows, (first, count), domain_texts in zip(example.sequences, example.windows, texts, strict=True):
        question = [
            token
            for row, domain, text in zip(rows, ("question", "option"), domain_texts, strict=False)
            for token in _text_tokens(tokens, row, domain, text)
        ]
        question += [Token("option" if len(rows) > 1 else "question", name) for name in suffix]
        sequences.append(([*before, *passage[first : first + count], *between], question))
    return sequences


def question_texts(experiment: Experiment, question: QuestionRow) -> list[list[str]]:
    """Return the texts in the question domain of each of a question's sequences about one window of its passage."""
    return domains_of(question, experiment.source)


def _text_tokens(tokens: Tokens, row: int, domain: str, text: str) -> list[Token]:
    row_slice = tokens.slice(row)
    offsets = zip(tokens.starts[row_slice].tolist(), tokens.ends[row_slice].tolist(), strict=True)
    return [Token(domain, text[start:end], start, end) for start, end in offsets]


def _special_token_names(experiment: Experiment, tokens: Tokens, ids: tuple[int, ...]) -> list[str]:
    # Readers of words have sentinels instead of the tokenizer's special tokens.
    if isinstance(tokens, WordTokens):
        return ["[none]"] * len(ids)
    tokenizer = _tokenizer(experiment.encoder.source)
    return [tokenizer.id_to_token(token_id) or "" for token_id in ids]


@cache
def _tokenizer(source: str) -> "Tokenizer":
    return load_tokenizer(TokenizerParameters(source=source)).tokenizer


def attention_rows(
    question_id: str, trial_id: str, sequences: Sequence[TracedSequence], legend: Mapping[str, MapSpec]
) -> pa.Table:
    """Build the rows of the attention table for one question, a block for each sequence and map."""
    blocks = [ATTENTION.empty_table()]
    for index, sequence in enumerate(sequences):
        for name, values in sequence.maps.items():
            tokens = sequence.attended(legend[name])
            constants = {"question_id": question_id, "trial_id": trial_id, "sequence": index, "map": name}
            columns: dict[str, Sequence[object] | np.ndarray] = {
                **{column: [constant] * len(tokens) for column, constant in constants.items()},
                **{column: [getattr(token, column) for token in tokens] for column in Token._fields},
                "token": np.arange(len(tokens), dtype=np.int32),
                "values": list(values.T.astype(np.float32)),
            }
            blocks.append(pa.Table.from_pydict(columns, schema=ATTENTION))
    return pa.concat_tables(blocks)
