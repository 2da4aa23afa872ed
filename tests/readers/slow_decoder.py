"""DCN's decoder read slowly: one sequence, one iteration and one token at a time, in float64."""

import math
from dataclasses import dataclass, replace

import slow
import tiny
import torch

from coattend.readers.attended import Attended
from coattend.readers.heads.dynamic_span import DynamicSpanHead
from coattend.readers.parts import EncoderShape

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


# The slow reading.


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
    scores = slow.added(slow.affine(token, experts.of_token), slow.affine(r, experts.of_state))
    if noise is not None:
        spread = [softplus(x) for x in slow.affine(token, experts.noise)]
        scores = [h + epsilon * deviation for h, epsilon, deviation in zip(scores, noise, spread, strict=True)]
    best = sorted(range(len(scores)), key=lambda expert: -scores[expert])[:2]
    shares = dict(zip(best, slow.softmax([scores[expert] for expert in best]), strict=True))
    return [shares.get(expert, 0.0) for expert in range(len(scores))]


def highway_maxout(token, h, u_s, u_e, network, noise=None):
    """HMN(u_t, h, u_s, u_e), DCN's equations 9 to 12; W1 lies in the network in two parts."""

    def pieces(values):
        return [values[k : k + network.pool] for k in range(0, len(values), network.pool)]

    r = [math.tanh(x) for x in slow.affine([*h, *u_s, *u_e], network.state)]
    values = pieces(slow.added(slow.affine(token, network.of_token), slow.affine(r, network.of_state)))
    if network.gates is None:
        m_1 = [max(of_unit) for of_unit in values]
    else:
        shares = expert_gates(token, r, network.gates, noise)
        m_1 = [slow.dot(shares, of_unit) for of_unit in values]
    m_2 = [max(of_unit) for of_unit in pieces(slow.affine(m_1, network.second))]
    return max(slow.affine([*m_1, *m_2], network.last))


def best(scores):
    return max(scores, key=lambda place: scores[place])


def decode(tokens, allowed, head, *, iterations, given=None):
    """All proposals of one sequence, without stopping.

    Args:
        tokens: U, without padding.
        allowed: Positions of the answer's tokens; the first one, "no answer", is allowed as well.
        given: The positions of each iteration; None takes the best ones.
    """
    weights = slow.weights_of(head.decoder)
    h = c = [0.0] * head.decoder.hidden_size
    first, last = 0, len(tokens) - 1
    places, made = sorted({0, *allowed}), []
    for i in range(iterations):
        u_s, u_e = tokens[first], tokens[last]
        h, c = slow.lstm_step([*u_s, *u_e], (h, c), weights)
        starts = {place: highway_maxout(tokens[place], h, u_s, u_e, head.start) for place in places}
        first = best(starts) if given is None else given[i][0]
        ends = {place: highway_maxout(tokens[place], h, tokens[first], u_e, head.end) for place in places}
        last = best(ends) if given is None else given[i][1]
        made.append(Proposal(starts, ends, first, last))
    return made


def stops_at(made):
    """The iteration, from 0, whose proposal repeats the one before; else the last."""
    for i in range(1, len(made)):
        if (made[i].first, made[i].last) == (made[i - 1].first, made[i - 1].last):
            return i
    return len(made) - 1


def log_share(scores, place):
    """The logarithm of a position's probability."""
    highest = max(scores.values())
    return scores[place] - highest - math.log(sum(math.exp(score - highest) for score in scores.values()))


def log_probability(made):
    """Of all positions that were chosen."""
    return sum(log_share(one.starts, one.first) + log_share(one.ends, one.last) for one in made)


def cross_entropy(made, start, end):
    """Of one sequence in each iteration."""
    return [-log_share(one.starts, start) - log_share(one.ends, end) for one in made]


def proposals(head, attended, batch, row, iterations=4, given=None):
    """What a head proposes for one sequence of a batch; with ``given``, had it chosen those positions."""
    tokens = attended.passage[row][attended.passage_mask[row]].tolist()
    allowed = batch.answer_mask[row].nonzero().flatten().tolist()
    return decode(tokens, allowed, head, iterations=iterations, given=given)
