"""The coattention encoders of DCN and DCN+ against oracles of their equations."""

import math

import oracle
import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend import readers
from coattend.readers.encoders.word_embeddings import Words
from coattend.readers.interactions.coattention import Coattention
from coattend.readers.interactions.deep_residual_coattention import DeepResidualCoattention
from coattend.readers.interfaces import EncoderShape

WIDTH = 5


def interaction(interaction_class, width=WIDTH):
    torch.manual_seed(0)
    return tiny.scatter(interaction_class(interaction_class.Config(), EncoderShape(width, 1)), deviation=0.5)


def with_sentinels(passage, question, module):
    """E^D and E^Q = tanh(W [question] + b), each with its sentinel at the end."""
    of_passage, of_question = module.sentinels.tolist()
    through = [[math.tanh(x) for x in oracle.affine(q, module.project)] for q in [*question, of_question]]
    return [*passage, of_passage], through


def attentions(d, q):
    """softmax(A^T), what each passage token sees of the question, and softmax(A), what each question token sees."""
    a = [[oracle.dot(x, y) for y in q] for x in d]
    return [oracle.softmax(scores) for scores in a], [oracle.softmax(scores) for scores in zip(*a, strict=True)]


def dcn(passage, question, module):
    d, q = with_sentinels(passage, question, module)
    of_document, of_question = attentions(d, q)
    c_q = [oracle.weighted(weights, d) for weights in of_question]
    pairs = [[*a, *b] for a, b in zip(q, c_q, strict=True)]
    c_d = [oracle.weighted(weights, pairs) for weights in of_document]
    parts = zip(passage, c_d[:-1], strict=True)
    return oracle.recurrence([[*a, *b] for a, b in parts], module.fuse)


def without_sentinels(passage, question, module):
    """Both attentions [P, Q] of the first layer, but for the sentinels' rows and columns."""
    of_document, of_question = attentions(*with_sentinels(passage, question, module))
    return [row[:-1] for row in of_document[:-1]], list(zip(*[row[:-1] for row in of_question[:-1]], strict=True))


def coattention_layer(d, q):
    """S^D, S^Q and C^D (DCN+, equations 3 to 5), those of sentinels among them."""
    of_document, of_question = attentions(d, q)
    s_d = [oracle.weighted(weights, q) for weights in of_document]
    s_q = [oracle.weighted(weights, d) for weights in of_question]
    return s_d, s_q, [oracle.weighted(weights, s_q) for weights in of_document]


def dcn_plus(passage, question, module):
    d, q = with_sentinels(passage, question, module)
    s_d, s_q, c_d = (rows[:-1] for rows in coattention_layer(d, q))
    e_d, e_q = oracle.recurrence(s_d, module.second), oracle.recurrence(s_q, module.second)
    second_s_d, _, second_c_d = coattention_layer(e_d, e_q)
    parts = zip(passage, e_d, s_d, second_s_d, c_d, second_c_d, strict=True)
    return oracle.recurrence([[x for part in of_token for x in part] for of_token in parts], module.fuse)


ENCODERS = [(Coattention, dcn), (DeepResidualCoattention, dcn_plus)]


def check(interaction_class, expected, encoded_batch, width=WIDTH):
    module = interaction(interaction_class, width)
    attended = module(encoded_batch)
    assert attended.question is attended.token_mass is None
    assert attended.passage.shape == (
        *encoded_batch.passage_mask.shape,
        interaction_class.Config().width(EncoderShape(width, 1)),
    )
    for row in range(len(encoded_batch.passage)):
        oracle.same(attended.passage[row], expected(*oracle.streams(encoded_batch, row), module))


@pytest.mark.parametrize("width", [WIDTH, 4])
@pytest.mark.parametrize(("interaction_class", "expected"), ENCODERS)
def test_it_is_what_the_paper_says(interaction_class, expected, width):
    check(interaction_class, expected, oracle.encoded((6, 1, 4), (3, 4, 1), width), width)


@pytest.mark.parametrize(("interaction_class", "_"), ENCODERS)
def test_its_maps_are_the_attentions_without_the_sentinels(interaction_class, _):
    module, encoded_batch = interaction(interaction_class), oracle.encoded((6, 1, 4), (3, 4, 1), WIDTH)
    module.keep_maps = True
    maps = module(encoded_batch).maps
    for row in range(len(encoded_batch.passage)):
        passage, question = oracle.streams(encoded_batch, row)
        for name, expected in zip(maps, without_sentinels(passage, question, module), strict=True):
            actual = maps[name][row, 0] if interaction_class is DeepResidualCoattention else maps[name][row]
            oracle.same(actual[:, : len(question)], [list(row) for row in expected])


@settings(max_examples=8, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=3),
    case=st.sampled_from(ENCODERS),
)
def test_whatever_the_lengths(lengths, case):
    check(*case, oracle.encoded(*zip(*lengths, strict=True), width=WIDTH))


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("interaction_class", "_"), ENCODERS)
def test_both_sentinels_are_looked_at(interaction_class, _, side):
    module, encoded_batch = interaction(interaction_class), oracle.encoded(width=WIDTH)
    before = module(encoded_batch).passage
    with torch.no_grad():
        module.sentinels[side] += 1
    assert (module(encoded_batch).passage - before)[encoded_batch.passage_mask].abs().max() > 1e-3


def count(module):
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


def test_dcn_has_as_many_parameters_as_published():
    """Embeddings excluded; they are fixed and no parameters at all."""
    words = tuple(f"word{number}" for number in range(50))
    reader = readers.build("dcn", encoder=Words(words=words, width=300))
    assert count(reader) == sum(parameter.numel() for parameter in reader.parameters()) == 8_072_632
    assert count(reader.head.start) == count(reader.head.end) == 2_772_816
    assert reader.encoder.vectors.weight.shape == (53, 300)


def test_the_widths_of_dcn_plus_are_those_of_its_encoder():
    """Words of 300, n-grams of 100 and a context of 16 are read by two directions of 200."""
    words = Words(words=("word",), encoder=tiny.encoder(), width=300)
    reader = readers.build("dcn_plus", encoder=words)
    lstm = sum(4 * 200 * (416 + 200 + 2) for _ in range(2))
    second, fuse = (2 * 4 * 200 * (width + 200 + 2) for width in (400, 6 * 400))
    project, sentinels = 400 * 401, 2 * 400
    assert count(reader.encoder.layers) == lstm
    assert count(reader.interaction) == second + fuse + project + sentinels
    assert reader.interaction.fuse.width == 400
