"""Dual co-matching against an oracle of its equations."""

import math
from dataclasses import replace
from itertools import combinations

import oracle
import pytest
import tiny
import torch

from coattend.readers.interactions.dcmn import DualCoMatching
from coattend.readers.interfaces import EncoderShape

OPTION = torch.tensor([[False, True, True, False], [False, False, False, True]])


def sees(rows, targets, scores):
    """For each row what it sees in the others."""
    return [oracle.weighted(oracle.softmax([scores(row, target) for target in targets]), targets) for row in rows]


def highest(rows, layer):
    """MaxPooling(ReLU(rows W))."""
    return [
        max(column) for column in zip(*([max(x, 0.0) for x in oracle.affine(row, layer)] for row in rows), strict=True)
    ]


def match(left, right, module, released):
    def forth(x, y):
        return oracle.dot(oracle.affine(x, module.compare), y)

    def back(y, x):
        return forth(y, x) if released else forth(x, y)

    first = highest(sees(left, right, forth), module.project_one)
    second = highest(sees(right, left, back), module.project_other)
    gate = oracle.added(oracle.affine(first, module.gate_one), oracle.affine(second, module.gate_other))
    if not released:
        gate = oracle.added(gate, module.bias.tolist())
    open_ = [1 / (1 + math.exp(-x)) for x in gate]
    return [g * a + (1 - g) * b for g, a, b in zip(open_, first, second, strict=True)]


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize("apart", [True, False])
def test_it_is_what_the_paper_says(variant, apart):
    config = DualCoMatching.Config(variant=variant)
    module = tiny.scatter(DualCoMatching(config, EncoderShape(oracle.WIDTH, 2)), deviation=0.5)
    encoded = replace(oracle.encoded(), option_mask=OPTION if apart else torch.zeros_like(OPTION))
    summary = module(encoded).summary
    for row in range(2):
        passage, question = oracle.streams(encoded, row)
        marks = OPTION[row].tolist()[: len(question)]
        option = [x for x, mark in zip(question, marks, strict=True) if mark] if apart else question
        question_only = [x for x, mark in zip(question, marks, strict=True) if not mark] if apart else question
        expected = []
        for number, (left, right) in enumerate(combinations((passage, question_only, option), 2)):
            expected += match(left, right, module.matches[number % len(module.matches)], variant == "released")
        torch.testing.assert_close(summary[row], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-9)


def test_its_parameters():
    """Two maps with biases in the released one; with the classifier of 3H + 1 they are the 1,183,489 that it uses."""
    released = DualCoMatching(DualCoMatching.Config(variant="released"), EncoderShape(768, 12))
    assert sum(parameter.numel() for parameter in released.parameters()) + 3 * 768 + 1 == 1_183_489
    paper = DualCoMatching(DualCoMatching.Config(), EncoderShape(768, 12))
    assert sum(parameter.numel() for parameter in paper.parameters()) == 3 * (5 * 768 * 768 + 768)
