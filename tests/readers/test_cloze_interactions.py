"""The interactions of the cloze readers against oracles of their equations."""

import math
from dataclasses import replace

import oracle
import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend.readers.interactions.attention_over_attention import AttentionOverAttention
from coattend.readers.interactions.attention_sum import AttentionSum
from coattend.readers.interactions.attentive import Attentive
from coattend.readers.interactions.bilinear import Bilinear
from coattend.readers.interactions.consensus_attention import ConsensusAttention
from coattend.readers.interactions.gated import Gated
from coattend.readers.interfaces import EncoderShape

PASSAGES, QUESTIONS = (6, 1, 4), (3, 4, 1)


def encoded(passages=PASSAGES, questions=QUESTIONS, width=oracle.WIDTH):
    """Three sequences, one with a passage and one with a question of one token, and a state of each question."""
    generator = torch.Generator().manual_seed(2)
    state = torch.randn(len(passages), width, generator=generator, dtype=torch.float64)
    return replace(oracle.encoded(passages, questions, width), question_state=state)


def interaction(interaction_class, width=oracle.WIDTH, word_width=None, **options):
    torch.manual_seed(0)
    shape = EncoderShape(width, 2, word_width=word_width)
    return tiny.scatter(interaction_class(interaction_class.Config(**options), shape).eval(), deviation=0.5)


def rows(encoded_batch):
    """Number, passage, question and the question's state of each sequence."""
    return [
        (row, *oracle.streams(encoded_batch, row), encoded_batch.question_state[row].tolist())
        for row in range(len(encoded_batch.passage))
    ]


def times(vector, factor):
    return [factor * x for x in vector]


def weighed(tokens, mass):
    """Each token times its probability and the number of tokens."""
    return [times(token, share * len(tokens)) for token, share in zip(tokens, mass, strict=True)]


def same_mass(attended, row, expected):
    """The token mass is what is expected, a distribution, and zero at padding."""
    mass = attended.token_mass[row]
    oracle.same(mass, expected)
    assert mass[len(expected) :].eq(0).all()
    assert mass.sum().item() == pytest.approx(1, abs=1e-12)


def individual_attentions(passage, question):
    """alpha(t) for each question token: a softmax over the passage."""
    return [oracle.softmax([oracle.dot(d, q) for d in passage]) for q in question]


def check_attention_over_attention(encoded_batch, *, scaled=False, modelling=0):
    module = interaction(AttentionOverAttention, scaled=scaled, modelling=modelling)
    module.keep_maps = True
    attended = module(encoded_batch)
    config = AttentionOverAttention.Config(scaled=scaled, modelling=modelling)
    assert attended.passage.shape[-1] == config.width(EncoderShape(oracle.WIDTH, 2))
    scale = 1 / math.sqrt(oracle.WIDTH) if scaled else 1.0
    for row, passage, question, _ in rows(encoded_batch):
        m = [[scale * oracle.dot(d, q) for q in question] for d in passage]
        alpha = [oracle.softmax(of_token) for of_token in zip(*m, strict=True)]
        betas = [oracle.softmax(scores) for scores in m]
        beta = [sum(column) / len(passage) for column in zip(*betas, strict=True)]
        s = oracle.weighted(beta, alpha)
        oracle.same(attended.maps["question_worth"][row], beta)
        oracle.same(attended.maps["matching"][row, : len(passage), : len(question)], m)
        sees_question = [oracle.weighted(of_token, question) for of_token in betas]
        sees_passage = [oracle.weighted(of_token, passage) for of_token in alpha]
        parts = [[*a, *b, *c] for a, b, c in zip(passage, sees_question, weighed(passage, s), strict=True)]
        if modelling:
            products = [[x * y for x, y in zip(a, b, strict=True)] for a, b in zip(passage, sees_question, strict=True)]
            read = oracle.recurrence([[*a, *b] for a, b in zip(parts, products, strict=True)], module.model)
            oracle.same(attended.passage[row], read)
            assert attended.question is attended.token_mass is None
            continue
        same_mass(attended, row, s)
        oracle.same(attended.passage[row], parts)
        parts = zip(question, sees_passage, weighed(question, beta), strict=True)
        oracle.same(attended.question[row], [[*a, *b, *c] for a, b, c in parts])


@pytest.mark.parametrize("modelling", [0, 3])
@pytest.mark.parametrize("scaled", [False, True])
def test_attention_over_attention(scaled, modelling):
    check_attention_over_attention(encoded(), scaled=scaled, modelling=modelling)


@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), min_size=1, max_size=3))
def test_attention_over_attention_of_any_lengths(lengths):
    check_attention_over_attention(encoded(*zip(*lengths, strict=True)))


