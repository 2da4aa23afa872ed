"""Heads that choose a word: sums over its occurrences, and output embeddings."""

import math

import oracle
import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coattend.readers.batch import Batch
from coattend.readers.heads.vocabulary import VocabularyHead
from coattend.readers.heads.word import WordHead
from coattend.readers.interfaces import Attended, EncoderShape

WIDTH, VOCABULARY = 4, 9
ABSENT, NONE = -1, -2
MASS, STREAM = frozenset({"token_mass"}), frozenset({"passage"})


def padded(rows, filler, dtype=torch.long):
    length = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (length - len(row))] for row in rows], dtype=dtype)


def batch_of(groups, candidates, labels, ids=None):
    """A batch that says which word each token is, and what there is to choose from."""
    mask = padded([[True] * len(row) for row in groups], False, torch.bool)
    nothing = torch.zeros(len(groups), 1, dtype=torch.long)
    return Batch(
        input_ids=nothing,
        attention_mask=nothing.bool(),
        token_type_ids=nothing,
        tag_ids=nothing,
        passage_mask=mask,
        question_index=nothing,
        question_mask=nothing.bool(),
        word_groups=padded(groups, -1),
        candidates=padded(candidates, NONE),
        candidate_ids=ids,
        label=None if labels is None else torch.tensor(labels),
    )


def answer(batch, *, mass=None, passage=None, **options):
    """The output of a head for a probability of each token, or for tokens that it scores itself."""
    head = WordHead(WordHead.Config(**options), EncoderShape(WIDTH, 1), MASS if passage is None else STREAM)
    masks = {"passage_mask": batch.passage_mask, "question_mask": batch.question_mask}
    return head, tiny.scatter(head)(Attended(passage=passage, question=None, token_mass=mass, **masks), batch)


def masses_oracle(groups, mass):
    """P(w | D, Q), word by word."""
    words = {}
    for word, share in zip(groups, mass, strict=True):
        if word >= 0:
            words[word] = words.get(word, 0.0) + share
    return words


def loss_oracle(rows, candidates, labels, normalise):
    """The mean over those questions whose answer stands in the passage."""
    losses = []
    for words, of_row, label in zip(rows, candidates, labels, strict=True):
        if of_row[label] != ABSENT:
            total = sum(words[word] for word in set(of_row) - {ABSENT}) if normalise == "candidates" else 1.0
            losses.append(-math.log(words[of_row[label]] / total))
    return sum(losses) / len(losses) if losses else 0.0


@st.composite
def questions(draw):
    """The words of passages, with tokens that are of none, candidates with some that are absent or twice, labels."""
    groups, candidates, labels = [], [], []
    for _ in range(draw(st.integers(1, 3))):
        of_row = draw(st.lists(st.integers(-1, 4), min_size=1, max_size=8).filter(lambda row: max(row) >= 0))
        numbers = {word: n for n, word in enumerate(dict.fromkeys(word for word in of_row if word >= 0))}
        groups.append([numbers.get(word, -1) for word in of_row])
        candidates.append(draw(st.lists(st.integers(ABSENT, len(numbers) - 1), min_size=1, max_size=5)))
        labels.append(draw(st.integers(0, len(candidates[-1]) - 1)))
    return groups, candidates, labels


