"""The bar that shows how far work is."""

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TypeVar

Result = TypeVar("Result")


def shown(results: Generator[Result, None, None], total: int, title: str) -> Iterator[Result]:
    """Pass results on, with a progress bar where standard error is a terminal.

    Args:
        results: What is passed on; closed at the end, and when the caller stops early.
        total: How many there will be.
        title: What the bar is called.
    """
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    with closing(results):
        yield from track(results, title, total, console=console, transient=True, disable=not console.is_terminal)
