"""Equations read slowly: lists, loops, one sequence at a time, in float64. Tests compare parts of readers with them."""

import math

import torch

from coattend.readers.attended import Encoded

WIDTH = 8


def encoded(passages=(5, 2), questions=(3, 4), width=WIDTH) -> Encoded:
    """Two sequences with streams of different lengths; what stands at padding is arbitrary."""
    generator = torch.Generator().manual_seed(1)

    def stream(lengths):
        mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        return torch.randn(len(lengths), max(lengths), width, generator=generator, dtype=torch.float64), mask

    (passage, passage_mask), (question, question_mask) = stream(passages), stream(questions)
    return Encoded(passage=passage, question=question, passage_mask=passage_mask, question_mask=question_mask)


def streams(given: Encoded, row: int) -> tuple[list, list]:
    """Passage and question of one sequence without padding."""
    return given.passage[row][given.passage_mask[row]].tolist(), given.question[row][given.question_mask[row]].tolist()


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def added(a, b):
    return [x + y for x, y in zip(a, b, strict=True)]


def weighted(weights, rows):
    """The sum of rows, each times its weight."""
    return [dot(weights, column) for column in zip(*rows, strict=True)]


def affine(vector, layer):
    bias = layer.bias.tolist() if layer.bias is not None else [0.0] * layer.out_features
    return added([dot(row, vector) for row in layer.weight.tolist()], bias)


def softmax(values):
    powers = [math.exp(value - max(values)) for value in values]
    return [power / sum(powers) for power in powers]


def layer_norm(vector, norm):
    mean = sum(vector) / len(vector)
    deviation = math.sqrt(sum((x - mean) ** 2 for x in vector) / len(vector) + norm.eps)
    pairs = zip(vector, norm.weight.tolist(), norm.bias.tolist(), strict=True)
    return [(x - mean) / deviation * w + b for x, w, b in pairs]


def multi_head(query, key, attention, *, heads, projected):
    """MHA(Query, Key, Key), one head and one pair of tokens at a time."""
    q, k, v = (
        [affine(x, layer) for x in rows]
        for rows, layer in ((query, attention.query), (key, attention.key), (key, attention.value))
    )
    d = len(q[0]) // heads
    rows = []
    for asking in q:
        row = []
        for head in range(heads):
            part = slice(head * d, (head + 1) * d)
            weights = softmax([dot(asking[part], asked[part]) / math.sqrt(d) for asked in k])
            row += weighted(weights, [value[part] for value in v])
        rows.append(affine(row, attention.output) if projected else row)
    return rows


def transformer_block(query, key, module, *, heads):
    """Attention, add & norm, feed-forward, add & norm, with the query as what is added."""
    rows = []
    for asked, attended in zip(
        query, multi_head(query, key, module.attention, heads=heads, projected=True), strict=True
    ):
        stream = layer_norm(added(asked, attended), module.after_attention)
        wide = [0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in affine(stream, module.widen)]
        rows.append(layer_norm(added(stream, affine(wide, module.narrow)), module.after_feed_forward))
    return rows


def same(found: torch.Tensor, expected: list) -> None:
    """To 1e-9, without padding."""
    torch.testing.assert_close(found[: len(expected)], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-9)
