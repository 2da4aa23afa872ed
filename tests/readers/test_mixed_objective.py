"""DCN+'s mixed objective: its uncertainties, its policy gradient, and how the dynamic span head learns by them."""

import copy
import itertools
import math
from collections import Counter
from dataclasses import replace

import oracle_decoder
import pytest
import torch

from coattend.errors import CoattendError
from coattend.readers.heads.dynamic_span import Uncertainty, _DecoderInput, _sample, self_critical

FLOOR = 0.5


def equation_17(l_ce, l_rl, sigma_ce, sigma_rl):
    weighed = l_ce / (2 * sigma_ce**2) + l_rl / (2 * sigma_rl**2)
    return weighed + math.log(sigma_ce**2) + math.log(sigma_rl**2)


def with_sigmas(module, *sigmas):
    """Moves both sigmas; they are a floor times the exponential of a softplus."""
    with torch.no_grad():
        module.excess.copy_(torch.tensor([math.log(sigma / module.floor - 1) for sigma in sigmas], dtype=torch.float64))


def descend(module, steps, *, cross_entropy=1.0, policy=-1.0):
    """Adam on given losses: the weighed loss of each step."""
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    terms = torch.tensor(cross_entropy), torch.tensor(policy)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = module(*terms)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("policy", [-0.7, 0.0, 1.3])
def test_losses_are_weighed_as_equation_17_says(policy):
    module = Uncertainty(FLOOR).double()
    for sigmas in ((1.0, 1.0), (0.8, 2.5), (3.0, 0.51)):
        with_sigmas(module, *sigmas)
        assert module.sigma.tolist() == pytest.approx(sigmas, abs=1e-12)
        loss = module(*torch.tensor([2.1, policy], dtype=torch.float64))
        assert loss.item() == pytest.approx(equation_17(2.1, policy, *sigmas), abs=1e-9)


@pytest.mark.parametrize("floor", [0.01, 0.5, 0.99])
def test_sigma_begins_at_one_and_ends_at_its_floor(floor):
    module = Uncertainty(floor)
    assert module.sigma.tolist() == pytest.approx([1, 1], abs=1e-5)
    with torch.no_grad():
        module.excess.fill_(-1e4)
    assert module.sigma.tolist() == pytest.approx([floor, floor], rel=1e-6)


class AsPrinted(torch.nn.Module):
    """Equation 17 over the logarithms of two free sigmas."""

    def __init__(self):
        super().__init__()
        self.log_sigma = torch.nn.Parameter(torch.zeros(2))

    def forward(self, cross_entropy, policy):
        losses = torch.stack([cross_entropy, policy])
        return (losses * torch.exp(-2 * self.log_sigma) / 2 + 2 * self.log_sigma).sum()


@pytest.fixture(scope="module")
def at_the_floor():
    """The state after thousands of steps with a policy that keeps gaining, and the losses on the way."""
    module = Uncertainty(FLOOR)
    return module, descend(module, 2000)


def test_a_policy_that_only_gains_does_not_pull_the_loss_down_for_ever(at_the_floor):
    module, losses = at_the_floor
    assert descend(AsPrinted(), 500)[-1] < -1e15
    lowest = equation_17(1, -1, math.sqrt(1 / 2), FLOOR)  # The best sigma_ce is the root of half its loss.
    assert lowest - 1e-5 < min(losses)
    assert losses[-1] == pytest.approx(lowest, abs=1e-2)
    assert module.sigma.tolist() == pytest.approx([math.sqrt(1 / 2), FLOOR], abs=1e-3)
    assert module.sigma.min() >= FLOOR


def test_sigma_rises_again_from_its_floor(at_the_floor):
    """It is best at the root of half the loss that it weighs."""
    module = copy.deepcopy(at_the_floor[0])
    descend(module, 1000, policy=4.0)
    assert module.sigma[1].item() == pytest.approx(math.sqrt(4 / 2), abs=1e-2)


@pytest.mark.parametrize("excess", [-8.0, 0.0, 8.0])
def test_sigma_has_a_gradient_on_either_side_of_where_it_begins(excess):
    module = Uncertainty(FLOOR)
    with torch.no_grad():
        module.excess.fill_(excess)
    module(torch.tensor(1.0), torch.tensor(-1.0)).backward()
    assert module.excess.grad.abs().min() > 1e-4


SAMPLED, GREEDY = [0.9, 0.2, 0.5, 0.0], [0.4, 0.6, 0.5, 1.0]


