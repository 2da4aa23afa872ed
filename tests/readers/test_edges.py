"""No reader gives a number that is none, however small, long or alike what it is given is."""

from dataclasses import replace

import pytest
import tiny
import torch

from coattend import readers

LONG = 512


def questions(head, lengths):
    """Questions with passages and asked texts of the given lengths; with options there are two of each."""
    return [
        tiny.question(n, passage=passage, options=(asked,) if head == "span" else (asked, asked))
        for n, (passage, asked) in enumerate(lengths)
    ]


def together(of_questions):
    """One batch, in which all that is asked but its first token is the option."""
    batch = tiny.batch(of_questions)
    batch.option_mask = batch.question_mask.clone()
    batch.option_mask[:, 0] = False
    return batch


def one_passage_token(head):
    return together(questions(head, [(1, 4)]))


def one_question_token(head):
    return together(questions(head, [(9, 1)]))


def nothing_asked(head):
    """An option, or a question, of no tokens: its domain is the last SEP alone."""
    return together(questions(head, [(9, 0)]))


def no_passage(head):
    """The passage's domain is CLS and SEP."""
    return together([replace(one, passage=[], span=None) for one in questions(head, [(1, 4)])])


def nearly_all_padding(head):
    return together(questions(head, [(1, 0), (40, 9)]))


def one_word_about_a_long_passage(head):
    return together(questions(head, [(LONG, 1)]))


def all_tokens_equal(head):
    batch = together(questions(head, [(9, 4), (9, 4)]))
    return replace(
        batch,
        input_ids=torch.full_like(batch.input_ids, tiny.FIRST_WORD),
        token_type_ids=torch.zeros_like(batch.token_type_ids),
        tag_ids=torch.full_like(batch.tag_ids, 5),
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


@pytest.fixture(
    params=[pytest.param((one.reader, one.head), id=f"{one.reader}-{one.head}") for one in readers.capabilities()],
    scope="module",
)
def reader(request):
    name, head = request.param
    encoder = tiny.encoder()
    encoder.max_position_embeddings = LONG + 88
    torch.manual_seed(0)
    return readers.build(name, encoder=encoder, head=head, dropout=0.0)


def learn(reader, batch):
    """Read and go back."""
    reader.zero_grad()
    output = reader(batch)
    output.loss.backward()
    return output


def assert_gradients_are_numbers(reader):
    for name, parameter in reader.named_parameters():
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("bf16", [False, True], ids=["float32", "bf16"])
@pytest.mark.parametrize("edge", EDGES)
def test_scores_losses_and_gradients_are_numbers(reader, edge, bf16):
    batch = edge(reader.config.head)
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        output = learn(reader, batch)
    allowed = batch.answer_mask.clone()
    allowed[:, 0] = True  # "no answer"
    found = [(output.scores, batch.option_index >= 0), (output.start, allowed), (output.end, allowed)]
    assert all(one is None or one[places].isfinite().all() for one, places in found)
    assert output.loss.isfinite()
    assert_gradients_are_numbers(reader)


def test_tokens_that_are_alike_get_equal_scores(reader):
    """Without positions nothing is left to tell them apart."""
    positions = reader.encoder.model.embeddings.position_embeddings.weight
    kept = positions.detach().clone()
    with torch.no_grad():
        positions.zero_()
    output = learn(reader, all_tokens_equal(reader.config.head))
    with torch.no_grad():
        positions.copy_(kept)
    for found in (output.scores, output.start, output.end):
        assert found is None or found[found > -torch.inf].std() < 1e-5
    assert_gradients_are_numbers(reader)
