"""How far work is: a bar on a terminal, elsewhere a line now and then."""

import logging
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TypeVar

Result = TypeVar("Result")

EVERY = 60.0
"""Seconds between two lines."""

logger = logging.getLogger(__name__)


def shown(results: Generator[Result, None, None], total: int, title: str) -> Iterator[Result]:
    """Pass results on, and show how far they are and how long the rest takes.

    Args:
        results: What is passed on; closed at the end, and when the caller stops early.
        total: How many there will be.
        title: What the work is called.
    """
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    with closing(results):
        if console.is_terminal:
            yield from track(results, title, total, console=console, transient=True)
        else:
            yield from told(results, total, title)


def told(results: Iterator[Result], total: int, title: str, every: float = EVERY) -> Iterator[Result]:
    """Pass results on, with a line now and then.

    Args:
        results: What is passed on.
        total: How many there will be.
        title: What the work is called.
        every: Seconds between two lines.
    """
    began = last = time.monotonic()
    for done, result in enumerate(results, 1):
        yield result
        now = time.monotonic()
        if now - last >= every and done < total:
            last = now
            logger.info("%s: %s of %s, %s", title, f"{done:,}", f"{total:,}", left(now - began, done, total))


def left(seconds: float, done: int, total: int) -> str:
    """How long the rest takes if it goes on so, for people.

    Args:
        seconds: How long it took so far.
        done: How much is done, in any unit.
        total: How much there is.
    """
    rest = seconds / done * (total - done)
    hours, minutes = int(rest // 3600), round(rest % 3600 / 60)
    if hours:
        return f"about {hours} h {minutes} min left"
    return f"about {minutes} min left" if rest >= 90 else f"about {rest:.0f} s left"
