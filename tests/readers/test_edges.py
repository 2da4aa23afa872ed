"""Scores, losses and gradients are numbers, however small, long or uniform the input is.

By default each interaction is tested with one head, each head without an interaction, and each head on the recurrent
encoder, as an edge fails in a part; the whole matrix is slow.
"""

from dataclasses import replace

import pytest
import tiny
import torch

from coattend import readers
from coattend.readers.layers.recurrent import Recurrence

LONG = 512


def questions(task, lengths):
    """Draw questions with passages and questions of the given lengths; for options there are two of each."""
    return [
        tiny.question(n, passage=passage, options=(question, question) if task == "options" else (question,))
        for n, (passage, question) in enumerate(lengths)
    ]


def with_options(drawn_questions, task):
    """Build a batch in which the question domain except its first token is the option."""
    batch = tiny.batch(drawn_questions, task=task)
    batch.option_mask = batch.question_mask.clone()
    batch.option_mask[:, 0] = False
    return batch


def one_passage_token(task):
    return with_options(questions(task, [(1, 4)]), task)


def one_question_token(task):
    return with_options(questions(task, [(9, 1)]), task)


def empty_question(task):
    """An option, or a question, of no tokens: its domain is the last SEP alone."""
    return with_options(questions(task, [(9, 0)]), task)


def empty_passage(task):
    """The passage's domain is CLS and SEP."""
    return with_options([replace(question, passage=[], span=None) for question in questions(task, [(1, 4)])], task)


def nearly_all_padding(task):
    return with_options(questions(task, [(1, 0), (40, 9)]), task)


def one_word_about_a_long_passage(task):
    return with_options(questions(task, [(LONG, 1)]), task)


def all_tokens_equal(task):
    batch = with_options(questions(task, [(9, 4), (9, 4)]), task)
    return replace(
        batch,
        input_ids=torch.full_like(batch.input_ids, tiny.FIRST_WORD),
        token_type_ids=torch.zeros_like(batch.token_type_ids),
        tag_ids=torch.full_like(batch.tag_ids, 5),
        candidate_ids=batch.candidate_ids.clamp_max(tiny.FIRST_WORD),
    )


EDGES = [
    one_passage_token,
    one_question_token,
    empty_question,
    empty_passage,
    nearly_all_padding,
    one_word_about_a_long_passage,
    all_tokens_equal,
]

BF16_BY_DEFAULT = [empty_passage, nearly_all_padding, all_tokens_equal]
SLOW_IN_BF16 = [edge for edge in EDGES if edge not in BF16_BY_DEFAULT]

FITTING = [capability for capability in readers.capabilities() if capability.reason is None]


def covering(capabilities):
    """Choose the first reader of each interaction, of each head without one, and of each head on words."""
    first = {}
    for capability in capabilities:
        if capability.encoder == "recurrent":
            first.setdefault(("words", capability.head), capability)
        elif capability.interaction == "none":
            first.setdefault(("head", capability.head), capability)
        else:
            first.setdefault(("interaction", capability.interaction), capability)
    return list(first.values())


BY_DEFAULT = covering(FITTING)


def param(capability):
    family = "words" if capability.encoder == "recurrent" else "bert"
    marks = () if capability in BY_DEFAULT else (pytest.mark.slow,)
    return pytest.param((family, capability), id=f"{family}-{capability.reader}-{capability.head}", marks=marks)


@pytest.fixture(params=[param(capability) for capability in FITTING], scope="module")
def reader(request):
    family, capability = request.param
    encoder = tiny.encoder(family)
    encoder = encoder if family == "words" else tiny.reaching(encoder, LONG + 88)
    torch.manual_seed(0)
    small = {"hidden": 6} if family == "words" else {}
    options = small | capability.options
    return readers.build(capability.reader, encoder=encoder, head=capability.head, dropout=0.0, **options)


@pytest.fixture(scope="module")
def task(reader):
    return readers.task_of(reader.config.head)


def learn(reader, batch):
    """Run a forward and a backward pass."""
    reader.zero_grad()
    output = reader(batch)
    output.loss.backward()
    return output


def assert_gradients_are_numbers(reader, edge):
    for name, parameter in reader.named_parameters():
        assert not parameter.requires_grad or parameter.grad.isfinite().all(), f"{name} ({edge})"


DEFAULT = [(edge, False) for edge in EDGES] + [(edge, True) for edge in BF16_BY_DEFAULT]


@pytest.mark.parametrize(
    "edges",
    [
        pytest.param(DEFAULT, id="default"),
        pytest.param([(edge, True) for edge in SLOW_IN_BF16], id="bf16-slow", marks=pytest.mark.slow),
    ],
)
def test_scores_losses_and_gradients_are_numbers(reader, task, edges):
    for edge, bf16 in edges:
        name = f"{edge.__name__}, {'bf16' if bf16 else 'float32'}"
        batch = edge(task)
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            output = learn(reader, batch)
        allowed = batch.answer_mask.clone()
        allowed[:, 0] = True  # "no answer"
        choices = batch.option_index >= 0 if task == "options" else batch.candidates > -2
        outputs = [(output.scores, choices), (output.start, allowed), (output.end, allowed)]
        assert all(scores is None or scores[mask].isfinite().all() for scores, mask in outputs), name
        assert output.loss.isfinite(), name
        assert_gradients_are_numbers(reader, name)


def test_tokens_that_are_alike_get_equal_scores(reader, task):
    """Without positions nothing is left to distinguish them."""
    if any(isinstance(module, Recurrence) for module in reader.modules()):
        pytest.skip("a recurrent layer knows where a token stands")
    positions = reader.encoder.model.embeddings.position_embeddings.weight
    before = positions.detach().clone()
    with torch.no_grad():
        positions.zero_()
    batch = all_tokens_equal(task)
    output = learn(reader, batch)
    with torch.no_grad():
        positions.copy_(before)
    outputs = [scores for scores in (output.scores, output.start, output.end) if scores is not None]
    if output.word_mass is not None:
        outputs = by_occurrence(output, batch)
    assert outputs
    for scores in outputs:
        values = scores[scores > -torch.inf]
        assert len(values) > 1
        assert values.std() < 1e-5
        assert (values != 0).any()
    assert_gradients_are_numbers(reader, "all_tokens_equal")


def by_occurrence(output, batch):
    """Divide the mass of each word of the passage, and of each candidate in it, by the number of its occurrences."""
    groups = batch.word_groups
    occurrences = torch.stack([(groups == word).sum(1) for word in range(groups.shape[1])], 1)
    in_passage = batch.candidates >= 0
    candidate_mass = output.scores / occurrences.gather(1, batch.candidates.clamp_min(0))
    assert output.scores[batch.candidates == -1].eq(0).all()
    return [(output.word_mass / occurrences)[occurrences > 0], candidate_mass[in_passage]]
