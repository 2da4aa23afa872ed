"""The measured part of ``docs/performance.md``: every goal beside its figures, and the machines."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from jinja2 import ChainableUndefined, Environment

from perf.commands import ROOT

TEMPLATE = Path(__file__).with_name("goals.md.jinja")
BEGIN, END = "<!-- from perf/results.json -->\n", "<!-- end -->"
MISSING = "not measured"
CPU_INFO = Path("/proc/cpuinfo")


def renew(page: str, results: Mapping[str, Any], *, template: Path = TEMPLATE) -> str:
    """Return the page with its measured part renewed.

    Args:
        page: The page, in Markdown.
        results: Contents of ``perf/results.json``: machine, date and figures of each measurement.
        template: What the part is made of.
    """
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}{measured(results, template)}\n{END}{rest.partition(END)[2]}"


def measured(results: Mapping[str, Any], template: Path = TEMPLATE) -> str:
    """Fill the template; cells of figures that there are not say so."""
    # A figure that is missing, or a part of one, is shown as nothing.
    environment = Environment(undefined=ChainableUndefined, autoescape=False)  # noqa: S701 - Markdown, not HTML
    environment.filters |= {"times": times, "percent": percent, "fill": fill}
    figures = {name: result["figures"] for name, result in results.items()}
    lines = environment.from_string(template.read_text()).render(figures, results=results).splitlines()
    return "\n".join(map(fill_last_cell, lines)).rstrip()


def times(ratio: Any) -> str:
    """Show a ratio with its least and its greatest round."""
    return f"{ratio['ratio']:.1f} x [{ratio['least']:.1f}, {ratio['greatest']:.1f}]" if ratio else ""


def percent(ratio: Any) -> str:
    """Show a share in percent with its least and its greatest round."""
    return "{:.0f} % [{:.0f}, {:.0f}]".format(*(100 * value for value in ratio.values())) if ratio else ""


def fill(pattern: str, *values: Any) -> str:
    """Fill a pattern of printf; return nothing if a value is missing."""
    return "" if any(value is None or isinstance(value, ChainableUndefined) for value in values) else pattern % values


def fill_last_cell(line: str) -> str:
    """Write that a row's last cell was not measured, where it is empty."""
    cells = line.split(" | ")
    if line.startswith("| ") and not cells[-1].strip(" |,"):
        return " | ".join((*cells[:-1], f"{MISSING} |"))
    return line


def machine(*, written: Sequence[str] = ()) -> dict[str, Any]:
    """Describe processor, memory, versions and the commit.

    Args:
        written: Files that measuring itself writes: they do not count as changes of the code.
    """
    return {
        "processor": _cpu_info("model name") or platform.processor(),
        "cores": os.cpu_count(),
        "threads": int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
        "bf16": [flag for flag in _cpu_info("flags").split() if flag in ("avx512_bf16", "amx_bf16")],
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers")},
        "code": commit(written),
    }


def _cpu_info(field: str) -> str:
    """Return a field of the first processor; nothing where the system does not tell it."""
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")


def commit(written: Sequence[str]) -> str:
    """Return the commit of the code, marked if files other than those that were written have changed."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--", ".", *(f":!{file}" for file in written))
    return git("describe", "--always") + ("-dirty" if changed else "")
