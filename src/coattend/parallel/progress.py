"""Progress of long work: a bar on a terminal, log lines elsewhere."""

import logging
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TypeVar

Result = TypeVar("Result")

LOG_INTERVAL_S = 60.0
"""Seconds between two log lines."""

logger = logging.getLogger(__name__)


def track_progress(results: Generator[Result, None, None], total: int, title: str) -> Iterator[Result]:
    """Pass results on, and show progress and the remaining time; close the results when the caller stops early."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    # Closing the generator ends its workers when the caller stops early.
    with closing(results):
        if console.is_terminal:
            yield from track(results, title, total, console=console, transient=True)
        else:
            yield from log_progress(results, total, title)


def log_progress(
    results: Iterator[Result], total: int, title: str, interval: float = LOG_INTERVAL_S
) -> Iterator[Result]:
    """Pass results on, and log their number and the remaining time at intervals of seconds."""
    start = logged = time.monotonic()
    for count, result in enumerate(results, 1):
        yield result
        now = time.monotonic()
        if now - logged >= interval and count < total:
            logged = now
            left = remaining_time(now - start, count, total)
            logger.info("%s: %s of %s, %s", title, f"{count:,}", f"{total:,}", left)


def remaining_time(seconds: float, completed: int, total: int) -> str:
    """Estimate the remaining time at the present rate, as text; amounts are in any unit."""
    seconds_left = seconds / completed * (total - completed)
    hours, minutes = divmod(round(seconds_left / 60), 60)
    if hours:
        return f"about {hours} h {minutes} min left"
    return f"about {minutes} min left" if seconds_left >= 90 else f"about {seconds_left:.0f} s left"
