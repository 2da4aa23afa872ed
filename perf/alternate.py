"""Several ways of doing one thing, timed in turns: what disturbs a machine then disturbs all of them."""

import random
import statistics
from collections.abc import Callable, Mapping, Sequence

Step = Callable[[], float]
"""Does its work once and says how many seconds that took, or how much it did in one."""


def alternate(steps: Mapping[str, Step], rounds: int, *, warm_up: int = 0) -> dict[str, list[float]]:
    """What each step says, round by round, each round in another order: what comes before may leave caches cold.

    Args:
        steps: The steps by name.
        rounds: How often each is done.
        warm_up: How often before that, uncounted.
    """
    said: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(-warm_up, rounds):
        for name in random.Random(number).sample(list(steps), len(steps)):
            value = steps[name]()
            if number >= 0:
                said[name].append(value)
    return said


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    """Ours over theirs: the median of the rounds' ratios, and the least and the greatest."""
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return {
        "ratio": round(statistics.median(ratios), 3),
        "least": round(min(ratios), 3),
        "greatest": round(max(ratios), 3),
    }
