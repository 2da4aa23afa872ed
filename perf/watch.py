"""Seconds and peak memory of a command with all processes that it starts."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

INTERVAL = 0.05
"""Seconds between two looks at the memory, at least: looking takes a twentieth of the time at most."""


class Watched(NamedTuple):
    """What a command took.

    Attributes:
        seconds: From its start to its end.
        peak_mib: Largest memory of all its processes together, pages that they share counted once (PSS), looked at
            up to twenty times a second.
    """

    seconds: float
    peak_mib: int


def watched(command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str]) -> Watched:
    """Run a command.

    Raises:
        SystemExit: With the end of its output, if it fails.
    """
    log = folder / "log.txt"
    began, peak = time.perf_counter(), 0
    with log.open("w") as output:
        process = psutil.Popen(
            [str(part) for part in command], cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=dict(environment)
        )
        while process.poll() is None:
            looked = time.perf_counter()
            peak = max(peak, _memory(process))
            time.sleep(max(INTERVAL, 20 * (time.perf_counter() - looked)))
    if process.returncode:
        raise SystemExit(log.read_text()[-2000:])
    return Watched(round(time.perf_counter() - began, 2), round(peak / 2**20))


def _memory(process: psutil.Process) -> int:
    """Bytes of a process and all that it started."""
    held = 0
    for one in (process, *process.children(recursive=True)):
        try:
            held += one.memory_full_info().pss
        except psutil.Error:  # It has just ended.
            continue
    return held
