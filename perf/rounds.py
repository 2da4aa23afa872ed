"""Time several ways of doing one thing in turns, so that whatever disturbs the machine disturbs all of them."""

import random
import statistics
from collections.abc import Callable, Mapping, Sequence

Step = Callable[[], float]
"""Does its work once and returns its seconds, or its rate."""


def alternate(steps: Mapping[str, Step], rounds: int, *, warm_up: int = 0) -> dict[str, list[float]]:
    """Run all steps in each round, every round in another order, as a step may leave caches cold for the next.

    Args:
        steps: The steps by name.
        rounds: Rounds that count.
        warm_up: Rounds before that, which do not.
    """
    values: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(-warm_up, rounds):
        for name in random.Random(number).sample(list(steps), len(steps)):
            value = steps[name]()
            if number >= 0:
                values[name].append(value)
    return values


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> dict[str, float]:
    """Return the median, the least and the greatest of the rounds' ratios."""
    ratios = [above / below for above, below in zip(numerators, denominators, strict=True)]
    return {
        "ratio": round(statistics.median(ratios), 3),
        "least": round(min(ratios), 3),
        "greatest": round(max(ratios), 3),
    }
