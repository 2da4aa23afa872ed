"""Memory that a computation has freed stays with the process, where the C library lets it."""

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # Numbers of glibc's `mallopt`.


def keep_freed_memory() -> None:
    """Let the next batch use what the last one has freed.

    glibc gives every large tensor back to Linux as soon as it is freed, which then hands out, zeroed and page by page,
    the same memory for the next one: a quarter of the time of a training step. Other C libraries are left alone.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, -1)


def give_freed_memory_back() -> None:
    """Let Linux have what was freed and kept until now: it would count as held by what is measured next."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
