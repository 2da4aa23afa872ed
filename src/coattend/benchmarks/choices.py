"""Facts of the simulated world, and questions about them with options.

To somebody who has not read the passage, all options of a question are equally good: they are drawn by lot from
values of one kind. Of the wrong ones some come from outside, and some from the same passage, which gives them to
something else or gave them to the same thing earlier: to look for options that occur is a beginning, not the end.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from coattend.benchmarks.vocabulary import Value
from coattend.benchmarks.world import KINDS, Kind, fill

ASKED_BACK = 0.25
MEANT = 0.4
FROM_OUTSIDE = 0.7
"""Share of wrong options that the passage does not name."""


class Choice(NamedTuple):
    """A question with options; ``label`` is the right one's index."""

    question: str
    options: list[str]
    label: int


class Facts(NamedTuple):
    """Facts of one kind and what tells them.

    Attributes:
        kind: Their kind.
        held: Key to the value that holds in the end.
        earlier: The key that changed, if one did, with the value that it had before.
        lines: Sentences that tell them.
        outside: Values that no line names.
        strangers: Keys that no line names.
    """

    kind: Kind
    held: dict[str, Value]
    earlier: dict[str, Value]
    lines: list[str]
    outside: list[Value]
    strangers: list[str]


def draw_facts(rng: Random, count: int, *, changes: float, hedges: Sequence[str] = ("",)) -> Facts:
    """Draw facts of one kind by lot.

    Args:
        rng: Where chance comes from.
        count: How many.
        changes: The chance that one of them changes.
        hedges: What sentences may begin with.
    """
    kind = rng.choice(KINDS)
    drawn = rng.sample(kind.keys, 2 * count)
    keys, strangers = drawn[:count], drawn[count:]
    later, *values = rng.sample(kind.values, 2 * count)
    held = dict(zip(keys, values, strict=False))
    lines = [fill(rng.choice(hedges) + rng.choice(kind.told), key, held[key]) for key in keys]
    earlier: dict[str, Value] = {}
    if rng.random() < changes:
        key = rng.choice(keys)
        earlier, held[key] = {key: held[key]}, later
        lines.append(fill(rng.choice(kind.changed), key, later))
    return Facts(kind, held, earlier, lines, values[count:], strangers)


def choose(rng: Random, facts: Facts, key: str) -> Choice:
    """A question about a fact, with as many options as there are facts."""
    kind, right = facts.kind, facts.held[key]
    if not facts.earlier and rng.random() < ASKED_BACK:
        others = _mixed(rng, [other for other in facts.held if other != key], facts.strangers)
        question = fill(rng.choice(kind.asked_back), key, right)
        return _shuffled(rng, question, [fill("{k}.", answer, right) for answer in (key, *others)])
    wrong = _wrong(rng, facts, key)
    meant = kind.options_meant and rng.random() < MEANT
    option = rng.choice(kind.options_meant if meant else kind.options)
    return _shuffled(rng, fill(rng.choice(kind.asked), key, right), [fill(option, key, v) for v in (right, *wrong)])


def fill_in(rng: Random, facts: Facts, key: str, gap: str) -> Choice:
    """A sentence that tells a fact, with a gap where its value stands, and as many options as there are facts."""
    kind, right = facts.kind, facts.held[key]
    told = rng.choice([template for template in kind.told if "{v}" in template])
    asked = fill(told, key, right._replace(text=right.text.removesuffix(right.phrase) + gap))
    return _shuffled(rng, asked, [value.phrase for value in (right, *_wrong(rng, facts, key))])


def _wrong(rng: Random, facts: Facts, key: str) -> list[Value]:
    wrong = _mixed(rng, [value for other, value in facts.held.items() if other != key], facts.outside)
    if key in facts.earlier:  # A reader has to notice the change.
        wrong[0] = facts.earlier[key]
    return wrong


def _mixed(rng: Random, inside: list[Any], outside: list[Any]) -> list[Any]:
    """Wrong answers, each from the passage or from outside."""
    rng.shuffle(inside)
    pairs = zip(inside, outside, strict=False)
    return [stranger if rng.random() < FROM_OUTSIDE else familiar for familiar, stranger in pairs]


def _shuffled(rng: Random, question: str, options: list[str]) -> Choice:
    right = options[0]
    rng.shuffle(options)
    return Choice(question, options, options.index(right))