def test_the_mean_of_the_weighed_tokens_is_what_attention_over_attention_expects():
    encoded_batch = encoded()
    attended = interaction(AttentionOverAttention)(encoded_batch)
    for row, passage, _, _ in rows(encoded_batch):
        expected = oracle.weighted(attended.token_mass[row, : len(passage)].tolist(), passage)
        oracle.same(attended.passage[row, : len(passage), 2 * oracle.WIDTH :].mean(0), expected)


def test_attention_sum():
    encoded_batch = encoded()
    module = interaction(AttentionSum)
    module.keep_maps = True
    attended = module(encoded_batch)
    assert attended.question is None
    for row, passage, _, state in rows(encoded_batch):
        s = oracle.softmax([oracle.dot(token, state) for token in passage])
        same_mass(attended, row, s)
        oracle.same(attended.maps["attention"][row], s)
        oracle.same(attended.passage[row], weighed(passage, s))


@pytest.mark.parametrize(
    ("merge", "agree"), [("max", max), ("sum", sum), ("average", lambda values: sum(values) / len(values))]
)
def test_consensus_attention(merge, agree):
    encoded_batch = encoded()
    module = interaction(ConsensusAttention, merge=merge)
    module.keep_maps = True
    attended = module(encoded_batch)
    assert attended.question is None
    for row, passage, question, _ in rows(encoded_batch):
        alpha = [list(column) for column in zip(*individual_attentions(passage, question), strict=True)]
        s = oracle.softmax([agree(of_token) for of_token in alpha])
        same_mass(attended, row, s)
        oracle.same(attended.maps["attention"][row, :, : len(question)], alpha)
        oracle.same(attended.passage[row], weighed(passage, s))


@pytest.mark.parametrize("compares", [False, True])
def test_attentive(compares):
    encoded_batch = encoded()
    module = interaction(Attentive, compares=compares)
    module.keep_maps = True
    attended = module(encoded_batch)
    assert attended.passage is attended.question is attended.token_mass is None
    (w_ms,) = module.score.weight.tolist()
    for row, passage, _, u in rows(encoded_batch):
        of_u = oracle.affine(u, module.of_question)
        m = [[math.tanh(x) for x in oracle.added(oracle.affine(y, module.of_token), of_u)] for y in passage]
        s = oracle.softmax([oracle.dot(w_ms, vector) for vector in m])
        oracle.same(attended.maps["attention"][row], s)
        r = oracle.weighted(s, passage)
        g = oracle.added(oracle.affine(r, module.of_read), oracle.affine(u, module.of_asked))
        oracle.same(attended.summary[row], [math.tanh(x) for x in g])


def test_bilinear():
    encoded_batch = encoded()
    module = interaction(Bilinear)
    module.keep_maps = True
    attended = module(encoded_batch)
    assert attended.passage is attended.question is None
    w_s = module.match.weight.T.tolist()
    for row, passage, _, q in rows(encoded_batch):
        asking = oracle.weighted(q, w_s)  # q^T W_s
        alpha = oracle.softmax([oracle.dot(asking, p) for p in passage])
        same_mass(attended, row, alpha)
        oracle.same(attended.maps["attention"][row], alpha)
        oracle.same(attended.summary[row], oracle.weighted(alpha, passage))


def test_the_printed_maps_have_no_bias():
    assert [tuple(parameter.shape) for parameter in interaction(Bilinear).parameters()] == [
        (oracle.WIDTH, oracle.WIDTH)
    ]
    assert all(name.endswith("weight") for name, _ in interaction(Attentive, compares=False).named_parameters())


def test_attentive_begins_by_looking_at_what_is_like_the_question():
    encoded_batch = encoded()
    module = Attentive(Attentive.Config(), EncoderShape(oracle.WIDTH, 2)).double()
    module.keep_maps = True
    for row, passage, _, u in rows(encoded_batch):
        encoded_batch.passage[row, len(passage) - 1] = torch.tensor(u)
    looked = module(encoded_batch).maps["attention"]
    for row, passage, _, _ in rows(encoded_batch):
        assert looked[row].argmax() == len(passage) - 1


def looks(passage, question):
    """softmax(Q^T d_i), token by token."""
    return [oracle.softmax([oracle.dot(q, d) for q in question]) for d in passage]


def gated(passage, question):
    """GA(d_i, Q) = d_i * Q softmax(Q^T d_i), token by token."""
    question_vectors = [oracle.weighted(look, question) for look in looks(passage, question)]
    return [[x * y for x, y in zip(d, q, strict=True)] for d, q in zip(passage, question_vectors, strict=True)]


def gated_by_query(passage, state):
    """x_i = q * d_i, with one q for all tokens."""
    return [[x * y for x, y in zip(d, state, strict=True)] for d in passage]


def last_of(states):
    """The state of the first direction after the last token, and of the second after the first."""
    half = len(states[0]) // 2
    return [*states[-1][:half], *states[0][half:]]


