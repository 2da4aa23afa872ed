"""Plan, pack and collect a campaign on one GPU: ``python -m perf gpu``."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from perf.gpu.collect import collect
from perf.gpu.pack import PYTHONS, write_pack
from perf.gpu.plan import describe
from perf.prepared import SAMPLE, Prepared, available

BENCHMARKS = ("dream", "squad_v1", "race")


def main(arguments: Sequence[str] | None = None) -> None:
    """Show the plan, write the pack, or collect what came back.

    Args:
        arguments: Those of the command line behind ``gpu``; None: of this process.
    """
    parser = argparse.ArgumentParser(prog="python -m perf gpu", description="Show the plan of a campaign on one GPU.")
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="write what the commands need")
    parser.add_argument("--collect", type=Path, metavar="FOLDER", help="put what came back onto the pages")
    parser.add_argument("--python", nargs="+", default=PYTHONS, help="versions of Python that machines may have")
    parser.add_argument("--tiny", action="store_true", help="pack a rehearsal: the sample, a few rows")
    parser.add_argument(
        "--raw", type=Path, default=os.environ.get("COATTEND_RAW"), help="folder with benchmarks; default $COATTEND_RAW"
    )
    options = parser.parse_args(arguments)
    if options.raw is not None:
        os.environ["COATTEND_RAW"] = str(options.raw.resolve())  # The data stages read there, too.
    names = [SAMPLE] if options.tiny else available(options.raw, BENCHMARKS)
    if options.pack is not None:
        if not names:
            parser.error(f"--raw or $COATTEND_RAW names no folder with one of {', '.join(BENCHMARKS)}")
        packed = write_pack(Prepared.of(names), options.pack, pythons=options.python, tiny=options.tiny)
        for name, size in packed.megabytes.items():
            print(f"{size:6.1f} MB  {name}")
        print(f"{sum(packed.megabytes.values()):6.1f} MB  {options.pack}\n")
        print(describe(packed.trainings))
    elif options.collect is not None:
        collect(options.collect)
    else:
        print(describe())


if __name__ == "__main__":
    main()
