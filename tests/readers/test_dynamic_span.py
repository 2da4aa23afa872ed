"""The dynamic pointing decoder of DCN and DCN+ against an oracle of its equations."""

import math
from dataclasses import replace

import oracle
import oracle_decoder
import pytest
import tiny
import torch

from coattend.readers.heads.dynamic_span import DynamicSpanHead
from coattend.readers.heads.span import best_spans
from coattend.readers.interfaces import Attended, EncoderShape
from coattend.readers.layers.maxout import Experts, HighwayMaxout

WIDTH, HIDDEN = oracle_decoder.WIDTH, oracle_decoder.HIDDEN
LENGTHS = oracle_decoder.LENGTHS


def network(**options):
    torch.manual_seed(0)
    return tiny.scatter(HighwayMaxout(WIDTH, HIDDEN, **{"pool": 3, "experts": False} | options), deviation=0.5)


def random(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


@pytest.mark.parametrize("experts", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_the_highway_maxout_network_is_what_the_papers_say(experts, training):
    tokens, state, start, end = random(2, 5, WIDTH), random(2, HIDDEN), random(2, WIDTH), random(2, WIDTH)
    for pool in (1, 2, 5):
        module = network(pool=pool, experts=experts).train(training)
        torch.manual_seed(4)
        scores = module(tokens, module.prepare(tokens), state, start, end)
        torch.manual_seed(4)
        noise = torch.randn(2, 5, pool, dtype=torch.float64).tolist() if training else [[None] * 5] * 2
        for row in range(2):
            vectors = state[row].tolist(), start[row].tolist(), end[row].tolist()
            expected = [
                oracle_decoder.highway_maxout(token, *vectors, module, epsilon)
                for token, epsilon in zip(tokens[row].tolist(), noise[row], strict=True)
            ]
            oracle.same(scores[row], expected)


@pytest.fixture
def experts():
    torch.manual_seed(0)
    return tiny.scatter(Experts(WIDTH, HIDDEN, 7), deviation=1.0).eval()


def test_each_token_weighs_its_two_best_experts(experts):
    tokens, proposal = random(3, 8, WIDTH), random(3, HIDDEN)
    gates = experts(tokens, proposal)
    torch.testing.assert_close(gates.sum(-1), torch.ones(3, 8, dtype=torch.float64))
    assert gates.gt(0).sum(-1).eq(2).all()
    for row in range(3):
        r = proposal[row].tolist()
        oracle.same(gates[row], [oracle_decoder.expert_gates(token, r, experts) for token in tokens[row].tolist()])
    assert len({tuple(of_token.nonzero().flatten().tolist()) for of_token in gates.flatten(0, 1)}) > 3


def test_noise_changes_the_choice_of_experts_in_training_only(experts):
    inputs = random(3, 8, WIDTH), random(3, HIDDEN)
    before = torch.get_rng_state()
    selected = experts(*inputs) > 0
    assert torch.equal(before, torch.get_rng_state())
    experts.train()
    noisy = [experts(*inputs) for _ in range(2)]
    assert all(gates.gt(0).sum(-1).eq(2).all() for gates in noisy)
    assert all(not torch.equal(gates > 0, selected) for gates in noisy)
    assert not torch.equal(*noisy)


def by_place(scores):
    """Scores of a sequence where an answer may lie."""
    return {token: score for token, score in enumerate(scores.tolist()) if score > -math.inf}


@pytest.mark.parametrize("experts", [False, True])
@pytest.mark.parametrize("answers", [False, True])
def test_it_returns_the_scores_of_the_proposal_at_which_each_sequence_stops(experts, answers):
    stops = set()
    for seed in range(8):
        head = oracle_decoder.decoder(seed=seed, experts=experts)
        attended, batch = oracle_decoder.passages(answers=answers, padding=1)
        output = head(attended, batch)
        for row in range(len(LENGTHS)):
            proposals = oracle_decoder.proposals(head, attended, batch, row)
            stops.add(oracle_decoder.stops_at(proposals))
            stopped = proposals[oracle_decoder.stops_at(proposals)]
            assert by_place(output.start[row]) == pytest.approx(stopped.starts, abs=1e-9)
            assert by_place(output.end[row]) == pytest.approx(stopped.ends, abs=1e-9)
        if stops == {1, 2, 3}:
            break
    assert stops == {1, 2, 3}


@pytest.mark.parametrize("answers", [False, True])
def test_it_may_answer_with_the_proposal_at_which_each_sequence_stops(answers):
    """Followed iteration by iteration; its scores and its loss are the same whatever it answers with."""
    stops, out_of_order = set(), 0
    for seed in range(6):
        head, other = (oracle_decoder.decoder(seed=seed, answer=answer) for answer in ("proposal", "best_span"))
        attended, batch = oracle_decoder.passages(answers=answers, padding=1)
        output, of_other = head(attended, batch), other(attended, batch)
        assert output.proposal.shape == (len(LENGTHS), 2)
        assert of_other.proposal is None
        assert torch.equal(output.start, of_other.start) and torch.equal(output.end, of_other.end)
        assert output.loss is None if not answers else torch.equal(output.loss, of_other.loss)
        for row in range(len(LENGTHS)):
            proposals = oracle_decoder.proposals(head, attended, batch, row)
            stopped = proposals[oracle_decoder.stops_at(proposals)]
            stops.add(oracle_decoder.stops_at(proposals))
            assert output.proposal[row].tolist() == [stopped.first, stopped.last]
            out_of_order += stopped.last < stopped.first
    assert stops >= {1, 2}
    assert out_of_order


def test_what_it_answers_with_is_listed():
    with pytest.raises(ValueError, match="'best_span' or 'proposal'"):
        DynamicSpanHead.Config(answer="argmax")


def test_a_trained_decoders_proposal_is_mostly_the_best_span():
    """It learns answers whose first token stands out in one dimension and whose last token in another."""
    length, count = 9, 32
    batch = tiny.batch([tiny.question(n, passage=length, options=(2,)) for n in range(count)])

    def marked(seed):
        generator = torch.Generator().manual_seed(seed)
        start = torch.randint(1, length + 1, (count,), generator=generator)
        end = (start + torch.arange(count) % 3).clamp_max(length)
        passage = 0.5 * torch.randn(count, length + 2, WIDTH, generator=generator)
        passage[torch.arange(count), start, 0] += 2
        passage[torch.arange(count), end, 1] += 2
        masks = {"passage_mask": batch.passage_mask, "question_mask": batch.question_mask}
        return Attended(passage=passage, question=None, **masks), replace(batch, start=start, end=end)

    torch.manual_seed(0)
    config = DynamicSpanHead.Config(decoder_hidden=6, pool=3, iterations=3, answer="proposal")
    head = DynamicSpanHead(config, EncoderShape(WIDTH, 1), oracle_decoder.STREAM)
    optimizer = torch.optim.Adam(head.parameters(), lr=3e-2)
    for step in range(60):
        optimizer.zero_grad()
        head(*marked(step)).loss.backward()
        optimizer.step()
    right, agreed = [], []
    for seed in range(1000, 1010):
        attended, asked = marked(seed)
        with torch.inference_mode():
            output = head.eval()(attended, asked)
        best = best_spans(output.start, output.end, batch.answer_mask, max_length=30)
        right += (output.proposal == torch.stack([asked.start, asked.end], -1)).all(-1).tolist()
        agreed += (output.proposal == torch.cat([best.start, best.end], -1)).all(-1).tolist()
    assert sum(right) > 0.7 * len(right)
    assert 0.9 * len(agreed) < sum(agreed) < len(agreed), "that there are two answers does not show"


@pytest.mark.parametrize("experts", [False, True])
def test_its_loss_goes_over_all_iterations(experts):
    attended, batch = oracle_decoder.passages()
    assert (batch.start == 0).any()
    answers = list(zip(batch.start.tolist(), batch.end.tolist(), strict=True))
    for iterations in (1, 2, 4):
        head = oracle_decoder.decoder(iterations=iterations, experts=experts)
        total = 0.0
        for row, answer in enumerate(answers):
            proposals = oracle_decoder.proposals(head, attended, batch, row, iterations)
            losses = oracle_decoder.cross_entropy(proposals, *answer)
            assert len(losses) == iterations
            total += sum(losses) / len(answers)
        assert head(attended, batch).loss.item() == pytest.approx(total, abs=1e-9)
        averaging = oracle_decoder.decoder(iterations=iterations, experts=experts, over_iterations="mean")
        assert averaging(attended, batch).loss.item() == pytest.approx(total / iterations, abs=1e-9)


@pytest.mark.parametrize("answers", [False, True])
def test_a_batch_of_one_is_a_batch_of_many(answers):
    """Also where others go on after it has stopped."""
    head, (attended, batch) = oracle_decoder.decoder(), oracle_decoder.passages(answers=answers)
    together = head(attended, batch)
    losses = []
    for row, length in enumerate(LENGTHS):
        passage, alone = oracle_decoder.passages((length,), answers=False)
        if answers:
            alone = replace(alone, start=batch.start[row : row + 1], end=batch.end[row : row + 1])
        output = head(passage, alone)
        losses.append(output.loss)
        torch.testing.assert_close(output.start[0], together.start[row, : length + 2], rtol=0, atol=1e-9)
        torch.testing.assert_close(output.end[0], together.end[row, : length + 2], rtol=0, atol=1e-9)
    if answers:
        torch.testing.assert_close(torch.stack(losses).mean(), together.loss, rtol=0, atol=1e-9)
    else:
        assert together.loss is None


def test_start_and_end_have_networks_of_their_own():
    head, inputs = oracle_decoder.decoder(iterations=1), oracle_decoder.passages()
    assert not {id(parameter) for parameter in head.start.parameters()} & {
        id(parameter) for parameter in head.end.parameters()
    }
    before = head(*inputs)
    with torch.no_grad():
        head.end.last.weight.neg_()
    after = head(*inputs)
    assert torch.equal(before.start, after.start)
    assert not torch.equal(before.end, after.end)


# By hand: each token is of one kind, and a network prefers kinds that may follow the kind of the last start.

KINDS = 8
HIDDEN_KINDS = KINDS + 1
STAYS, WALKS = {symbol: symbol for symbol in range(KINDS)}, {symbol: symbol + 1 for symbol in range(KINDS - 1)}


def prefer(network, follows, *, after):
    """Score 10 for a token whose kind follows that of ``after``, ``start`` or ``end``, and else 0.

    To both a little of the decoder's state is added, so that iterations differ.
    """
    where = HIDDEN_KINDS + (0 if after == "start" else KINDS)
    for parameter in network.parameters():
        parameter.zero_()
    for symbol in range(KINDS):
        network.state.weight[symbol, where + symbol] = 20.0  # r tells the kind,
        network.of_token.weight[2 * symbol, symbol] = 10.0  # and the maxout is 10 where both agree, else 0.
        network.of_token.bias[2 * symbol] = -10.0
    for before, symbol in follows.items():
        network.of_state.weight[2 * symbol, before] = 10.0
    network.state.weight[KINDS, 0] = 1.0
    network.of_state.weight[2 * KINDS : 2 * KINDS + 2, KINDS] = 0.1
    network.last.weight[:, :HIDDEN_KINDS] = 1.0


def by_hand(starts, ends, *, end_after="start", iterations=4):
    config = DynamicSpanHead.Config(decoder_hidden=HIDDEN_KINDS, pool=2, iterations=iterations)
    head = tiny.scatter(DynamicSpanHead(config, EncoderShape(KINDS, 1), oracle_decoder.STREAM), deviation=1.0).eval()
    with torch.no_grad():
        prefer(head.start, starts, after="start")
        prefer(head.end, ends, after=end_after)
    return head


def tokens(*rows_of_symbols):
    """Passages of tokens of given kinds, the first of which stands for "no answer"."""
    rows = [tiny.question(0, passage=len(of_row) - 2, options=(2,)) for of_row in rows_of_symbols]
    batch = replace(tiny.batch(rows), start=None, end=None)
    batch.answer_mask |= batch.passage_mask
    passage = torch.zeros(*batch.passage_mask.shape, KINDS, dtype=torch.float64)
    for row, of_row in enumerate(rows_of_symbols):
        passage[row, range(len(of_row)), of_row] = 1.0
    attended = Attended(
        passage=passage, question=None, passage_mask=batch.passage_mask, question_mask=batch.question_mask
    )
    return attended, batch


def spans(head, *rows_of_symbols, iterations=4):
    """The proposals of each sequence in each iteration, by the oracle, and the head's final spans."""
    attended, batch = tokens(*rows_of_symbols)
    output = head(attended, batch)
    ended = list(zip(output.start.argmax(-1).tolist(), output.end.argmax(-1).tolist(), strict=True))
    proposed = []
    for row in range(len(rows_of_symbols)):
        proposals = oracle_decoder.proposals(head, attended, batch, row, iterations)
        stopped = proposals[oracle_decoder.stops_at(proposals)]
        assert by_place(output.start[row]) == pytest.approx(stopped.starts, abs=1e-9)
        assert by_place(output.end[row]) == pytest.approx(stopped.ends, abs=1e-9)
        proposed.append([(proposal.first, proposal.last) for proposal in proposals])
    return proposed, ended


def test_it_begins_with_the_first_and_the_last_token():
    head = by_hand(STAYS, STAYS, end_after="end")
    proposed, ended = spans(head, [0, 1, 2, 3], [4, 3, 2, 1, 0, 5, 6])
    assert proposed == [[(0, 3)] * 4, [(0, 6)] * 4]
    assert ended == [(0, 3), (0, 6)]


def test_an_end_sees_the_start_of_its_own_iteration():
    """Seeing the start before, ends would lag one token behind."""
    head = by_hand(WALKS, STAYS)
    proposed, _ = spans(head, [0, 1, 2, 3, 4, 5])
    assert proposed == [[(1, 1), (2, 2), (3, 3), (4, 4)]]


def test_a_start_sees_the_start_and_the_end_of_the_iteration_before():
    """The end follows the start and the start the end, so both move on together."""
    head = by_hand(WALKS, WALKS)
    with torch.no_grad():
        prefer(head.start, STAYS, after="end")
    proposed, _ = spans(head, [0, 1, 2, 3, 4, 5, 6, 1])
    assert proposed == [[(1, 2), (2, 3), (3, 4), (4, 5)]]


def test_each_sequence_stops_where_its_proposal_repeats_and_the_others_go_on():
    follows = {0: 1, 1: 2, 2: 3, 3: 4, 5: 6, 6: 6, 7: 5}
    head = by_hand(follows, STAYS)
    walking, short, long = [0, 1, 2, 3, 4], [5, 6, 0], [7, 5, 6, 0]
    proposed, ended = spans(head, walking, short, long)
    assert proposed[0] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert proposed[1] == [(1, 1)] * 4
    assert proposed[2] == [(1, 1), (2, 2), (2, 2), (2, 2)]
    assert ended == [(4, 4), (1, 1), (2, 2)]


def test_a_proposal_that_comes_back_later_is_no_repetition():
    head = by_hand({0: 1, 1: 0}, STAYS)
    proposed, ended = spans(head, [0, 1, 2])
    assert proposed == [[(1, 1), (0, 0), (1, 1), (0, 0)]]
    assert ended == [(0, 0)]


def test_half_a_repetition_is_none():
    """The start stays while the end walks."""
    head = by_hand(STAYS, WALKS, end_after="end")
    proposed, ended = spans(head, [0, 2, 3, 4, 5, 1])
    assert proposed == [[(0, 1), (0, 2), (0, 3), (0, 4)]]
    assert ended == [(0, 4)]


def test_without_answers_it_computes_no_more_than_it_must():
    """If all stop at their second proposal, further ones change nothing."""
    head = by_hand(STAYS, STAYS, end_after="end", iterations=50)
    calls = []
    head.decoder.register_forward_hook(lambda *_: calls.append(1))
    spans(head, [0, 1, 2, 3], [4, 3, 2], iterations=50)
    assert len(calls) == 2
