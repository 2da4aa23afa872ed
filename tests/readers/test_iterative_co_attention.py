"""Iterative co-attention against a slow reading of the paper's equations (POI-Net, sections 2.2 and 2.3)."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend.readers.attended import Encoded
from coattend.readers.interactions.iterative_co_attention import IterativeCoAttention
from coattend.readers.parts import EncoderShape

STRATEGIES = ["average", "weighted", "forgetting", "intuition"]


def interaction(turns, strategy="forgetting", **options):
    config = IterativeCoAttention.Config(turns=turns, strategy=strategy, **options)
    return IterativeCoAttention(config, EncoderShape(5, 1))


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


# The slow reading: lists, loops, one sequence at a time.


def max_pooling(vectors):
    return [max(vector[h] for vector in vectors) for h in range(len(vectors[0]))]


def cosine(a, b):
    if not any(a):  # A token that the turn before took away.
        return 0.0
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b)))


def min_max(scores):
    low, high = min(scores), max(scores)
    if high - low <= 16 * torch.finfo(torch.float64).eps:
        return [1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]


def scaled(scores, vectors):
    return [[score * x for x in vector] for score, vector in zip(scores, vectors, strict=True)]


def slow(e_p, e_q, turns, strategy, compared="original", learned=None):
    if turns == 0:
        return e_p, e_q
    last_p, last_q = e_p, e_q  # E^0 = E
    s_p, s_q = [[1.0] * len(e_p)], [[1.0] * len(e_q)]  # s^0 = 1
    hat_p, hat_q, beta_p, beta_q = [], [], [], []
    for t in range(1, turns + 1):
        ce_p, ce_q = max_pooling(last_p), max_pooling(last_q)
        beta_p.append((max(s_q[t - 1]) + 1) / 2 if learned is None or t == 1 else learned[0][t - 2])
        beta_q.append((max(s_p[t - 1]) + 1) / 2 if learned is None or t == 1 else learned[1][t - 2])
        from_p, from_q = (last_p, last_q) if compared == "attended" else (e_p, e_q)
        s_p.append([cosine(e, ce_q) for e in from_p])
        s_q.append([cosine(e, ce_p) for e in from_q])
        hat_p.append(min_max(s_p[t]))
        hat_q.append(min_max(s_q[t]))
        last_p, last_q = scaled(hat_p[-1], from_p), scaled(hat_q[-1], from_q)
    return scaled(merged(hat_p, beta_p, strategy), e_p), scaled(merged(hat_q, beta_q, strategy), e_q)


def merged(hats, betas, strategy):
    tokens, turns = range(len(hats[0])), range(len(hats))
    if strategy == "forgetting":
        attention = list(hats[0])
        for t in turns[1:]:
            attention = [(attention[i] + betas[t] * hats[t][i]) / (1 + betas[t]) for i in tokens]
        return attention
    weights = {
        "average": [1.0 for _ in turns],
        "weighted": betas,
        "intuition": [math.prod(betas[: t + 1]) for t in turns],
    }[strategy]
    return [sum(weights[t] * hats[t][i] for t in turns) / sum(weights) for i in tokens]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("turns", [1, 2, 4])
@pytest.mark.parametrize("compared", ["original", "attended"])
@pytest.mark.parametrize("beta", ["confidence", "learned"])
def test_its_side_remarks_are_options(turns, strategy, compared, beta):
    passages, questions = draw([7, 2, 11]), draw([3, 5, 4], seed=1)
    module = interaction(turns, strategy, compared=compared, beta=beta).double()
    learned = None
    if module.betas is not None:
        torch.nn.init.normal_(module.betas, generator=torch.Generator().manual_seed(0))
        learned = (2 * torch.sigmoid(module.betas)).tolist()
    assert (module.betas is None) == (beta == "confidence" or turns == 1 or strategy == "average")
    attended = module(encoded(passages, questions))
    for row, (e_p, e_q) in enumerate(zip(passages, questions, strict=True)):
        expected = slow(e_p, e_q, turns, strategy, compared, learned)
        for stream, rows in zip((attended.passage, attended.question), expected, strict=True):
            torch.testing.assert_close(
                stream[row, : len(rows)], torch.tensor(rows, dtype=torch.float64), rtol=0, atol=1e-9
            )


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5])
def test_it_is_what_the_paper_says(turns, strategy):
    passages, questions = draw([7, 2, 11]), draw([3, 5, 4], seed=1)
    attended = interaction(turns, strategy)(encoded(passages, questions))
    for row, (e_p, e_q) in enumerate(zip(passages, questions, strict=True)):
        for stream, expected in zip(
            (attended.passage, attended.question), slow(e_p, e_q, turns, strategy), strict=True
        ):
            found = stream[row, : len(expected)]
            torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-9)


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
    given_ = encoded(passages, questions)
    attended = module(given_)
    assert attended.passage.shape == given_.passage.shape
    assert attended.question.shape == given_.question.shape
    assert attended.summary is None
    for row, (e_p, e_q) in enumerate(zip(passages, questions, strict=True)):
        alone = module(encoded([e_p], [e_q]))
        for side in ("passage", "question"):
            stream = getattr(alone, side)[0]
            assert stream.isfinite().all()
            torch.testing.assert_close(getattr(attended, side)[row, : len(stream)], stream, rtol=0, atol=1e-9)
    for name, values in attended.maps.items():
        assert ((values >= 0) & (values <= 1 + 1e-12)).all(), name


def test_where_all_scores_are_equal_every_token_counts():
    passages, questions = [[[1.0, 2.0]] * 3], [[[0.5, 0.1]]]
    given_ = encoded(passages, questions)
    given_.passage.requires_grad_()
    attended = interaction(3)(given_)
    assert torch.equal(attended.passage, given_.passage)
    assert torch.equal(attended.question, given_.question)
    attended.passage.sum().backward()
    assert given_.passage.grad.isfinite().all()


def test_a_token_of_zeros_gives_numbers():
    given_ = encoded([[[0.0, 0.0], [1.0, 2.0]]], [[[0.0, 0.0]]])
    given_.passage.requires_grad_()
    attended = interaction(2)(given_)
    attended.passage.sum().backward()
    assert attended.passage.isfinite().all()
    assert given_.passage.grad.isfinite().all()


def test_without_a_turn_it_is_the_encoding():
    given_ = encoded(draw([4]), draw([3]))
    attended = interaction(0)(given_)
    assert attended.passage is given_.passage
    assert attended.question is given_.question


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_its_gradient_is_that_of_what_it_computes(strategy):
    given_ = encoded(draw([4, 3]), draw([3, 2], seed=1), noise=0.3)
    module = interaction(2, strategy)

    def attend(passage, question):
        attended = module(
            Encoded(
                passage=passage,
                question=question,
                passage_mask=given_.passage_mask,
                question_mask=given_.question_mask,
            )
        )
        return attended.passage[given_.passage_mask], attended.question[given_.question_mask]

    assert torch.autograd.gradcheck(attend, (given_.passage.requires_grad_(), given_.question.requires_grad_()))


def test_maps_hold_the_scores_of_each_turn_only_when_asked_for():
    module, given_ = interaction(3), encoded(draw([4, 6]), draw([3, 2]))
    assert module(given_).maps == {}
    module.keep_maps = True
    maps = module(given_).maps
    assert maps["passage_scores"].shape == (2, 3, 6)
    assert maps["question_attention"].shape == (2, 3)
    assert (maps["passage_scores"].amax(-1) == 1).all()


def test_autocast_does_not_coarsen_it():
    given_ = encoded(draw([9, 5]), draw([3, 6]), dtype=torch.float32)
    exact = interaction(3)(given_).passage
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(interaction(3)(given_).passage, exact)
    coarse = Encoded(
        passage=given_.passage.bfloat16(),
        question=given_.question.bfloat16(),
        passage_mask=given_.passage_mask,
        question_mask=given_.question_mask,
    )
    assert interaction(3)(coarse).passage.dtype == torch.float32


def test_it_has_no_parameter():
    assert list(interaction(3).parameters()) == []
