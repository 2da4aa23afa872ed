"""Switches that speed up training leave the loss of every step unchanged in float32."""

import pytest
import torch
from perf.prepared import Prepared
from transformers import BertConfig

from coattend import readers
from coattend.batches.sampler import LengthBuckets
from coattend.readers.batch import Batch
from coattend.trials.build import build_collator
from coattend.trials.device import disable_malloc_trim

STEPS = 6
TINY = BertConfig(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96)


@pytest.fixture(scope="module")
def workload(shared_project):
    """The sample's questions with options, and how they become batches."""
    experiment = Prepared(shared_project, "test", ("sample",)).experiment("sample", "poi_net")
    train = experiment.training_questions().train
    reader = fresh()
    collator = build_collator(experiment, reader, train)
    lengths = [collator.sequence_length(example) for example in train.examples]
    sequences = [len(example.sequences) for example in train.examples]
    return train.examples, collator, list(LengthBuckets.from_lengths(lengths, sequences, tokens_per_batch=1024))[:STEPS]


def fresh():
    torch.manual_seed(0)
    return readers.build("poi_net", encoder=TINY, dropout=0.0).train()


def learn(reader, examples, collator, batches, *, optimizer="fused", parts=1):
    """The loss of each step.

    Args:
        optimizer: Which kind of AdamW: ``fused``, ``foreach``, or one weight after the other.
        parts: In how many parts each batch is read, whose gradients are added.
    """
    implementations = {
        "fused": {"fused": True},
        "foreach": {"foreach": True},
        "plain": {"foreach": False, "fused": False},
    }
    # Adam divides a gradient by its size: with its usual eps, what rounding leaves of a gradient of zero, such as that
    # of the keys' biases, becomes a whole step.
    adamw = torch.optim.AdamW(reader.parameters(), lr=1e-3, eps=1e-5, **implementations[optimizer])
    history = []
    for batch in batches:
        size = -(-len(batch) // parts)
        losses = []
        for rows in (batch[first : first + size] for first in range(0, len(batch), size)):
            loss = reader(Batch(**collator([examples[row] for row in rows]))).loss * (len(rows) / len(batch))
            loss.backward()
            losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        adamw.step()
        adamw.zero_grad()
        history.append(sum(losses))
    return history


@pytest.fixture(scope="module")
def expected(workload):
    losses = learn(fresh(), *workload)
    assert len(losses) == STEPS and len({round(loss, 4) for loss in losses}) == STEPS, "it learns"
    return losses


def same(losses):
    return pytest.approx(losses, rel=1e-5)


@pytest.mark.parametrize("multiple", [1, 64, 512])
def test_padding(workload, expected, multiple):
    examples, collator, batches = workload
    assert learn(fresh(), examples, collator.padded_to(multiple), batches) == same(expected)


def test_the_order_of_questions_in_a_batch(workload, expected):
    examples, collator, batches = workload
    assert learn(fresh(), examples, collator, [batch[::-1] for batch in batches]) == same(expected)


@pytest.mark.parametrize("parts", [2, 100])
def test_questions_that_are_read_together(workload, expected, parts):
    assert learn(fresh(), *workload, parts=parts) == same(expected)


@pytest.mark.parametrize("optimizer", ["foreach", "plain"])
def test_the_optimizer_in_one_pass(workload, expected, optimizer):
    assert learn(fresh(), *workload, optimizer=optimizer) == same(expected)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_attention(workload, expected, attention):
    reader = fresh()
    assert reader.encoder.model.config._attn_implementation == "coattend"
    reader.encoder.model.set_attn_implementation(attention)
    assert learn(reader, *workload) == same(expected)


def test_memory_that_is_kept(workload, expected):
    disable_malloc_trim()
    assert learn(fresh(), *workload) == same(expected)


def test_the_number_of_threads(workload, expected):
    threads = torch.get_num_threads()
    torch.set_num_threads(2 if threads == 1 else 1)
    try:
        assert learn(fresh(), *workload) == same(expected)
    finally:
        torch.set_num_threads(threads)
