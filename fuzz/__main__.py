"""Give doors bad inputs: ``python -m fuzz --inputs 100000 --door dream``."""

import json
import multiprocessing
import os
import time
from pathlib import Path

import click

from fuzz.doors import NAMES
from fuzz.giving import Order, give

FOUND = Path(__file__).with_name("found")


@click.command()
@click.option("--door", "names", multiple=True, type=click.Choice(NAMES), help="Which; by default all.")
@click.option("--inputs", default=1_000, show_default=True, help="Inputs for each door.")
@click.option("--seconds", type=float, help="Stop at a door after so long; by default when all inputs are given.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same inputs.")
@click.option("--atheris/--no-atheris", "guided", default=None, help="Guided by coverage; by default if installed.")
def main(names: tuple[str, ...], inputs: int, seconds: float | None, seed: int, guided: bool | None) -> None:
    """Give doors bad inputs, and keep those that break one in fuzz/found.

    Ends with status 1 if one broke. Each door has a process of its own, so that one that dies is a finding, too.
    """
    broken = 0
    for name in names or NAMES:
        folder = FOUND / name
        folder.mkdir(parents=True, exist_ok=True)
        began, given, taken, found = time.monotonic(), 0, 0, 0
        while given < inputs and (seconds is None or time.monotonic() - began < seconds):
            left = None if seconds is None else seconds - (time.monotonic() - began)
            order = Order(name, folder, f"{seed} {given}", inputs - given, left, is_guided(guided))
            report = _in_own_process(order)
            given, taken, found = (sum(pair) for pair in zip((given, taken, found), report, strict=True))
            if not report[0]:
                break
        click.echo(f"{name}: {given:,} inputs, {taken:,} taken, {found} broke it, {time.monotonic() - began:.0f} s")
        broken += found
    raise SystemExit(1 if broken else 0)


def is_guided(wanted: bool | None) -> bool:
    """Whether atheris chooses the inputs."""
    from importlib.util import find_spec

    return find_spec("atheris") is not None if wanted is None else wanted


def _in_own_process(order: Order) -> tuple[int, int, int]:
    """Inputs given, taken, and found to break the door; one that ended the process is one of them."""
    order.report.unlink(missing_ok=True)
    process = multiprocessing.get_context("spawn").Process(target=give, args=(order,))
    process.start()
    process.join()
    told = json.loads(order.report.read_text()) if order.report.exists() else {"given": 0, "taken": 0, "found": 0}
    if told.get("ended"):
        return told["given"], told["taken"], told["found"]
    for last in order.folder.glob("given*"):
        kept = order.folder / f"died-{os.urandom(4).hex()}"
        kept.write_bytes(last.read_bytes())
        click.echo(f"{order.door}: the process ended with {process.exitcode}; the input is {kept}")
    return told["given"] + 1, told["taken"], told["found"] + 1


if __name__ == "__main__":
    main()
