"""Seconds and peak memory of a command with all processes that it starts."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

INTERVAL = 0.05
"""Least seconds between two samples of the memory; sampling takes a twentieth of the time at most."""


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
            time.sleep(max(INTERVAL, 20 * (time.perf_counter() - sampling)))
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
