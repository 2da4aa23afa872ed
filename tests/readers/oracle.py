"""Oracles: the equations in plain Python, one sequence at a time, in float64, for the tests of single parts."""

import math

import torch

from coattend.readers.interfaces import Encoded

WIDTH = 8


def encoded(passages=(5, 2), questions=(3, 4), width=WIDTH) -> Encoded:
    """Two sequences with streams of different lengths; what stands at padding is arbitrary."""
    generator = torch.Generator().manual_seed(1)

    def stream(lengths):
        mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        return torch.randn(len(lengths), max(lengths), width, generator=generator, dtype=torch.float64), mask

    (passage, passage_mask), (question, question_mask) = stream(passages), stream(questions)
    return Encoded(passage=passage, question=question, passage_mask=passage_mask, question_mask=question_mask)


def streams(encoded_batch: Encoded, row: int) -> tuple[list, list]:
    """Passage and question of one sequence without padding."""
    return encoded_batch.passage[row][encoded_batch.passage_mask[row]].tolist(), encoded_batch.question[row][
        encoded_batch.question_mask[row]
    ].tolist()


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
    for query_row in q:
        row = []
        for head in range(heads):
            part = slice(head * d, (head + 1) * d)
            weights = softmax([dot(query_row[part], key_row[part]) / math.sqrt(d) for key_row in k])
            row += weighted(weights, [value[part] for value in v])
        rows.append(affine(row, attention.output) if projected else row)
    return rows


def transformer_block(query, key, module, *, heads):
    """Attention, add & norm, feed-forward, add & norm, with the query as what is added."""
    rows = []
    for query_row, attended in zip(
        query, multi_head(query, key, module.attention, heads=heads, projected=True), strict=True
    ):
        stream = layer_norm(added(query_row, attended), module.after_attention)
        wide = [0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in affine(stream, module.widen)]
        rows.append(layer_norm(added(stream, affine(wide, module.narrow)), module.after_feed_forward))
    return rows


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def gates(x, h, weights):
    """Both maps of a recurrent cell, of its input and of its state, one row for each gate."""
    of_input, of_state, input_bias, state_bias = weights
    input_part = added([dot(row, x) for row in of_input], input_bias)
    state_part = added([dot(row, h) for row in of_state], state_bias)
    cuts = range(0, len(input_part), len(h))
    return [input_part[k : k + len(h)] for k in cuts], [state_part[k : k + len(h)] for k in cuts]


def gru_step(x, h, weights):
    """r and z are sigmoids, n = tanh(W x + r * U h), and h becomes (1 - z) n + z h."""
    input_part, state_part = gates(x, h, weights)
    new = []
    for k, before in enumerate(h):
        r, z = sigmoid(input_part[0][k] + state_part[0][k]), sigmoid(input_part[1][k] + state_part[1][k])
        new.append((1 - z) * math.tanh(input_part[2][k] + r * state_part[2][k]) + z * before)
    return new


def lstm_step(x, state, weights):
    """c becomes f * c + i * g, and h = o * tanh(c)."""
    h, c = state
    i, f, g, o = (added(*pair) for pair in zip(*gates(x, h, weights), strict=True))
    c = [sigmoid(f[k]) * c[k] + sigmoid(i[k]) * math.tanh(g[k]) for k in range(len(c))]
    return [sigmoid(o[k]) * math.tanh(c[k]) for k in range(len(c))], c


def weights_of(cell):
    return [weight.tolist() for weight in cell.parameters()]


def one_way(rows, layer):
    """The states of one direction, token by token."""
    weights, zero, states = weights_of(layer), [0.0] * layer.hidden_size, []
    state = (zero, zero) if isinstance(layer, torch.nn.LSTM) else zero
    for row in rows:
        state = lstm_step(row, state, weights) if isinstance(layer, torch.nn.LSTM) else gru_step(row, state, weights)
        states.append(state[0] if isinstance(layer, torch.nn.LSTM) else state)
    return states


def recurrence(rows, module):
    """The states of all directions side by side; the second one reads from the end."""
    states = one_way(rows, module.layers[0])
    if len(module.layers) == 1:
        return states
    return [[*a, *b] for a, b in zip(states, reversed(one_way(rows[::-1], module.layers[1])), strict=True)]


def same(actual: torch.Tensor, expected: list) -> None:
    """To 1e-9, without padding."""
    torch.testing.assert_close(actual[: len(expected)], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-9)
