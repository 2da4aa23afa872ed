"""Whose run it is: runs of processes that are gone are closed."""

import logging
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient

PROCESS = "coattend.process"
"""Tag with the host, the process id, and the process's start: ids are used again, starts are not.

A start is the boot of the machine and the ticks since then, which a clock that is set back does not change.
"""

logger = logging.getLogger(__name__)


def this_process() -> str:
    """The tag of this process."""
    return _tag(os.getpid())


def close_orphans(client: "MlflowClient") -> None:
    """Close the runs that a killed process of this machine left open."""
    experiments = [one.experiment_id for one in client.search_experiments()]
    for run in client.search_runs(experiments, "attributes.status = 'RUNNING'", max_results=1000):
        tag = run.data.tags.get(PROCESS, "")
        if tag.startswith(f"{socket.gethostname()} ") and _tag(int(tag.split()[1])) != tag:
            client.set_terminated(run.info.run_id, "KILLED")
            logger.warning("closed the tracked run %r, whose process is gone", run.info.run_name)


def _tag(pid: int) -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]  # The name may hold anything.
    except OSError:
        return ""
    return f"{socket.gethostname()} {pid} {boot} {ticks}"
