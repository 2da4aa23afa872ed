import tracemalloc
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.batches import sampler
from coattend.batches.sampler import LengthBuckets, RandomBatches

shapes = st.lists(st.tuples(st.integers(1, 512), st.integers(1, 5)), min_size=1, max_size=200)


def buckets(shape, budget, **options):
    lengths, sequences = zip(*shape, strict=True)
    return LengthBuckets.from_lengths(lengths, sequences, tokens_per_batch=budget, **options)


@given(shapes, st.integers(64, 8192), st.integers(0, 3), st.booleans())
def test_every_question_is_drawn_once_and_whole(shape, budget, epoch, shuffle):
    batches = buckets(shape, budget, shuffle=shuffle)
    batches.set_epoch(epoch)
    drawn = [row for batch in batches for row in batch]
    assert sorted(drawn) == list(range(len(shape)))
    assert len(list(batches)) == len(batches)


@given(shapes, st.integers(64, 8192), st.integers(0, 3))
def test_no_batch_is_over_the_budget_unless_it_is_one_question(shape, budget, epoch):
    batches = buckets(shape, budget)
    batches.set_epoch(epoch)
    for batch in batches:
        padded = max(shape[row][0] for row in batch) * sum(shape[row][1] for row in batch)
        assert padded <= budget or len(batch) == 1


@given(shapes, st.integers(64, 8192))
def test_an_epoch_is_the_same_whenever_it_is_drawn(shape, budget):
    first, second = buckets(shape, budget, seed=1), buckets(shape, budget, seed=1)
    list(first)
    for each in (first, second):
        each.set_epoch(2)
    assert list(first) == list(second)


def test_epochs_and_seeds_differ():
    shape = [(length, 3) for length in np.repeat(np.arange(20, 60), 10)]
    sampler, reseeded = buckets(shape, 2048, seed=0), buckets(shape, 2048, seed=1)
    first = list(sampler)
    sampler.set_epoch(1)
    assert first != list(sampler)
    assert first != list(reseeded)


def test_questions_of_like_length_meet():
    lengths = np.random.default_rng(0).integers(50, 400, 3000)
    padded = real = 0
    for batch in LengthBuckets.from_lengths(lengths, np.full(3000, 3), tokens_per_batch=6144):
        padded += lengths[batch].max() * len(batch)
        real += lengths[batch].sum()
    assert real / padded > 0.98


def test_a_question_takes_few_bytes():
    count = 300_000

    class Examples:
        def __len__(self):
            return count

        def __iter__(self):
            return (SimpleNamespace(length=8 + 8 * (number % 40), sequences="abc") for number in range(count))

    tracemalloc.start()
    try:
        batches = LengthBuckets.from_examples(
            Examples(), lambda example: example.length, tokens_per_batch=6144, shuffle=False
        )
        next(iter(batches))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Its row in its group, and in an epoch's order; a piece of all questions is worked on at a time.
    assert peak < 8 * count + (8 << 20)


def test_no_questions_make_no_batches():
    assert list(LengthBuckets.from_lengths([], [], tokens_per_batch=64)) == []
    assert list(LengthBuckets.from_lengths([], [], tokens_per_batch=64, shuffle=False)) == []


@given(shapes, st.integers(64, 8192), st.integers(0, 3), st.integers(0, 9))
def test_an_epoch_cuts_the_shuffled_questions_into_parts_and_shuffles_these(shape, budget, epoch, seed):
    lengths, sequences = np.array(shape).T
    chance = np.random.default_rng((seed, epoch))
    order = np.lexsort((chance.random(len(shape)), -sequences, -lengths))
    parts = np.split(order, np.cumsum([len(batch) for batch in buckets(shape, budget, shuffle=False)])[:-1])
    batches = buckets(shape, budget, seed=seed)
    batches.set_epoch(epoch)
    assert list(batches) == [parts[index].tolist() for index in chance.permutation(len(parts))]