def test_the_value_of_the_policys_loss_is_the_mean_of_what_was_lost():
    log_probability = torch.tensor([-1.0, -7.0, -0.1, -3.0], requires_grad=True)
    sampled, greedy = (torch.tensor(rewards, requires_grad=True) for rewards in (SAMPLED, GREEDY))
    loss = self_critical(log_probability, sampled, greedy)
    assert loss.item() == pytest.approx(-(0.5 - 0.4 + 0.0 - 1.0) / 4)
    loss.backward()
    assert log_probability.grad.tolist() == pytest.approx([-0.5 / 4, 0.4 / 4, 0.0, 1.0 / 4])
    assert sampled.grad is greedy.grad is None


def test_the_gradient_of_the_policys_loss_is_that_of_reward_times_log_probability():
    scores = torch.randn(4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    positions = [0, 3, 1, 4]

    def surrogate(rows):
        log_p = [
            row[position] - math.log(sum(map(math.exp, row))) for row, position in zip(rows, positions, strict=True)
        ]
        rewards = [sampled - greedy for sampled, greedy in zip(SAMPLED, GREEDY, strict=True)]
        return -sum(r * log for r, log in zip(rewards, log_p, strict=True)) / len(rows)

    leaf = scores.clone().requires_grad_()
    log_probability = leaf.log_softmax(-1)[range(4), positions]
    self_critical(log_probability, torch.tensor(SAMPLED), torch.tensor(GREEDY)).backward()
    for row in range(4):
        for position in range(5):
            assert leaf.grad[row, position].item() == pytest.approx(
                difference(surrogate, scores.tolist(), row, position), abs=1e-7
            )


def difference(function, rows, row, position, step=1e-5):
    """The central difference of a function of rows in one of their numbers."""
    ends = []
    for sign in (1, -1):
        moved = [list(numbers) for numbers in rows]
        moved[row][position] += sign * step
        ends.append(function(moved))
    return (ends[0] - ends[1]) / (2 * step)


def worth(first, last):
    """Some reward."""
    return (3 * first + last) % 5 / 4


def rewarded(batch, calls):
    """The same batch with a reward, which notes what it is asked."""

    def reward(first, last):
        calls.append(list(zip(first.tolist(), last.tolist(), strict=True)))
        return worth(first, last)

    return replace(batch, reward=reward)


def soft(**options):
    """A decoder whose distributions leave a choice."""
    return oracle_decoder.decoder(deviation=0.35, **options)


def sample(head, attended, batch, seed):
    """A trajectory drawn with a seed; and the positions of each row in each iteration."""
    torch.manual_seed(seed)
    trajectory = head._propose(_DecoderInput.of(attended, batch, head), _sample, until_all_stop=False)
    positions = torch.stack([torch.stack(trajectory.first), torch.stack(trajectory.last)], -1)  # [iterations, S, 2]
    return trajectory, positions.transpose(0, 1).tolist()


def test_each_drawn_position_is_conditioned_on_those_drawn_before():
    """The probability of a trajectory is what the oracle computes for the positions that were drawn."""
    head, (attended, batch) = soft(objective="policy"), oracle_decoder.passages()
    trajectory, positions = sample(head, attended, batch, 3)
    best = [oracle_decoder.proposals(head, attended, batch, row) for row in range(len(positions))]
    assert all(
        of_row != [[proposal.first, proposal.last] for proposal in of_best]
        for of_row, of_best in zip(positions, best, strict=True)
    )
    for row, of_row in enumerate(positions):
        followed = oracle_decoder.proposals(head, attended, batch, row, forced=of_row)
        assert trajectory.log_probability()[row].item() == pytest.approx(
            oracle_decoder.log_probability(followed), abs=1e-9
        )


def test_positions_are_drawn_from_their_distributions():
    head = soft(objective="policy", iterations=1)
    attended, batch = oracle_decoder.passages((3,) * 4000)
    _, positions = sample(head, attended, batch, 0)
    counts, total = Counter(tuple(of_row[0]) for of_row in positions), 0
    for span in itertools.product(range(4), repeat=2):  # "no answer" and the three tokens
        expected = math.exp(
            oracle_decoder.log_probability(oracle_decoder.proposals(head, attended, batch, 0, 1, [span]))
        )
        assert abs(counts[span] / 4000 - expected) < 5 * math.sqrt(expected * (1 - expected) / 4000)
        total += counts[span]
    assert total == 4000
    assert len(counts) > 8


@pytest.mark.parametrize("experts", [False, True])
@pytest.mark.parametrize("over_iterations", ["sum", "mean"])
def test_the_mixed_loss_weighs_the_cross_entropy_and_what_was_lost(over_iterations, experts):
    head = soft(objective="mixed", over_iterations=over_iterations, experts=experts).train()
    for network in (head.start, head.end) if experts else ():
        network.gates.eval()  # Without noise, as in the oracle.
    with_sigmas(head.uncertainty, 0.8, 1.7)
    attended, batch = oracle_decoder.passages()
    calls = []
    torch.manual_seed(5)
    loss = head(attended, rewarded(batch, calls)).loss.item()
    _, positions = sample(head, attended, batch, 5)
    sampled = [tuple(of_row[-1]) for of_row in positions]
    best = [oracle_decoder.proposals(head, attended, batch, row) for row in range(len(sampled))]
    greedy = [(of_row[-1].first, of_row[-1].last) for of_row in best]  # of the last iteration, wherever it stops
    assert calls == [sampled, greedy]
    lost = sum(worth(*g) - worth(*s) for g, s in zip(greedy, sampled, strict=True)) / len(sampled)
    assert lost != 0
    supervised = head.eval()(attended, batch).loss.item()
    assert loss == pytest.approx(equation_17(supervised, lost, 0.8, 1.7), abs=1e-9)


def test_the_policys_gradient_is_that_of_the_oracle():
    """Finite differences of -R log p, at one number of each of the decoder's parameters."""
    head = soft(objective="policy", iterations=2).train()
    attended, batch = oracle_decoder.passages((4, 3, 6))
    calls = []
    torch.manual_seed(7)
    head(attended, rewarded(batch, calls)).loss.backward()
    _, positions = sample(head, attended, batch, 7)
    rewards = [worth(*s) - worth(*g) for s, g in zip(*calls, strict=True)]
    assert all(rewards)

    def surrogate():
        rows = [oracle_decoder.proposals(head, attended, batch, row, 2, of_row) for row, of_row in enumerate(positions)]
        return -sum(
            r * oracle_decoder.log_probability(proposals) for r, proposals in zip(rewards, rows, strict=True)
        ) / len(rows)

    for name, parameter in head.named_parameters():
        numbers, gradients, step = parameter.detach().view(-1), parameter.grad.view(-1), 1e-6
        at = gradients.abs().argmax()
        numbers[at] += step
        above = surrogate()
        numbers[at] -= 2 * step
        below = surrogate()
        numbers[at] += step
        assert gradients[at].item() == pytest.approx((above - below) / (2 * step), abs=1e-7), name
        assert gradients[at] != 0 or name.endswith("last.bias"), name


def test_a_policy_alone_learns_what_it_is_rewarded_for():
    head = soft(objective="policy", iterations=2)
    attended, batch = oracle_decoder.passages((6,) * 16)
    batch = replace(batch, reward=lambda first, last: ((first == 3).double() + (last == 5).double()) / 2)

    def probabilities():
        output = head.eval()(attended, batch)
        return output.start.softmax(-1)[0, 3].item(), output.end.softmax(-1)[0, 5].item()

    before = probabilities()
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
    torch.manual_seed(0)
    for _ in range(300):
        optimizer.zero_grad()
        head.train()(attended, batch).loss.backward()
        optimizer.step()
    after = probabilities()
    assert max(before) < 0.5
    assert min(after) > 0.9


@pytest.mark.parametrize("objective", ["mixed", "policy"])
@pytest.mark.parametrize("experts", [False, True])
def test_in_evaluation_the_loss_is_the_cross_entropy_and_nothing_is_drawn(objective, experts):
    head, (attended, batch) = oracle_decoder.decoder(objective=objective, experts=experts), oracle_decoder.passages()
    plain = oracle_decoder.decoder(experts=experts)
    plain.load_state_dict(
        {name: value for name, value in head.state_dict().items() if not name.startswith("uncertainty.")}
    )
    calls, before = [], torch.get_rng_state()
    losses = [head(attended, rewarded(batch, calls)).loss for _ in range(2)]
    assert torch.equal(torch.get_rng_state(), before)
    assert not calls
    assert losses[0] == losses[1] == plain(attended, batch).loss
    assert head(attended, replace(batch, reward=None)).loss == losses[0]


@pytest.mark.parametrize("objective", ["mixed", "policy"])
def test_in_training_a_policy_needs_a_reward(objective):
    head, (attended, batch) = oracle_decoder.decoder(objective=objective).train(), oracle_decoder.passages()
    with pytest.raises(CoattendError, match=f"objective: {objective}: the batch does not say how good a span is"):
        head(attended, replace(batch, reward=None))
    assert oracle_decoder.decoder().train()(attended, replace(batch, reward=None)).loss.isfinite()


def test_only_the_mixed_objective_has_uncertainties():
    counts = {
        objective: sum(parameter.numel() for parameter in oracle_decoder.decoder(objective=objective).parameters())
        for objective in ("cross_entropy", "policy", "mixed")
    }
    assert counts["mixed"] - 2 == counts["policy"] == counts["cross_entropy"]