BLANKS = {"given": ({1}, {2, 3}, {0}), "some": ({2}, set(), set()), "none": None}


@pytest.mark.parametrize("gate", ["token", "query"])
@pytest.mark.parametrize(
    ("hops", "width", "word_width", "blanks"),
    [
        (1, oracle.WIDTH, 5, "given"),
        (2, 7, 5, "none"),
        (2, 7, None, "some"),
        (3, oracle.WIDTH, 11, "given"),
        (3, oracle.WIDTH, 11, "some"),
    ],
)
def test_gated(hops, width, word_width, blanks, gate):
    """Each hop reads the question's words anew, or what the encoder made of them if it hands over no others."""
    encoded_batch = encoded(width=width)
    if word_width:
        encoded_batch = replace(encoded_batch, question_words=oracle.encoded(PASSAGES, QUESTIONS, word_width).question)
    if BLANKS[blanks] is not None:
        marks = [[token in of_row for token in range(max(QUESTIONS))] for of_row in BLANKS[blanks]]
        encoded_batch = replace(encoded_batch, blank_mask=torch.tensor(marks))
    module = interaction(Gated, width=width, word_width=word_width, hops=hops, gate=gate)
    module.keep_maps = True
    attended = module(encoded_batch)
    assert attended.question is None
    assert attended.passage.shape[-1] == Gated.Config(hops=hops).width(EncoderShape(width, 1))
    assert attended.maps.keys() == ({"attention"} if gate == "token" else set())
    for row, first, question_states, first_state in rows(encoded_batch):
        passage, question, state = first, question_states, first_state
        words = encoded_batch.question_words[row, : len(question_states)].tolist() if word_width else question_states
        seen = [looks(passage, question)]
        for of_passage, of_question in zip(module.passage_layers, module.question_layers, strict=True):
            read = gated(passage, question) if gate == "token" else gated_by_query(passage, state)
            passage = oracle.recurrence(read, of_passage)
            question = oracle.recurrence(words, of_question)
            state = last_of(question)
            seen.append(looks(passage, question))
        blank_tokens = BLANKS[blanks][row] if BLANKS[blanks] else ()
        blank = min(blank_tokens) if blank_tokens else (len(question) - 1) // 2
        same_mass(attended, row, oracle.softmax([oracle.dot(question[blank], d) for d in passage]))
        read = gated(passage, question) if gate == "token" else gated_by_query(passage, state)
        oracle.same(attended.passage[row], read)
        for hop in range(hops if gate == "token" else 0):
            oracle.same(attended.maps["attention"][row, hop, :, : len(question_states)], seen[hop])


@pytest.mark.parametrize("gate", ["token", "query"])
def test_the_gradient_of_gated_attention_is_that_of_what_it_computes(gate):
    encoded_batch = encoded((3, 1, 2), (2, 3, 1))
    module = interaction(Gated, hops=2, gate=gate)

    def attended(passage, question, state):
        output = module(replace(encoded_batch, passage=passage, question=question, question_state=state))
        return output.token_mass, output.passage[encoded_batch.passage_mask]

    fields = (encoded_batch.passage, encoded_batch.question, encoded_batch.question_state)
    assert torch.autograd.gradcheck(attended, [field.requires_grad_() for field in fields], fast_mode=True)


def test_one_vector_of_the_question_gates_every_token():
    """Tokens that see different parts of the question are gated apart, and by its one vector alike."""
    encoded_batch = encoded()
    for gate, alike in (("token", False), ("query", True)):
        attended = interaction(Gated, hops=1, gate=gate)(encoded_batch)
        ratios = attended.passage[0] / encoded_batch.passage[0]
        assert torch.allclose(ratios, ratios[:1].expand_as(ratios), rtol=0, atol=1e-9) == alike


def test_the_question_gates_as_a_vector_or_token_by_token():
    with pytest.raises(ValueError, match="'token' or 'query'"):
        Gated.Config(gate="state")


def test_each_hop_has_a_pair_of_layers_of_its_own():
    module = interaction(Gated, hops=3)
    assert len(module.passage_layers) == len(module.question_layers) == 2
    assert not list(interaction(Gated, hops=1).parameters())


def test_what_hops_read_is_dropped_in_training_only():
    module, encoded_batch = interaction(Gated, hops=2, hop_dropout=0.5), encoded()
    assert torch.equal(module(encoded_batch).token_mass, module(encoded_batch).token_mass)
    module.train()
    assert not torch.equal(module(encoded_batch).token_mass, module(encoded_batch).token_mass)


@pytest.mark.parametrize("interaction_class", [AttentionOverAttention, AttentionSum, ConsensusAttention])
def test_these_have_no_parameter(interaction_class):
    assert list(interaction(interaction_class).parameters()) == []
