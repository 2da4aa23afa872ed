"""Describe the machine and the code that figures were measured with."""

import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from perf.commands import ROOT

CPU_INFO = Path("/proc/cpuinfo")


def machine(*, written: Sequence[str] = ()) -> dict[str, Any]:
    """Describe processor, memory, versions and the commit.

    Args:
        written: Files that measuring itself writes: they do not count as changes of the code.
    """
    return {
        "processor": next(iter(_cpu_info("model name")), platform.processor()),
        "cores": os.cpu_count(),
        "threads": int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
        "bf16": [flag for flag in processor_flags() if flag in ("avx512_bf16", "amx_bf16")],
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers")},
        "code": _commit(written),
    }


def processor_flags() -> list[str]:
    """List the processor's features, where the system tells them."""
    return next(iter(_cpu_info("flags")), "").split()


def _cpu_info(field: str) -> list[str]:
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.exists() else []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(field)]


def _commit(written: Sequence[str]) -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--", ".", *(f":!{file}" for file in written))
    return git("describe", "--always") + ("-dirty" if changed else "")
