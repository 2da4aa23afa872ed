"""Iterative co-attention against an oracle of the paper's equations (POI-Net, sections 2.2 and 2.3)."""

import itertools

import oracle
import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_turns import turns_oracle

from coattend.readers.interactions.iterative_co_attention import IterativeCoAttention
from coattend.readers.interfaces import Encoded, EncoderShape

STRATEGIES = ["average", "weighted", "forgetting", "intuition", "gate"]


def interaction(turns, strategy="forgetting", **options):
    config = IterativeCoAttention.Config(turns=turns, strategy=strategy, **options)
    module = IterativeCoAttention(config, EncoderShape(5, 1)).double()
    if module.gate is not None:
        tiny.scatter(module.gate, deviation=1.0)
    return module


def encoded(passages, questions, *, dtype=torch.float64, noise=1e3):
    """Ragged sequences padded with noise."""

    def padded(rows):
        length, width = max(map(len, rows)), len(rows[0][0])
        stream = torch.full((len(rows), length, width), noise, dtype=dtype)
        mask = torch.zeros(len(rows), length, dtype=torch.bool)
        for row, tokens in enumerate(rows):
            stream[row, : len(tokens)] = torch.tensor(tokens, dtype=dtype)
            mask[row, : len(tokens)] = True
        return stream, mask

    (passage, passage_mask), (question, question_mask) = padded(passages), padded(questions)
    return Encoded(passage=passage, question=question, passage_mask=passage_mask, question_mask=question_mask)


def draw(lengths, width=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, width, generator=generator, dtype=torch.float64).tolist() for n in lengths]


