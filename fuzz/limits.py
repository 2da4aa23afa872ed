"""What one input may cost: seconds, and memory."""

import faulthandler
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 20
"""After so many seconds of computing a hang is told. A busy machine is none."""
WAITED = 10 * SECONDS
"""After so many by the clock the process ends: it waits for what never comes, or Python no longer answers."""
MEMORY = 256 * 1024**2
"""Bytes that one input may add to the most that the process ever held."""
ADDRESSES = 2 * 1024**3
"""Bytes that a process may ask for on top of what it began with: an allocation of more fails instead of paging."""


class TooSlow(Exception):
    """An input took too long."""


class TooLarge(Exception):
    """An input took too much memory."""


def bound_addresses() -> None:
    """From now on asking for far too much memory fails. Not for torch, which asks for far more than it uses."""
    began = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (began + ADDRESSES, resource.RLIM_INFINITY))


@contextmanager
def bounded() -> Iterator[None]:
    """What is done inside ends in time and stays small.

    Raises:
        TooSlow: If it takes more than `SECONDS`.
        TooLarge: If it takes more than `MEMORY`.
    """
    before = _most()
    signal.signal(signal.SIGPROF, _late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    faulthandler.dump_traceback_later(WAITED, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    if _most() - before > MEMORY:
        raise TooLarge(f"{(_most() - before) // 1024**2} MiB for one input")


def _most() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _late(*_: Any) -> None:
    raise TooSlow(f"more than {SECONDS} seconds of computing")