@settings(max_examples=60, deadline=None)
@given(
    case=questions(),
    normalise=st.sampled_from(["document", "candidates"]),
    choose=st.sampled_from(["document", "candidates"]),
    scored=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_word_has_the_mass_of_all_its_tokens(case, normalise, choose, scored, seed):
    groups, candidates, labels = case
    batch, generator = batch_of(*case), torch.Generator().manual_seed(seed)
    passage = torch.randn(*batch.word_groups.shape, WIDTH, generator=generator, dtype=torch.float64)
    masses = passage[..., 0].masked_fill(~batch.passage_mask, -math.inf).softmax(-1)
    head, output = answer(
        batch, mass=None if scored else masses, passage=passage if scored else None, choose=choose, normalise=normalise
    )
    rows = []
    for row, of_row in enumerate(groups):
        mass = masses[row, : len(of_row)].tolist()
        if scored:
            scores = [oracle.affine(token, head.scorer)[0] for token in passage[row, : len(of_row)].tolist()]
            real = [index for index, word in enumerate(of_row) if word >= 0]
            shares = dict(zip(real, oracle.softmax([scores[index] for index in real]), strict=True))
            mass = [shares.get(index, 0.0) for index in range(len(of_row))]
        rows.append(masses_oracle(of_row, mass))
        expected = [rows[-1].get(word, 0.0) for word in range(batch.word_groups.shape[1])]
        oracle.same(output.word_mass[row], expected)
        if choose == "candidates":
            scores = [rows[-1].get(word, 0.0) for word in candidates[row]]
            oracle.same(output.scores[row], scores)
            assert (output.scores[row, len(scores) :] == -math.inf).all()
    assert (output.scores is None) == (choose == "document")
    assert output.loss.item() == pytest.approx(loss_oracle(rows, candidates, labels, normalise), abs=1e-9)


MASSES = torch.tensor([[0.1, 0.2, 0.05, 0.25, 0.3, 0.1]], dtype=torch.float64)
GROUPS = [[-1, 0, 1, 0, 2, 2]]
"""One special token, a word that occurs twice, one of one token, and one of two tokens."""


def test_by_hand():
    _, output = answer(batch_of(GROUPS, [[0, 2, 1, ABSENT]], [1]), mass=MASSES)
    assert output.word_mass[0].tolist() == pytest.approx([0.45, 0.05, 0.4, 0, 0, 0])
    assert output.scores[0].tolist() == pytest.approx([0.45, 0.4, 0.05, 0])
    assert output.loss.item() == pytest.approx(-math.log(0.4))


@pytest.mark.parametrize(
    ("candidates", "total"), [([0, 2], 0.85), ([2, 1, ABSENT], 0.45), ([2, 0, 0, 2, 0], 0.85), ([2], 0.4)]
)
def test_candidates_can_share_all_the_mass_in_the_loss(candidates, total):
    """One that is listed twice counts once, one that is absent not at all."""
    batch = batch_of(GROUPS, [candidates], [candidates.index(2)])
    _, output = answer(batch, mass=MASSES, normalise="candidates")
    assert output.loss.item() == pytest.approx(-math.log(0.4 / total))
    assert output.scores[0, candidates.index(2)].item() == pytest.approx(0.4)


def test_a_question_whose_answer_is_absent_has_no_part_in_the_loss():
    groups, masses = GROUPS * 3, MASSES.repeat(3, 1).requires_grad_()
    _, output = answer(batch_of(groups, [[0, 1], [0, ABSENT], [0, 2]], [0, 1, 1]), mass=masses)
    assert output.loss.item() == pytest.approx(-(math.log(0.45) + math.log(0.4)) / 2)
    output.loss.backward()
    assert masses.grad[1].abs().max() == 0
    assert masses.grad[0].abs().max() > 0


@pytest.mark.parametrize("normalise", ["document", "candidates"])
def test_where_no_answer_stands_in_its_passage_there_is_nothing_to_learn(normalise):
    masses = MASSES.clone().requires_grad_()
    _, output = answer(batch_of(GROUPS, [[0, ABSENT]], [1]), mass=masses, normalise=normalise)
    output.loss.backward()
    assert output.loss == 0
    assert masses.grad.abs().max() == 0


def test_an_answer_without_any_mass_gives_numbers():
    masses = torch.tensor([[0.0, 0.0, 1.0]]).requires_grad_()
    for normalise in ("document", "candidates"):
        _, output = answer(batch_of([[0, 1, -1]], [[0, 1]], [0]), mass=masses, normalise=normalise)
        output.loss.backward()
        assert output.loss.isfinite()
        assert masses.grad.isfinite().all()


def test_a_passage_without_words_gives_numbers():
    passage = torch.randn(1, 2, WIDTH, dtype=torch.float64, requires_grad=True)
    _, output = answer(batch_of([[-1, -1]], [[ABSENT]], [0]), passage=passage)
    output.loss.backward()
    assert output.word_mass.tolist() == [[0, 0]]
    assert passage.grad.isfinite().all()


def test_without_labels_there_is_no_loss():
    assert answer(batch_of(GROUPS, [[0]], None), mass=MASSES)[1].loss is None


def test_the_scorer_is_there_only_where_there_is_no_token_mass():
    assert not list(answer(batch_of(GROUPS, [[0]], [0]), mass=MASSES)[0].parameters())
    head, _ = answer(batch_of(GROUPS, [[0]], [0]), passage=torch.zeros(1, 6, WIDTH, dtype=torch.float64))
    assert [tuple(parameter.shape) for parameter in head.parameters()] == [(1, WIDTH)]


def choose_by_name(ids, candidates, labels, *, train=False, **options):
    """The output of the vocabulary head for candidates of some tokens each."""
    longest = max(len(name) for row in ids for name in row)
    option_count = max(map(len, ids))
    padded_ids = [[*row, *[[]] * (option_count - len(row))] for row in ids]
    tensor = torch.tensor([[[*name, *[-1] * (longest - len(name))] for name in row] for row in padded_ids])
    batch = batch_of([[0]] * len(ids), candidates, labels, tensor)
    shape = EncoderShape(WIDTH, 1, vocabulary=VOCABULARY)
    torch.manual_seed(0)
    head = tiny.scatter(VocabularyHead(VocabularyHead.Config(**options), shape, {"summary"})).train(train)
    summary = torch.randn(len(ids), WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    masks = {"passage_mask": batch.passage_mask, "question_mask": batch.question_mask}
    return head, summary, head(Attended(passage=None, question=None, summary=summary, **masks), batch)


names = st.lists(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=3), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(ids=st.lists(names, min_size=1, max_size=3), seed=st.integers(0, 99))
def test_a_name_of_several_tokens_is_the_mean_of_their_embeddings(ids, seed):
    labels = [seed % len(row) for row in ids]
    candidates = [[(seed + n) % 3 - 1 for n in range(len(row))] for row in ids]  # Absent ones are scored as well.
    head, summary, output = choose_by_name(ids, candidates, labels)
    table, losses = head.answers.weight.tolist(), []
    for row, (of_row, label) in enumerate(zip(ids, labels, strict=True)):
        embeddings = [
            [sum(column) / len(name) for column in zip(*(table[t] for t in name), strict=True)] for name in of_row
        ]
        scores = [oracle.dot(embedding, summary[row].tolist()) for embedding in embeddings]
        oracle.same(output.scores[row], scores)
        assert (output.scores[row, len(of_row) :] == -math.inf).all()
        losses.append(-math.log(oracle.softmax(scores)[label]))
    assert output.loss.item() == pytest.approx(sum(losses) / len(losses), abs=1e-9)


def test_the_summary_is_dropped_in_training_only():
    question = [[[1], [2, 3]]], [[0, ABSENT]], [0]
    for train in (False, True):
        *_, plain = choose_by_name(*question, train=train)
        *_, dropped = choose_by_name(*question, train=train, summary_dropout=0.9)
        assert torch.equal(plain.scores, dropped.scores) != train


def test_without_labels_names_have_no_loss():
    assert choose_by_name([[[1]]], [[0]], None)[2].loss is None
