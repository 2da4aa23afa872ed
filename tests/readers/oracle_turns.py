"""Oracle of iterative co-attention, in plain Python, one sequence at a time (POI-Net, sections 2.2 and 2.3)."""

import math

import torch


def max_pooling(vectors):
    return [max(vector[h] for vector in vectors) for h in range(len(vectors[0]))]


def cosine(a, b):
    if not any(a):  # A token that the turn before took away.
        return 0.0
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b)))


def min_max(scores):
    low, high = min(scores), max(scores)
    if high - low <= 16 * torch.finfo(torch.float64).eps:
        return [1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]


def scaled(scores, vectors):
    return [[score * x for x in vector] for score, vector in zip(scores, vectors, strict=True)]


def turns_oracle(e_p, e_q, turns, strategy, compared="original", learned=None, gate=None, integrate="scores"):
    if turns == 0:
        return e_p, e_q
    last_p, last_q = e_p, e_q  # E^0 = E
    s_p, s_q = [[1.0] * len(e_p)], [[1.0] * len(e_q)]  # s^0 = 1
    hat_p, hat_q, beta_p, beta_q = [], [], [], []
    for t in range(1, turns + 1):
        ce_p, ce_q = max_pooling(last_p), max_pooling(last_q)
        beta_p.append((max(s_q[t - 1]) + 1) / 2 if learned is None or t == 1 else learned[0][t - 2])
        beta_q.append((max(s_p[t - 1]) + 1) / 2 if learned is None or t == 1 else learned[1][t - 2])
        from_p, from_q = (last_p, last_q) if compared == "attended" else (e_p, e_q)
        s_p.append([cosine(e, ce_q) for e in from_p])
        s_q.append([cosine(e, ce_p) for e in from_q])
        hat_p.append(min_max(s_p[t]))
        hat_q.append(min_max(s_q[t]))
        last_p, last_q = scaled(hat_p[-1], from_p), scaled(hat_q[-1], from_q)
    if integrate == "embeddings":
        return merged_embeddings(hat_p, beta_p, strategy, gate, e_p), merged_embeddings(
            hat_q, beta_q, strategy, gate, e_q
        )
    return scaled(merged(hat_p, beta_p, strategy, gate), e_p), scaled(merged(hat_q, beta_q, strategy, gate), e_q)


def merged(hats, betas, strategy, gate):
    tokens, turns = range(len(hats[0])), range(len(hats))
    if strategy == "gate":
        attention = list(hats[0])
        for t in turns[1:]:
            attention = [gated(attention[i], hats[t][i], betas[t], gate) for i in tokens]
        return attention
    if strategy == "forgetting":
        attention = list(hats[0])
        for t in turns[1:]:
            attention = [(attention[i] + betas[t] * hats[t][i]) / (1 + betas[t]) for i in tokens]
        return attention
    weights = {
        "average": [1.0 for _ in turns],
        "weighted": betas,
        "intuition": [math.prod(betas[: t + 1]) for t in turns],
    }[strategy]
    return [sum(weights[t] * hats[t][i] for t in turns) / sum(weights) for i in tokens]


def gates(before, score, beta, gate):
    """f and i of one token."""
    (w_f, w_i), (b_f, b_i) = gate.weight.tolist(), gate.bias.tolist()
    x = [before, score, beta]
    return [1 / (1 + math.exp(-sum(a * b for a, b in zip(w, x, strict=True)) - c)) for w, c in ((w_f, b_f), (w_i, b_i))]


def gated(before, score, beta, gate):
    """The new a of one token."""
    f, i = gates(before, score, beta, gate)
    return f * before + i * score


def merged_embeddings(hats, betas, strategy, gate, vectors):
    """R from the embeddings E^t of all turns, vector by vector."""
    integrated = []
    for token, vector in enumerate(vectors):
        turns = [[hat[token] * x for x in vector] for hat in hats]  # E^t of this token
        r, a = turns[0], hats[0][token]
        if strategy in ("forgetting", "gate"):
            for t in range(1, len(hats)):
                beta, hat = betas[t], hats[t][token]
                f, i = gates(a, hat, beta, gate) if strategy == "gate" else (1 / (1 + beta), beta / (1 + beta))
                r = [f * x + i * y for x, y in zip(r, turns[t], strict=True)]
                a = f * a + i * hat
        else:
            products = [math.prod(betas[: t + 1]) for t in range(len(betas))]
            weights = {"average": [1.0] * len(hats), "weighted": betas, "intuition": products}[strategy]
            r = [sum(w * turn[h] for w, turn in zip(weights, turns, strict=True)) / sum(weights) for h in range(len(r))]
        integrated.append(r)
    return integrated
