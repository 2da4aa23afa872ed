"""The matrix of encoders, interactions and heads."""

from coattend import readers


def test_the_matrix_contains_every_combination_with_its_reason_or_what_has_to_be_set():
    matrix = {
        (capability.encoder, capability.interaction, capability.head): capability
        for capability in readers.capabilities()
    }
    assert len(matrix) == 2 * 16 * 5
    assert {capability.task for capability in matrix.values()} == {"options", "span", "word"}
    aoa = matrix["transformer", "attention_over_attention", "options"]
    assert (aoa.reason, aoa.options, aoa.reader) == (None, {}, "transformer+attention_over_attention")
    assert matrix["transformer", "dcmn", "options"].options == {"pooling": "summary"}
    assert matrix["transformer", "none", "span"].reason is None
    assert "brought together with the question" in matrix["recurrent", "none", "span"].reason
    assert "needs summary" in matrix["recurrent", "coattention", "vocabulary"].reason
