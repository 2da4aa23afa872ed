"""What each interaction costs on top of its encoder: time, and the memory that it keeps for the backward pass.

An encoder with random weights makes vectors of 8 sequences (400 tokens of the passage's domain, 40 of the question's);
interactions take them, forward and backward, without dropout. It is a transformer of MiniLM's shape, or a recurrent
encoder with sizes for two cores: 384-wide vectors and a GRU of 128 in each direction, which counts as one layer.
All take their turns round by round in one run, so that ratios to the encoder's own step (forward and backward, without
the optimizer) stand even where other work goes on. Goals, on the transformer: a turn of iterative co-attention adds at
most 2 % of that step, DUMA at most one layer's share.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertConfig

from coattend import readers
from coattend.parameters import TrainingParameters
from coattend.readers.assembly import assemble
from coattend.readers.attended import Attended, Encoded
from coattend.readers.batch import Batch
from coattend.readers.encoders.recurrent import RecurrentEncoder
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.readers.encoders.words import Words
from coattend.readers.interactions.iterative_co_attention import IterativeCoAttention
from coattend.readers.interactions.none import NoInteraction
from coattend.readers.parts import EncoderShape
from coattend.training.devices import uses_bf16
from perf import kept
from perf.alternate import Step, alternate

ENCODER = "encoder"
LAYERS = 6
WORDS = 30_000
WARM_UP = 2


def minilm(batch: Batch) -> TransformerEncoder:
    """An encoder of MiniLM's shape, with as many positions as a batch needs."""
    shape = {"hidden_size": 384, "num_hidden_layers": LAYERS, "num_attention_heads": 12, "intermediate_size": 1536}
    config = BertConfig(**shape, max_position_embeddings=max(512, batch.input_ids.shape[1]))
    return TransformerEncoder(TransformerEncoder.Config(dropout=0.0), config).eval()


def words(batch: Batch) -> RecurrentEncoder:
    """A recurrent encoder over fixed word vectors, as wide as those of the embedded encoder."""
    config = RecurrentEncoder.Config(cell="gru", hidden=128, vectors="random", vector_width=384)
    return RecurrentEncoder(config, Words(words=tuple(f"word{number}" for number in range(WORDS)))).eval()


ENCODERS: Mapping[str, tuple[Callable[[Batch], nn.Module], int]] = {
    "transformer": (minilm, LAYERS),
    "recurrent": (words, 1),
}
"""What stands for each encoder, and its layers."""


def interactions(encoder: str, shape: EncoderShape) -> dict[str, nn.Module]:
    """Every interaction on an encoder, with the options of each named reader that has it, else with its own."""
    named = [name for name in readers.names() if readers.encoder_of(name) == encoder]
    others = dict.fromkeys(one.reader for one in readers.capabilities() if one.encoder == encoder)
    found: dict[str, tuple[type, Any]] = {}
    for name in (*named, *others):
        parts = assemble(name, None, {})
        part = parts.classes.interaction, parts.configs.interaction
        if part[0] is not NoInteraction and part not in found.values():
            found[name.rpartition("+")[2]] = part
    return {reader: made(config, shape).eval() for reader, (made, config) in found.items()}


def turns(shape: EncoderShape, most: int = 4) -> dict[str, nn.Module]:
    """Iterative co-attention at each number of turns."""
    configs = [IterativeCoAttention.Config(turns=count) for count in range(most + 1)]
    return {f"{config.turns} turns": IterativeCoAttention(config, shape).eval() for config in configs}


def batch_of(sequences: int, passage: int, question: int) -> Batch:
    """Sequences of random tokens, all as long, of whose question the second half is the option."""
    length = passage + question
    asked = torch.arange(passage, length).expand(sequences, -1)
    return Batch(
        input_ids=torch.randint(1000, WORDS, (sequences, length)),
        attention_mask=torch.ones(sequences, length, dtype=torch.bool),
        token_type_ids=(torch.arange(length) >= passage).long().expand(sequences, -1),
        tag_ids=torch.ones(sequences, length, dtype=torch.long),
        passage_mask=torch.ones(sequences, passage, dtype=torch.bool),
        question_index=asked,
        question_mask=torch.ones_like(asked, dtype=torch.bool),
        option_mask=asked >= passage + question // 2,
    )


