"""Oracle of DCN's decoder: one sequence, one iteration and one token at a time, in float64."""

import math
from dataclasses import dataclass, replace

import oracle
import tiny
import torch

from coattend.readers.heads.dynamic_span import DynamicSpanHead
from coattend.readers.interfaces import Attended, EncoderShape

WIDTH, HIDDEN = 6, 4
STREAM = frozenset({"passage"})
LENGTHS = (7, 1, 4, 9, 5, 8)


def decoder(*, seed=0, deviation=0.7, **options):
    """A small decoder, no parameter of which is zero."""
    torch.manual_seed(seed)
    config = DynamicSpanHead.Config(decoder_hidden=HIDDEN, pool=3, **options)
    return tiny.scatter(DynamicSpanHead(config, EncoderShape(WIDTH, 1), STREAM), seed=seed, deviation=deviation).eval()


def passages(lengths=LENGTHS, *, padding=0, answers=True):
    """Attended passages of some lengths, and a batch that says where answers may lie."""
    questions = [tiny.question(n, passage=length, options=(2,)) for n, length in enumerate(lengths)]
    batch = tiny.batch(questions, padding=padding)
    passage = torch.full((*batch.passage_mask.shape, WIDTH), 1e3, dtype=torch.float64)
    for row, length in enumerate(lengths):
        generator = torch.Generator().manual_seed(length)
        passage[row, : length + 2] = torch.randn(length + 2, WIDTH, generator=generator, dtype=torch.float64)
    attended = Attended(
        passage=passage, question=None, passage_mask=batch.passage_mask, question_mask=batch.question_mask
    )
    return attended, batch if answers else replace(batch, start=None, end=None)


# The oracle.


@dataclass
class Proposal:
    """The scores of one iteration over the tokens that an answer may hold, by position, and what was chosen."""

    starts: dict
    ends: dict
    first: int
    last: int


def softplus(x):
    return math.log1p(math.exp(x))


def expert_gates(token, r, experts, noise=None):
    """Softmax over the two best of the gates, zero for the others; noise is one number for each expert."""
    scores = oracle.added(oracle.affine(token, experts.of_token), oracle.affine(r, experts.of_state))
    if noise is not None:
        spread = [softplus(x) for x in oracle.affine(token, experts.noise)]
        scores = [h + epsilon * deviation for h, epsilon, deviation in zip(scores, noise, spread, strict=True)]
    best = sorted(range(len(scores)), key=lambda expert: -scores[expert])[:2]
    shares = dict(zip(best, oracle.softmax([scores[expert] for expert in best]), strict=True))
    return [shares.get(expert, 0.0) for expert in range(len(scores))]


def highway_maxout(token, h, u_s, u_e, network, noise=None):
    """HMN(u_t, h, u_s, u_e), DCN's equations 9 to 12; W1 lies in the network in two parts."""

    def pieces(values):
        return [values[k : k + network.pool] for k in range(0, len(values), network.pool)]

    r = [math.tanh(x) for x in oracle.affine([*h, *u_s, *u_e], network.state)]
    values = pieces(oracle.added(oracle.affine(token, network.of_token), oracle.affine(r, network.of_state)))
    if network.gates is None:
        m_1 = [max(of_unit) for of_unit in values]
    else:
        shares = expert_gates(token, r, network.gates, noise)
        m_1 = [oracle.dot(shares, of_unit) for of_unit in values]
    m_2 = [max(of_unit) for of_unit in pieces(oracle.affine(m_1, network.second))]
    return max(oracle.affine([*m_1, *m_2], network.last))


def best(scores):
    return max(scores, key=lambda position: scores[position])


def decode(tokens, allowed, head, *, iterations, forced=None):
    """All proposals of one sequence, without stopping.

    Args:
        tokens: U, without padding.
        allowed: Positions of the answer's tokens; the first one, "no answer", is allowed as well.
        given: The positions of each iteration; None takes the best ones.
    """
    weights = oracle.weights_of(head.decoder)
    h = c = [0.0] * head.decoder.hidden_size
    first, last = 0, len(tokens) - 1
    positions, proposed = sorted({0, *allowed}), []
    for i in range(iterations):
        u_s, u_e = tokens[first], tokens[last]
        h, c = oracle.lstm_step([*u_s, *u_e], (h, c), weights)
        starts = {position: highway_maxout(tokens[position], h, u_s, u_e, head.start) for position in positions}
        first = best(starts) if forced is None else forced[i][0]
        ends = {position: highway_maxout(tokens[position], h, tokens[first], u_e, head.end) for position in positions}
        last = best(ends) if forced is None else forced[i][1]
        proposed.append(Proposal(starts, ends, first, last))
    return proposed


def stops_at(proposed):
    """The iteration, from 0, whose proposal repeats the one before; else the last."""
    for i in range(1, len(proposed)):
        if (proposed[i].first, proposed[i].last) == (proposed[i - 1].first, proposed[i - 1].last):
            return i
    return len(proposed) - 1


def log_share(scores, position):
    """The logarithm of a position's probability."""
    highest = max(scores.values())
    return scores[position] - highest - math.log(sum(math.exp(score - highest) for score in scores.values()))


def log_probability(proposed):
    """Of all positions that were chosen."""
    return sum(
        log_share(proposal.starts, proposal.first) + log_share(proposal.ends, proposal.last) for proposal in proposed
    )


def cross_entropy(proposed, start, end):
    """Of one sequence in each iteration."""
    return [-log_share(proposal.starts, start) - log_share(proposal.ends, end) for proposal in proposed]


def proposals(head, attended, batch, row, iterations=4, forced=None):
    """A head's proposals for one sequence of a batch; with ``forced``, as if it had chosen those positions."""
    tokens = attended.passage[row][attended.passage_mask[row]].tolist()
    allowed = batch.answer_mask[row].nonzero().flatten().tolist()
    return decode(tokens, allowed, head, iterations=iterations, forced=forced)
