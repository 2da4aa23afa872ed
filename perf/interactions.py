"""The time that each interaction takes on top of its encoder, forward and backward.

An encoder with random weights makes vectors of 8 sequences (400 tokens of the passage's domain, 40 of the question's);
interactions take them without dropout. It is a transformer of MiniLM's shape, or a recurrent encoder with sizes for two
cores: 384-wide vectors and a GRU of 128 in each direction, which counts as one layer. All take turns in one run, so
that ratios to the encoder's own step (forward and backward, without the optimizer) stand even where other work goes on.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertConfig

from coattend import readers
from coattend.config import TrainingParameters
from coattend.readers.batch import Batch
from coattend.readers.composition import compose
from coattend.readers.encoders.recurrent import RecurrentEncoder
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.readers.encoders.word_embeddings import Words
from coattend.readers.interactions.iterative_co_attention import IterativeCoAttention
from coattend.readers.interactions.none import NoInteraction
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.trials.device import uses_bf16
from perf.timing import Step, alternate

ENCODER = "encoder"
LAYERS = 6
VOCABULARY = 30_000
TURNS = 4


def measure(rounds: int, *, sequences: int = 8, passage: int = 400, question: int = 40) -> dict[str, Any]:
    """Time every interaction on every encoder."""
    torch.manual_seed(0)
    bf16 = uses_bf16(TrainingParameters(), "cpu")
    batch = random_batch(sequences, passage, question)
    costs = {}
    for name, (build, layers) in ENCODERS.items():
        encoder = build(batch)
        parts = interactions_on(name, encoder.shape) | turns(encoder.shape)
        seconds = alternate(steps_of(encoder, parts, batch, bf16=bf16), rounds, warm_up=2)
        costs[name] = summarize(seconds, layers)
    return {"precision": "bf16" if bf16 else "fp32", "costs": costs}


def minilm(batch: Batch) -> TransformerEncoder:
    """Build an encoder of MiniLM's shape, with as many positions as a batch needs."""
    config = BertConfig(
        hidden_size=384,
        num_hidden_layers=LAYERS,
        num_attention_heads=12,
        intermediate_size=1536,
        max_position_embeddings=max(512, batch.input_ids.shape[1]),
    )

    return TransformerEncoder(TransformerEncoder.Config(dropout=0.0), config).eval()


def gru(batch: Batch) -> RecurrentEncoder:
    """Build a recurrent encoder over fixed word vectors, as wide as those of the embedded encoder."""
    config = RecurrentEncoder.Config(cell="gru", hidden=128, vectors="random", vector_width=384)
    return RecurrentEncoder(config, Words(words=tuple(f"word{number}" for number in range(VOCABULARY)))).eval()


ENCODERS: Mapping[str, tuple[Callable[[Batch], TransformerEncoder | RecurrentEncoder], int]] = {
    "transformer": (minilm, LAYERS),
    "recurrent": (gru, 1),
}
"""A builder for each encoder, and its layers."""


def interactions_on(encoder: str, shape: EncoderShape) -> dict[str, nn.Module]:
    """Build every interaction on an encoder, with the options of each named reader that has it, else with defaults."""
    named = [name for name in readers.names() if readers.encoder_of(name) == encoder]
    joined = dict.fromkeys(entry.reader for entry in readers.capabilities() if entry.encoder == encoder)
    parts: dict[str, tuple[type, Any]] = {}
    for name in (*named, *joined):
        assembly = compose(name, None, {})
        part: tuple[type, Any] = assembly.classes.interaction, assembly.configs.interaction
        if part[0] is not NoInteraction and part not in parts.values():
            parts[name.rpartition("+")[2]] = part
    return {reader: interaction(config, shape).eval() for reader, (interaction, config) in parts.items()}


def turns(shape: EncoderShape) -> dict[str, nn.Module]:
    """Build iterative co-attention with each number of turns."""
    configs = [IterativeCoAttention.Config(turns=count) for count in range(TURNS + 1)]
    return {f"{config.turns} turns": IterativeCoAttention(config, shape).eval() for config in configs}


def random_batch(sequences: int, passage: int, question: int) -> Batch:
    """Make sequences of random tokens, all equally long; the second half of the question is the option."""
    length = passage + question
    indices = torch.arange(passage, length).expand(sequences, -1)
    return Batch(
        input_ids=torch.randint(1000, VOCABULARY, (sequences, length)),
        attention_mask=torch.ones(sequences, length, dtype=torch.bool),
        token_type_ids=(torch.arange(length) >= passage).long().expand(sequences, -1),
        tag_ids=torch.ones(sequences, length, dtype=torch.long),
        passage_mask=torch.ones(sequences, passage, dtype=torch.bool),
        question_index=indices,
        question_mask=torch.ones_like(indices, dtype=torch.bool),
        option_mask=indices >= passage + question // 2,
    )


def steps_of(encoder: nn.Module, parts: Mapping[str, nn.Module], batch: Batch, *, bf16: bool) -> dict[str, Step]:
    """Return the encoder's step, and that of each interaction on the vectors that the encoder makes."""
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        encoded = encoder(batch)
    vectors = [encoded.passage, encoded.question]
    for tensor in (*vectors, encoded.question_state):
        tensor.requires_grad_()
    steps = {ENCODER: step_of(partial(encoder, batch), list(encoder.parameters()), bf16=bf16)}
    for name, part in parts.items():
        steps[name] = step_of(partial(part, encoded), [*vectors, *part.parameters()], bf16=bf16)
    return steps


def step_of(forward: Callable[[], Encoded | Attended], learned: Sequence[Tensor], *, bf16: bool) -> Step:
    """Return a step forward, and back from random gradients of all that heads may read."""

    def run() -> list[Tensor]:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            output = forward()
        tensors = (output.passage, output.question, output.summary, getattr(output, "token_mass", None))
        return [tensor for tensor in tensors if tensor is not None]

    gradients = [torch.randn_like(tensor) for tensor in run()]

    def seconds() -> float:
        start = time.perf_counter()
        torch.autograd.grad(run(), learned, gradients, allow_unused=True)
        return time.perf_counter() - start

    return seconds


def summarize(seconds: Mapping[str, list[float]], layers: int) -> dict[str, dict[str, float]]:
    """Return medians: milliseconds, percent of the encoder's step of the same round, and the same in its layers.

    A number of turns also has what it adds to one turn fewer.
    """
    costs, fewer = {}, None
    for name, values in seconds.items():
        shares = [value / encoder for value, encoder in zip(values, seconds[ENCODER], strict=True)]
        costs[name] = {
            "ms": round(1000 * statistics.median(values), 2),
            "percent_of_step": round(100 * statistics.median(shares), 2),
            "layers": round(layers * statistics.median(shares), 3),
        }
        if name.endswith(" turns"):
            if fewer is not None:
                added = statistics.median(more - less for more, less in zip(shares, fewer, strict=True))
                costs[name]["percent_added"] = round(100 * added, 2)
            fewer = shares
    return costs
