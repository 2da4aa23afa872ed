"""The commands of a pack, on the machine that it was brought to."""

import argparse
import logging
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from perf.gpu import checks, speed, times, trainings
from perf.gpu.machine import Deadline, OutOfTime, Pack, describe_machine, device
from perf.gpu.plan import MOST_FILE_MEGABYTES, MOST_FILES, PLAN, describe
from perf.gpu.results import TRAININGS, Results

logger = logging.getLogger(__name__)


def main(folder: Path, arguments: Sequence[str]) -> None:
    """Run a command of the plan, or list them.

    Args:
        folder: The pack's folder.
        arguments: Those of the command line.
    """
    pack = Pack.open(folder)
    minutes = {command.name: command.minutes for command in PLAN}
    parser = argparse.ArgumentParser(prog="python run.py", description="Run a command of the plan.")
    parser.add_argument("command", nargs="?", choices=[*minutes, "worker"], help="the command; none lists the plan")
    parser.add_argument("--out", type=Path, default=folder / "results", help="folder of what comes back")
    parser.add_argument("--minutes", type=float, help="when to stop; default: the command's own minutes")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    if options.command is None:
        print(describe(trainings.left(pack, results)))
        return
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    warnings.filterwarnings("ignore")
    deadline = Deadline.after(minutes.get(options.command, 0) if options.minutes is None else options.minutes)
    if options.command == "worker":
        trainings.work(pack, results, deadline)
        return
    for command in results.take_over(Results(folder / "results"), describe_machine(pack)):
        print(f"{command}: left out what another GPU or other code measured")
    print(f"{options.command} on {describe_machine(pack)['gpu'] or 'a processor, as a rehearsal'}", flush=True)
    if options.command in ("tables", "rest"):
        done = trainings.train_all(pack, results, deadline)
        results.record(TRAININGS, "ended", len(results.outcomes()), describe_machine(pack))
    else:
        done = _measure(options.command, pack, results, deadline, _steps(options.command, pack))
    print("done" if done else f"out of time: run {options.command} again to go on")
    _check_size(options.out)


def _steps(command: str, pack: Pack) -> Mapping[str, Callable[[Pack], Any]]:
    if command == "checks":
        return checks.CHECKS
    return speed.steps(pack) if command == "speed" else times.steps(pack)


def _measure(
    command: str, pack: Pack, results: Results, deadline: Deadline, steps: Mapping[str, Callable[[Pack], Any]]
) -> bool:
    """Take the steps that have no figures yet; return True if all have some. One that fails does not stop others."""
    try:
        with deadline.enforced():
            _measure_all(command, pack, results, deadline, steps)
    except OutOfTime:
        return False
    return True


def _measure_all(
    command: str, pack: Pack, results: Results, deadline: Deadline, steps: Mapping[str, Callable[[Pack], Any]]
) -> None:
    for name, step in steps.items():
        if "problem" not in results.figures().get(command, {}).get("figures", {}).get(name, {"problem": "not run"}):
            continue
        print(f"{command}: {name}, {deadline.seconds:.0f} seconds left", flush=True)
        try:
            figures = step(pack)
        except Exception as error:
            logger.error("%s", traceback.format_exc())
            figures = {"problem": f"{type(error).__name__}: {error}"}
        if device() == "cuda":
            torch.cuda.empty_cache()
        results.record(command, name, figures, describe_machine(pack))


def _check_size(folder: Path) -> None:
    """Say if what comes back is more than a machine sends."""
    files = [file for file in folder.iterdir() if file.is_file()]
    large = [file.name for file in files if file.stat().st_size > MOST_FILE_MEGABYTES * 1e6]
    if len(files) > MOST_FILES or large:
        print(f"{folder} has {len(files)} files, too large are {', '.join(large) or 'none'}")
