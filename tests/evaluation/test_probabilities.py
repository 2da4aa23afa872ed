"""Scores as probabilities, by the head that gave them and never by how they look."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.evaluation.probabilities import log_probabilities, probabilities

NUMBERS = st.lists(st.integers(-40, 40).map(lambda n: n / 8), min_size=1, max_size=8)


@given(NUMBERS)
def test_logits_are_softmaxed(logits):
    total = math.fsum(math.exp(one) for one in logits)
    np.testing.assert_allclose(probabilities(logits, "options"), [math.exp(one) / total for one in logits])
    np.testing.assert_allclose(probabilities(np.add(logits, 800), "vocabulary"), probabilities(logits, "options"))


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_masses_are_shares_of_what_the_candidates_have(masses):
    np.testing.assert_allclose(probabilities(masses, "word"), np.divide(masses, sum(masses)))
    np.testing.assert_allclose(np.exp(log_probabilities(masses, "word")), probabilities(masses, "word"))


def test_masses_and_logits_that_look_alike_are_told_apart_by_their_head():
    assert probabilities([0.25, 0.75], "word").tolist() == pytest.approx([0.25, 0.75])
    assert probabilities([0.25, 0.75], "vocabulary")[1] == pytest.approx(1 / (1 + math.exp(-0.5)))


def test_where_no_candidate_has_any_mass_none_is_likelier():
    assert probabilities([0.0, 0.0, 0.5], "word").tolist() == pytest.approx([0, 0, 1])
    assert probabilities([0.0, 0.0], "word").tolist() == pytest.approx([0.5, 0.5])
    assert log_probabilities([0.5, 0.0], "word", least=0.1).tolist() == pytest.approx(
        [math.log(5 / 6), math.log(1 / 6)]
    )