def results_of(made: Encoded | Attended) -> list[Tensor | None]:
    """What heads may read."""
    return [made.passage, made.question, made.summary, getattr(made, "token_mass", None)]


def step(forward: Callable[[], Encoded | Attended], learned: Sequence[Tensor], *, bf16: bool) -> Step:
    """A pass forward, and one back from random gradients of all that came out to all that learns."""

    def run() -> list[Tensor]:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            made = forward()
        return [one for one in results_of(made) if one is not None]

    gradients = [torch.randn_like(one) for one in run()]

    def timed() -> float:
        began = time.perf_counter()
        torch.autograd.grad(run(), learned, gradients, allow_unused=True)
        return time.perf_counter() - began

    return timed


def steps_on(encoder: nn.Module, parts: Mapping[str, nn.Module], batch: Batch, *, bf16: bool) -> dict[str, Step]:
    """The encoder's step, and that of each interaction on the vectors that the encoder makes."""
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        encoded = encoder(batch)
    encoded.passage.requires_grad_()
    encoded.question.requires_grad_()
    encoded.question_state.requires_grad_()
    made = {ENCODER: step(lambda: encoder(batch), list(encoder.parameters()), bf16=bf16)}
    for name, part in parts.items():
        learned = [encoded.passage, encoded.question, *part.parameters()]
        made[name] = step(lambda part=part: part(encoded), learned, bf16=bf16)
    return made


def costs(seconds: Mapping[str, list[float]], layers: int) -> dict[str, dict[str, float]]:
    """Medians: milliseconds, percent of the encoder's step of the same round, and the same in layers of it.

    For a number of turns also what it adds to one turn fewer.
    """
    result, fewer = {}, None
    for name, taken in seconds.items():
        share = [mine / whole for mine, whole in zip(taken, seconds[ENCODER], strict=True)]
        result[name] = {
            "ms": round(1000 * statistics.median(taken), 2),
            "percent_of_step": round(100 * statistics.median(share), 2),
            "layers": round(layers * statistics.median(share), 3),
        }
        if name.endswith(" turns"):
            if fewer is not None:
                added = statistics.median(mine - less for mine, less in zip(share, fewer, strict=True))
                result[name]["percent_added"] = round(100 * added, 2)
            fewer = share
    return result


def show(result: Mapping[str, Any]) -> None:
    """Print the table."""
    heads = ("ms", "% of step", "layers", "% added", "MiB kept", "P x 2", "P, Q x 2")
    for encoder, rows in result["costs"].items():
        print(f"{encoder + ', ' + result['precision']:<28}" + "".join(f"{head:>10}" for head in heads))
        for name, row in rows.items():
            memory = result["memory"][encoder].get(name, {})
            cells = [row["ms"], row["percent_of_step"], row["layers"], row.get("percent_added", "")]
            cells += [memory.get(key, "") for key in ("mib", "passage_doubled", "both_doubled")]
            print(f"{name:<28}" + "".join(f"{cell:>10}" for cell in cells))


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print and return."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11, help="how often each is timed")
    parser.add_argument("--sequences", type=int, default=8, help="sequences of a batch")
    parser.add_argument("--passage", type=int, default=400, help="tokens of the passage's domain")
    parser.add_argument("--question", type=int, default=40, help="tokens of the question's domain")
    parser.add_argument("--encoder", choices=[*ENCODERS, "all"], default="all", help="on top of which")
    chosen = parser.parse_args(arguments)
    torch.manual_seed(0)
    bf16 = uses_bf16(TrainingParameters(), "cpu")
    batch = batch_of(chosen.sequences, chosen.passage, chosen.question)
    result: dict[str, Any] = {"precision": "bf16" if bf16 else "fp32", "costs": {}, "memory": {}}
    for name in ENCODERS if chosen.encoder == "all" else [chosen.encoder]:
        made, layers = ENCODERS[name]
        encoder = made(batch)
        parts = interactions(name, encoder.shape) | turns(encoder.shape)
        seconds = alternate(steps_on(encoder, parts, batch, bf16=bf16), chosen.rounds, warm_up=WARM_UP)
        result["costs"][name] = costs(seconds, layers)
        result["memory"][name] = {part: kept.growth(parts[part], encoder.shape) for part in parts}
    show(result)
    print(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    main()
