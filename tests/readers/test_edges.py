"""No reader gives a number that is none, however small, long or alike what it is given is."""

from dataclasses import replace

import pytest
import tiny
import torch

from coattend import readers
from coattend.readers.recurrence import Recurrence

LONG = 512


def questions(task, lengths):
    """Questions with passages and asked texts of the given lengths; with options there are two of each."""
    return [
        tiny.question(n, passage=passage, options=(asked, asked) if task == "options" else (asked,))
        for n, (passage, asked) in enumerate(lengths)
    ]


def together(of_questions, task):
    """One batch, in which all that is asked but its first token is the option."""
    batch = tiny.batch(of_questions, task=task)
    batch.option_mask = batch.question_mask.clone()
    batch.option_mask[:, 0] = False
    return batch


def one_passage_token(task):
    return together(questions(task, [(1, 4)]), task)


def one_question_token(task):
    return together(questions(task, [(9, 1)]), task)


def nothing_asked(task):
    """An option, or a question, of no tokens: its domain is the last SEP alone."""
    return together(questions(task, [(9, 0)]), task)


def no_passage(task):
    """The passage's domain is CLS and SEP."""
    return together([replace(one, passage=[], span=None) for one in questions(task, [(1, 4)])], task)


def nearly_all_padding(task):
    return together(questions(task, [(1, 0), (40, 9)]), task)


def one_word_about_a_long_passage(task):
    return together(questions(task, [(LONG, 1)]), task)


def all_tokens_equal(task):
    batch = together(questions(task, [(9, 4), (9, 4)]), task)
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
    nothing_asked,
    no_passage,
    nearly_all_padding,
    one_word_about_a_long_passage,
    all_tokens_equal,
]


BUILT = [
    ("words" if one.encoder == "recurrent" else "bert", one.reader, one.head, one.options)
    for one in readers.capabilities()
    if one.reason is None
]


@pytest.fixture(params=[pytest.param(one, id="-".join(one[:3])) for one in BUILT], scope="module")
def reader(request):
    family, name, head, options = request.param
    encoder = tiny.encoder(family)
    encoder = encoder if family == "words" else tiny.reaching(encoder, LONG + 88)
    torch.manual_seed(0)
    small = {"hidden": 6} if name.startswith("recurrent") else {}
    return readers.build(name, encoder=encoder, head=head, dropout=0.0, **small, **options)


@pytest.fixture(scope="module")
def task(reader):
    return readers.task_of(reader.config.head)


def learn(reader, batch):
    """Read and go back."""
    reader.zero_grad()
    output = reader(batch)
    output.loss.backward()
    return output


def assert_gradients_are_numbers(reader):
    for name, parameter in reader.named_parameters():
        assert not parameter.requires_grad or parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("bf16", [False, True], ids=["float32", "bf16"])
@pytest.mark.parametrize("edge", EDGES)
def test_scores_losses_and_gradients_are_numbers(reader, task, edge, bf16):
    batch = edge(task)
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        output = learn(reader, batch)
    allowed = batch.answer_mask.clone()
    allowed[:, 0] = True  # "no answer"
    of_task = batch.option_index >= 0 if task == "options" else batch.candidates > -2
    found = [(output.scores, of_task), (output.start, allowed), (output.end, allowed)]
    assert all(one is None or one[places].isfinite().all() for one, places in found)
    assert output.loss.isfinite()
    assert_gradients_are_numbers(reader)


def test_tokens_that_are_alike_get_equal_scores(reader, task):
    """Without positions nothing is left to tell them apart."""
    if any(isinstance(module, Recurrence) for module in reader.modules()):
        pytest.skip("a recurrent layer knows where a token stands")
    positions = reader.encoder.model.embeddings.position_embeddings.weight
    kept = positions.detach().clone()
    with torch.no_grad():
        positions.zero_()
    batch = all_tokens_equal(task)
    output = learn(reader, batch)
    with torch.no_grad():
        positions.copy_(kept)
    given = [found for found in (output.scores, output.start, output.end) if found is not None]
    if output.word_mass is not None:
        given = by_occurrence(output, batch)
    assert given
    for found in given:
        values = found[found > -torch.inf]
        assert len(values) > 1
        assert values.std() < 1e-5
        assert (values != 0).any()
    assert_gradients_are_numbers(reader)


def by_occurrence(output, batch):
    """The mass of each word of the passage, and that of each candidate in it, by how often it stands there."""
    groups = batch.word_groups
    often = torch.stack([(groups == word).sum(1) for word in range(groups.shape[1])], 1)
    held = batch.candidates >= 0
    of_candidates = output.scores / often.gather(1, batch.candidates.clamp_min(0))
    assert output.scores[batch.candidates == -1].eq(0).all()
    return [(output.word_mass / often)[often > 0], of_candidates[held]]