class Asked(NamedTuple):
    """A question: its passage, the windows that are read of it and their tokens, and those of its segments."""

    passage: int
    windows: int
    tokens: int
    segments: int


asked = st.lists(
    st.builds(Asked, st.integers(0, 20), st.integers(1, 2), st.sampled_from([40, 48, 200]), st.integers(1, 90)),
    min_size=1,
    max_size=80,
)


def by_passage(questions, budget, **options):
    def room(question):
        return question.windows, question.tokens, question.segments

    return LengthBuckets.from_passages(questions, room, tokens_per_batch=budget, **options)


@given(asked, st.integers(64, 4096), st.integers(0, 3), st.booleans())
def test_questions_about_a_passage_share_a_batch_under_the_budget(questions, budget, epoch, shuffle):
    batches = by_passage(questions, budget, shuffle=shuffle)
    batches.set_epoch(epoch)
    drawn = list(batches)
    assert len(drawn) == len(batches)
    assert sorted(row for batch in drawn for row in batch) == list(range(len(questions)))
    batch_of = {}
    for number, batch in enumerate(drawn):
        rows = {}
        for row in batch:
            rows.setdefault(questions[row][:3], []).append(questions[row].segments)
            assert batch_of.setdefault(questions[row][:3], number) == number
        longest = max(tokens for _, _, tokens in rows)
        most = max(-(-sum(segments) // 8) * 8 for segments in rows.values())
        assert (longest + most) * sum(windows for _, windows, _ in rows) <= budget or len(rows) == 1


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30))
def test_questions_in_the_order_of_their_passages_share_batches_however_many_are_read_at_once(counts):
    questions = [Asked(passage, 1, 48, 8) for passage, count in enumerate(counts) for _ in range(count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampler, "_NEARBY", 5)
        drawn = list(by_passage(questions, 256))
    assert drawn == list(by_passage(questions, 256))


def test_a_question_about_a_passage_takes_few_bytes(monkeypatch):
    monkeypatch.setattr(sampler, "_NEARBY", 1 << 14)
    count = 300_000

    class Questions:
        def __len__(self):
            return count

        def __iter__(self):
            return (Asked(number // 2, 1, 48 + 8 * (number // 2 % 40), 8) for number in range(count))

    tracemalloc.start()
    try:
        next(iter(by_passage(Questions(), 1536)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Two questions ask about a passage: its shape takes twelve bytes, the end of its questions and its place in an
    # epoch's order four each, and a question's place among those of its passage four, which pieces hold a second time.
    assert peak < 24 * count + (4 << 20)


def test_passages_of_like_length_meet():
    chance = np.random.default_rng(0)
    questions = [Asked(n // 3, 1, 50 + 8 * (n // 3 % 40), int(chance.integers(10, 60))) for n in range(3000)]
    padded = real = 0
    for batch in by_passage(questions, 6144):
        rows = {}
        for row in batch:
            rows[questions[row].passage] = rows.get(questions[row].passage, 0) + questions[row].segments
        longest = max(questions[row].tokens for row in batch)
        padded += (longest + max(rows.values())) * len(rows)
        real += sum(questions[3 * passage].tokens + segments for passage, segments in rows.items())
    assert real / padded > 0.85
    assert list(by_passage([], 64)) == []


@given(st.integers(1, 200), st.integers(1, 50))
def test_batches_by_lot_have_each_question_once_and_differ_by_epoch_and_seed(questions, size):
    batches, same, other = (RandomBatches(questions, questions_per_batch=size, seed=seed) for seed in (1, 1, 2))
    first, again, others = (list(drawn) for drawn in (batches, same, other))
    assert sorted(row for batch in first for row in batch) == list(range(questions))
    assert len(first) == len(batches) and all(len(batch) == size for batch in first[:-1])
    batches.set_epoch(1)
    assert first == again
    assert questions < 20 or (first != others and first != list(batches))