@pytest.mark.parametrize("compared", ["original", "attended"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_it_and_its_side_remarks_are_what_the_paper_says(strategy, compared):
    passages, questions = draw([7, 2, 11]), draw([3, 5, 4], seed=1)
    for turns, beta in itertools.product((0, 1, 2, 3, 5), ("confidence", "learned")):
        module = interaction(turns, strategy, compared=compared, beta=beta)
        assert (module.betas is None) == (beta == "confidence" or turns <= 1 or strategy == "average")
        learned = None
        if module.betas is not None:
            torch.nn.init.normal_(module.betas, generator=torch.Generator().manual_seed(0))
            learned = (2 * torch.sigmoid(module.betas)).tolist()
        attended = module(encoded(passages, questions))
        for row, (e_p, e_q) in enumerate(zip(passages, questions, strict=True)):
            expected = turns_oracle(e_p, e_q, turns, strategy, compared, learned, module.gate)
            for stream, rows in zip((attended.passage, attended.question), expected, strict=True):
                oracle.same(stream[row], rows)


@pytest.mark.parametrize("compared", ["original", "attended"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_embeddings_of_all_turns_are_integrated_into_what_their_scores_would_be(strategy, compared):
    passages, questions = draw([7, 2, 11]), draw([3, 5, 4], seed=1)
    batch = encoded(passages, questions)
    for turns in (0, 1, 2, 4):
        module = interaction(turns, strategy, compared=compared, integrate="embeddings")
        module.keep_maps = True
        attended = module(batch)
        for row, (e_p, e_q) in enumerate(zip(passages, questions, strict=True)):
            expected = turns_oracle(e_p, e_q, turns, strategy, compared, gate=module.gate, integrate="embeddings")
            for stream, rows in zip((attended.passage, attended.question), expected, strict=True):
                oracle.same(stream[row], rows)
        of_scores = interaction(turns, strategy, compared=compared)
        of_scores.load_state_dict(module.state_dict())
        of_scores.keep_maps = True
        same = of_scores(batch)
        torch.testing.assert_close(attended.question, same.question, rtol=0, atol=1e-9)
        assert all(torch.equal(attended.maps[name], values) for name, values in same.maps.items())
        assert attended.maps.keys() == same.maps.keys()


def test_only_what_is_integrated_may_be_chosen():
    with pytest.raises(ValueError, match="'scores' or 'embeddings'"):
        IterativeCoAttention.Config(integrate="tokens")


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), min_size=1, max_size=3),
    width=st.integers(1, 5),
    turns=st.integers(0, 4),
    strategy=st.sampled_from(STRATEGIES),
    seed=st.integers(0, 99),
)
def test_any_shape_gives_numbers_of_that_shape_and_padding_never_enters(lengths, width, turns, strategy, seed):
    passages = draw([p for p, _ in lengths], width, seed)
    questions = draw([q for _, q in lengths], width, seed + 100)
    module = interaction(turns, strategy)
    module.keep_maps = True
    batch = encoded(passages, questions)
    attended = module(batch)
    assert attended.passage.shape == batch.passage.shape
    assert attended.question.shape == batch.question.shape
    assert attended.summary is None
    for row, (e_p, e_q) in enumerate(zip(passages, questions, strict=True)):
        alone = module(encoded([e_p], [e_q]))
        for side in ("passage", "question"):
            stream = getattr(alone, side)[0]
            assert stream.isfinite().all()
            torch.testing.assert_close(getattr(attended, side)[row, : len(stream)], stream, rtol=0, atol=1e-9)
    highest = turns if strategy == "gate" else 1  # Gates may add all turns up.
    for name, values in attended.maps.items():
        limit = highest if name.endswith("_attention") else 1
        assert ((values >= 0) & (values <= limit + 1e-12)).all(), name


def test_where_all_scores_are_equal_every_token_counts():
    passages, questions = [[[1.0, 2.0]] * 3], [[[0.5, 0.1]]]
    batch = encoded(passages, questions)
    batch.passage.requires_grad_()
    attended = interaction(3)(batch)
    assert torch.equal(attended.passage, batch.passage)
    assert torch.equal(attended.question, batch.question)
    attended.passage.sum().backward()
    assert batch.passage.grad.isfinite().all()


def test_a_token_of_zeros_gives_numbers():
    batch = encoded([[[0.0, 0.0], [1.0, 2.0]]], [[[0.0, 0.0]]])
    batch.passage.requires_grad_()
    attended = interaction(2)(batch)
    attended.passage.sum().backward()
    assert attended.passage.isfinite().all()
    assert batch.passage.grad.isfinite().all()


def test_without_a_turn_it_is_the_encoding():
    batch = encoded(draw([4]), draw([3]))
    attended = interaction(0)(batch)
    assert attended.passage is batch.passage
    assert attended.question is batch.question


@pytest.mark.parametrize(
    ("strategy", "integrate"), [*((strategy, "scores") for strategy in STRATEGIES), ("gate", "embeddings")]
)
def test_its_gradient_is_that_of_what_it_computes(strategy, integrate):
    batch = encoded(draw([4, 3]), draw([3, 2], seed=1), noise=0.3)
    module = interaction(2, strategy, integrate=integrate)

    def attend(passage, question):
        attended = module(
            Encoded(
                passage=passage,
                question=question,
                passage_mask=batch.passage_mask,
                question_mask=batch.question_mask,
            )
        )
        return attended.passage[batch.passage_mask], attended.question[batch.question_mask]

    assert torch.autograd.gradcheck(attend, (batch.passage.requires_grad_(), batch.question.requires_grad_()))


def test_maps_hold_the_scores_of_each_turn_only_when_asked_for():
    module, batch = interaction(3), encoded(draw([4, 6]), draw([3, 2]))
    assert module(batch).maps == {}
    module.keep_maps = True
    maps = module(batch).maps
    assert maps["passage_scores"].shape == (2, 3, 6)
    assert maps["question_attention"].shape == (2, 3)
    assert (maps["passage_scores"].amax(-1) == 1).all()


def test_autocast_does_not_coarsen_it():
    batch = encoded(draw([9, 5]), draw([3, 6]), dtype=torch.float32)
    exact = interaction(3)(batch).passage
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(interaction(3)(batch).passage, exact)
    coarse = Encoded(
        passage=batch.passage.bfloat16(),
        question=batch.question.bfloat16(),
        passage_mask=batch.passage_mask,
        question_mask=batch.question_mask,
    )
    assert interaction(3)(coarse).passage.dtype == torch.float32


def test_it_has_no_parameter_but_eight_of_gates_where_there_is_a_turn_to_forget():
    assert list(interaction(3).parameters()) == []
    for turns, count in ((0, 0), (1, 0), (2, 8), (4, 8)):
        assert sum(parameter.numel() for parameter in interaction(turns, "gate").parameters()) == count


def test_gates_begin_near_the_mean_of_the_turns_before_and_this_one():
    module = IterativeCoAttention(IterativeCoAttention.Config(turns=2, strategy="gate"), EncoderShape(5, 1)).double()
    batch = encoded(draw([7, 2]), draw([3, 5], seed=1), noise=0.0)
    expected = interaction(2, "average")(batch).passage
    torch.testing.assert_close(module(batch).passage, expected, rtol=0.1, atol=0)
