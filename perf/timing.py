"""Rates of several ways that take turns, and the seconds and memory of whole commands."""

import random
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import psutil

Step = Callable[[], float]
"""Does its work once and returns its seconds, or its rate."""
INTERVAL = 0.05
"""Least seconds between two samples of the memory; sampling takes a twentieth of the time at most."""


Measured = TypeVar("Measured")


def alternate(
    steps: Mapping[str, Callable[[], Measured]], rounds: int, *, warm_up: int = 0
) -> dict[str, list[Measured]]:
    """Run all steps in each round, so that whatever disturbs the machine disturbs all of them.

    Every round has another order, as a step may leave caches cold for the next.

    Args:
        steps: The steps by name.
        rounds: Rounds that count.
        warm_up: Rounds before that, which do not.
    """
    values: dict[str, list[Measured]] = {name: [] for name in steps}
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


class Usage(NamedTuple):
    """What a command used.

    Attributes:
        seconds: From its start to its end.
        peak_mib: Largest memory of all its processes together, sampled up to twenty times a second; pages that they
            share count once (PSS).
    """

    seconds: float
    peak_mib: int


def watch(command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str]) -> Usage:
    """Run a command.

    Raises:
        SystemExit: With the end of its output, if it fails.
    """
    log = folder / "log.txt"
    start, peak = time.perf_counter(), 0
    with log.open("w") as output:
        process = psutil.Popen(
            [str(part) for part in command], cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=dict(environment)
        )
        while process.poll() is None:
            sampling = time.perf_counter()
            peak = max(peak, memory_of(process))
            # It is not waited for longer than it runs.
            with suppress(psutil.TimeoutExpired):
                process.wait(max(INTERVAL, 20 * (time.perf_counter() - sampling)))
    if process.returncode:
        raise SystemExit(log.read_text()[-2000:])
    return Usage(round(time.perf_counter() - start, 2), round(peak / 2**20))


def memory_of(process: psutil.Process) -> int:
    """Return the bytes of a process and all that it started."""
    total = 0
    for member in (process, *process.children(recursive=True)):
        try:
            total += member.memory_full_info().pss
        except psutil.Error:  # It has just ended.
            continue
    return total
