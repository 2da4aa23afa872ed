"""Options that are read in windows, beside each window read alone and combined by hand."""

import math
from dataclasses import replace

import pytest
import torch
from transformers import BertConfig

from coattend import readers
from coattend.batches.collator import Collator
from coattend.readers.batch import Batch
from coattend.readers.windows import WindowedOutput, read_batch

TINY = BertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24)
WAYS = {
    "max": max,
    "mean": lambda scores: sum(scores) / len(scores),
    "logsumexp": lambda scores: math.log(sum(map(math.exp, scores))),
}
READERS = ("plain", "duma", "plain_apart")


def reader_of(name, precision=torch.float64):
    torch.manual_seed(0)
    reader = readers.build(name, encoder=TINY, dropout=0.0).to(precision).eval()
    with torch.no_grad():
        reader.head.scorer.weight.mul_(20)  # Scores of untrained readers hardly differ.
    return reader


def examples_of(sample, max_length=48, **options):
    read = sample.read("subwords", "options")
    return sample.build(sample.rows("options"), read, max_length, stride=8, **options)[0]


@pytest.fixture(scope="module")
def examples(sample):
    """Questions with one, two and more windows, and different numbers of options."""
    by_shape = {}
    for example in examples_of(sample, options_in_windows=True):
        by_shape.setdefault((len(set(example.windows)), example.option_count), example)
    chosen = sorted(by_shape.items())
    assert {1, 2} < {windows for (windows, _), _ in chosen}
    assert len({options for (_, options), _ in chosen}) > 1
    return [example for _, example in chosen][:6]


def collator_of(sample, name):
    return Collator(sample.subwords, sample.special_tokens, "options", apart=name == "plain_apart")


def window_alone(example, window):
    part = slice(window * example.option_count, (window + 1) * example.option_count)
    return replace(
        example, sequences=example.sequences[part], lengths=example.lengths[part], windows=example.windows[part]
    )


def scores_by_window(reader, collator, example):
    """Scores of each option [W][C], each window in a batch of its own."""
    windows = len(example.sequences) // example.option_count
    batches = (Batch(**collator([window_alone(example, window)])) for window in range(windows))
    with torch.no_grad():
        return [reader(batch).scores[0].tolist() for batch in batches]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", READERS)
def test_an_option_has_one_score_of_its_windows_and_a_question_one_loss(sample, examples, name, how):
    reader, collator = reader_of(name), collator_of(sample, name)
    output = read_batch(reader, Batch(**collator(examples)), how)
    losses = []
    for row, example in enumerate(examples):
        by_window = scores_by_window(reader, collator, example)
        expected = [WAYS[how](scores) for scores in zip(*by_window, strict=True)]
        assert output.scores[row, : len(expected)].tolist() == pytest.approx(expected, abs=1e-9)
        assert output.scores[row, len(expected) :].tolist() == [-math.inf] * (output.scores.shape[1] - len(expected))
        for window, scores in enumerate(by_window):
            assert output.window_scores[row, : len(scores), window].tolist() == pytest.approx(scores, abs=1e-9)
        losses.append(math.log(sum(map(math.exp, expected))) - expected[example.label])
    assert output.loss.item() == pytest.approx(sum(losses) / len(losses), abs=1e-9)
    single = read_batch(reader_of(name, torch.float32), Batch(**collator(examples)), how)
    torch.testing.assert_close(single.scores.double(), output.scores, rtol=0, atol=2e-5)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", READERS)
def test_a_batch_has_the_gradient_of_its_questions_one_by_one(sample, examples, name, how):
    reader, collator = reader_of(name), collator_of(sample, name)

    def gradients(members):
        reader.zero_grad()
        read_batch(reader, Batch(**collator(members)), how).loss.backward()
        return {key: weight.grad.clone() for key, weight in reader.named_parameters() if weight.grad is not None}

    together = gradients(examples)
    alone = [gradients([example]) for example in examples]
    assert together
    for key, gradient in together.items():
        assert gradient.isfinite().all()
        mean = sum(part[key] for part in alone) / len(alone)
        torch.testing.assert_close(gradient, mean, rtol=0, atol=1e-10, msg=key)


def test_a_window_learns_from_what_another_holds(sample, examples):
    """With the maximum only the window that decides on an option's score has a gradient."""
    reader, collator = reader_of("plain"), collator_of(sample, "plain")
    example = examples[-1]
    for how in WAYS:
        output = read_batch(reader, Batch(**collator([example])), how)
        (gradient,) = torch.autograd.grad(output.loss, output.window_scores)
        used = (gradient[0].abs() > 1e-12).sum(-1).tolist()
        windows = len(set(example.windows))
        assert used == [1 if how == "max" else windows] * example.option_count


@pytest.mark.parametrize("name", READERS)
def test_short_passages_are_read_as_if_there_were_no_windows(sample, name):
    reader, collator = reader_of(name), collator_of(sample, name)
    cut, windowed = (examples_of(sample, 256, options_in_windows=way)[:8] for way in (False, True))
    assert cut == windowed
    batches = [collator(examples) for examples in (cut, windowed)]
    assert all(torch.equal(value, batches[1][field]) for field, value in batches[0].items())
    batch, expected = Batch(**batches[0]), reader(Batch(**batches[0]))
    for how in (*WAYS, None):
        output = read_batch(reader, batch, how)
        assert torch.equal(output.scores, expected.scores)
        assert not isinstance(output, WindowedOutput)


def test_a_short_passage_beside_long_ones_keeps_its_scores(sample, examples):
    """Its only window's score is an option's, exactly."""
    reader, collator = reader_of("plain", torch.float32), collator_of(sample, "plain")
    short = next(row for row, example in enumerate(examples) if len(set(example.windows)) == 1)
    for how in WAYS:
        output = read_batch(reader, Batch(**collator(examples)), how)
        assert torch.equal(output.scores[short], output.window_scores[short, :, 0])


def test_windows_begin_with_what_is_read_without_them_and_reach_the_end(sample):
    cut, windowed = (examples_of(sample, options_in_windows=way) for way in (False, True))
    longer = 0
    for first, example in zip(cut, windowed, strict=True):
        assert first.option_count == example.option_count == len(first.sequences)
        assert example.windows[: first.option_count] == first.windows
        assert example.sequences == first.sequences * len(set(example.windows))
        assert sum(example.windows[-1]) == sample.subwords.length(example.passage)
        longer += len(example.windows) > len(first.windows)
    assert longer
