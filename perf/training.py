"""Training throughput: our batches beside the recipe of the stock multiple-choice example, in one run, alternating.

Both train the same reader (`plain`, MiniLM, dropout 0) with the same optimizer on DREAM's training questions. The
stock recipe draws questions at random, pads them to the longest of the batch and computes in fp32. A third loop adds
turns of iterative co-attention, to see what a turn costs.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as pads
import torch

from coattend import readers
from coattend.parameters import TokenizerParameters, TrainingParameters
from coattend.readers.batch import Batch
from coattend.text.subwords import load_tokenizer, special_layout
from coattend.training.batching import LengthBuckets
from coattend.training.collation import Collator
from coattend.training.data import Source
from coattend.training.devices import uses_bf16
from coattend.training.examples import Example
from coattend.training.tokens import Tokens

STOCK_BATCH = 8
"""Questions a batch in the stock recipe."""


def load(data: Path) -> tuple[list[Example], Collator]:
    """DREAM's training questions as the stages left them."""
    tables = data / "02_intermediate" / "dream"
    tokens = Tokens.from_table(pads.dataset(data / "05_model_input/dream/nltk_penn/minilm/tokens", format="parquet"))
    layout = special_layout(load_tokenizer(TokenizerParameters()))
    questions, passages = (pads.dataset(tables / f"{name}.parquet") for name in ("questions", "passages"))
    source = Source("dream", questions, passages, tokens, "options", layout.count)
    return source.training(TrainingParameters())[0].examples, Collator(tokens, layout, "options")


def stepper(name: str, *, bf16: bool, **options: Any) -> Callable[[dict[str, torch.Tensor]], float]:
    """A function that trains a fresh reader on one batch and returns the seconds that it took."""
    torch.manual_seed(0)
    reader = readers.build(name, encoder="embedded", dropout=0.0, **options).train()
    optimizer = torch.optim.AdamW(reader.parameters(), lr=1e-5, fused=True)

    def step(tensors: dict[str, torch.Tensor]) -> float:
        began = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = reader(Batch(**tensors)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - began

    return step


def throughput(examples: Sequence[Example], collator: Collator, rounds: int, batches: int) -> dict[str, Any]:
    """Questions a second of both recipes over an epoch, round by round from batches spread over all lengths."""
    bf16 = uses_bf16(TrainingParameters(), "cpu")
    lengths = [collator.sequence_length(example) for example in examples]
    ours = list(LengthBuckets(lengths, [len(e.sequences) for e in examples], tokens_per_batch=6144, shuffle=False))
    order = np.random.default_rng(0).permutation(len(examples))
    stock = [order[i : i + STOCK_BATCH].tolist() for i in range(0, len(order), STOCK_BATCH)]
    steps = {"ours": stepper("plain", bf16=bf16), "stock": stepper("plain", bf16=False)}
    drawn = {"ours": ours, "stock": stock}
    rates: dict[str, list[float]] = {"ours": [], "stock": []}
    for name, step in steps.items():  # Warm up.
        step(collator([examples[row] for row in drawn[name][-1]]))
    for turn in range(rounds):
        for name, step in steps.items():
            seconds = [step(collator([examples[row] for row in batch])) for batch in spread(drawn[name], batches, turn)]
            epoch = statistics.mean(seconds) * len(drawn[name])
            rates[name].append(len(examples) / epoch)
    ratios = [mine / theirs for mine, theirs in zip(rates["ours"], rates["stock"], strict=True)]
    return {
        "questions_per_second": {name: round(statistics.median(values), 2) for name, values in rates.items()},
        "ratio": round(statistics.median(ratios), 2),
        "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
        "precision": "bf16" if bf16 else "fp32",
    }


def spread(drawn: list[list[int]], count: int, turn: int) -> list[list[int]]:
    """Batches from the middle of equal parts of an epoch, so that their mean time is an epoch's; others every turn."""
    part = len(drawn) / count
    return [drawn[int(part * (index + 0.5)) + turn] for index in range(count)]


def real_tokens(examples: Sequence[Example], collator: Collator) -> float:
    """Share of the tokens in our batches that are not padding."""
    lengths = [collator.sequence_length(example) for example in examples]
    sequences = [len(example.sequences) for example in examples]
    real = sum(example.tokens + collator.special_tokens * len(example.sequences) for example in examples)
    buckets = LengthBuckets(lengths, sequences, tokens_per_batch=6144)
    padded = sum(max(lengths[row] for row in batch) * sum(sequences[row] for row in batch) for batch in buckets)
    return real / padded


def cost_of_a_turn(examples: Sequence[Example], collator: Collator, rounds: int) -> dict[str, Any]:
    """What each turn of iterative co-attention adds to a training step, all else equal."""
    bf16 = uses_bf16(TrainingParameters(), "cpu")
    lengths = [collator.sequence_length(example) for example in examples]
    buckets = list(LengthBuckets(lengths, [3] * len(lengths), tokens_per_batch=6144, shuffle=False))
    batch = collator([examples[row] for row in buckets[len(buckets) // 2]])
    steps = {turns: stepper("poi_net", bf16=bf16, turns=turns) for turns in (0, 1, 3)}
    seconds: dict[int, list[float]] = {turns: [] for turns in steps}
    for turn in range(-2, rounds):
        for turns, step in steps.items():
            taken = step(batch)
            if turn >= 0:
                seconds[turns].append(taken)
    added = [(three - one) / 2 / zero for zero, one, three in zip(*seconds.values(), strict=True)]
    return {
        "seconds": {turns: round(statistics.median(values), 4) for turns, values in seconds.items()},
        "percent_per_turn": round(100 * statistics.median(added), 2),
    }


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print and return."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="project data folder with DREAM's tokens")
    parser.add_argument("--rounds", type=int, default=4, help="rounds of both recipes")
    parser.add_argument("--batches", type=int, default=5, help="batches a round")
    chosen = parser.parse_args(arguments)
    torch.set_flush_denormal(True)
    examples, collator = load(chosen.data)
    result: dict[str, Any] = {
        "training": throughput(examples, collator, chosen.rounds, chosen.batches),
        "real_tokens": round(real_tokens(examples, collator), 4),
        "co_attention": cost_of_a_turn(examples, collator, 3 * chosen.rounds),
    }
    print(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    main()
