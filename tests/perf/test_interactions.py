"""Every interaction is timed, and the memory that it saves for the backward pass grows no faster than its tokens."""

import pytest
import torch
from perf.interactions import ENCODERS, interactions_on, measure, random_batch, turns

from coattend.readers.interfaces import Attended, Encoded, EncoderShape

PASSAGE, QUESTION = 200, 40


@pytest.fixture(scope="module")
def costs():
    return measure(1, sequences=1, passage=20, question=6)["costs"]


def test_every_interaction_has_its_cost(costs):
    on_transformer, on_recurrent = costs["transformer"], costs["recurrent"]
    assert {"encoder", "poi_net", "duma", "recam_duma", "bidaf", "0 turns", "4 turns"} <= on_transformer.keys()
    assert "plain" not in on_transformer, "it has no interaction"
    assert all("percent_added" in on_transformer[f"{count} turns"] for count in range(1, 5))
    cloze = {"aoa_reader", "as_reader", "cas_reader", "ga_reader", "attentive_reader", "stanford_reader"}
    assert cloze | {"encoder", "dcn", "dcn_plus", "aoa_span", "dual_multi_head", "bidaf"} <= on_recurrent.keys()
    assert (on_transformer["encoder"]["layers"], on_recurrent["encoder"]["layers"]) == (6, 1)


def saved_bytes(interaction, encoded):
    """Bytes saved for the backward pass beyond weights and the encoder's vectors; shared storage counts once."""
    sizes = {}

    def note(tensor):
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    inputs = [encoded.passage, encoded.question, encoded.question_state, encoded.question_words]
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        # Held until the sum is taken: the address of a freed tensor would be used again.
        output = interaction(encoded)
    for tensor in (*interaction.parameters(), *(tensor for tensor in inputs if tensor is not None)):
        sizes.pop(tensor.untyped_storage().data_ptr(), None)
    total = sum(sizes.values())
    del output
    return total


def random_vectors(passage, question, width, word_width=None):
    indices = torch.arange(question).unsqueeze(0)
    return Encoded(
        passage=torch.randn(1, passage, width, requires_grad=True),
        question=torch.randn(1, question, width, requires_grad=True),
        passage_mask=torch.ones(1, passage, dtype=torch.bool),
        question_mask=torch.ones(1, question, dtype=torch.bool),
        option_mask=indices >= question // 2,
        question_state=torch.randn(1, width, requires_grad=True),
        question_words=torch.randn(1, question, word_width) if word_width else None,
    )


def growth(interaction, shape):
    """Saved bytes with the passage, the question, and both twice as long, as multiples of those without."""
    sizes = [(PASSAGE, QUESTION), (2 * PASSAGE, QUESTION), (PASSAGE, 2 * QUESTION), (2 * PASSAGE, 2 * QUESTION)]
    least, *larger = (saved_bytes(interaction, random_vectors(*size, *shape)) for size in sizes)
    return [size / max(1, least) for size in larger]


@pytest.mark.parametrize("encoder", ENCODERS)
def test_saved_memory_grows_no_faster_than_tokens(encoder):
    """P x Q numbers are twice as many where the passage or the question is twice as long, four times where both are."""
    build, _ = ENCODERS[encoder]
    shape = build(random_batch(1, 20, 6)).shape
    for name, interaction in (interactions_on(encoder, shape) | turns(shape)).items():
        passage, question, growth_of_both = growth(interaction, (shape.hidden_size, shape.word_width))
        assert passage <= 2.0005 and question <= 2.0005 and growth_of_both <= 4.0005, name


class Squared(torch.nn.Module):
    """Saves every token's likeness to every token of the passage: P x P numbers."""

    def forward(self, encoded):
        likeness = (encoded.passage @ encoded.passage.transpose(1, 2)).exp()
        return Attended(
            passage=likeness.sum(-1, keepdim=True) + encoded.passage,
            question=encoded.question,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
        )


def test_a_square_of_the_passage_is_noticed():
    assert saved_bytes(Squared(), random_vectors(30, 5, 8)) == 30 * 30 * 4
    assert growth(Squared(), (EncoderShape(8, 2).hidden_size, None))[0] == 4
