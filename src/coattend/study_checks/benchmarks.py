"""Where a study's variants are run."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from coattend import configuration
from coattend.study import Study
from coattend.study_checks.problem import Problem, unknown


def of_benchmarks(study: Study) -> Iterator[Problem]:
    """Benchmarks that there are not, that are named twice, or on which nothing is run."""
    asked = study.parameters
    yield from _of_names(("benchmarks",), asked.benchmarks, configuration.benchmark_names())
    for name, variant in asked.variants.items():
        yield from _of_names(("variants", name, "benchmarks"), variant.benchmarks or (), asked.benchmarks)
    run = {benchmark for name in asked.variants for benchmark in asked.benchmarks_of(name)}
    for place, benchmark in enumerate(asked.benchmarks):
        if benchmark not in run:
            yield Problem(
                ("benchmarks", place), f"no variant is run on {benchmark!r}", "Run one there, or leave it out"
            )


def _of_names(path: tuple[Any, ...], names: Sequence[str], known: Collection[str]) -> Iterator[Problem]:
    for place, name in enumerate(names):
        yield from unknown((*path, place), name, known, "benchmark")
        if name in names[:place]:
            yield Problem((*path, place), f"{name!r} is there twice", "Name it once")


def of_compared(study: Study) -> Iterator[Problem]:
    """Variants that are compared with one that is not run where they are."""
    asked = study.parameters
    for name, variant in asked.variants.items():
        other = asked.baseline_of(name)
        run = asked.benchmarks_of(other) if other in asked.variants else asked.benchmarks
        lacking = [benchmark for benchmark in asked.benchmarks_of(name) if benchmark not in run]
        if lacking:
            path = ("baseline",) if variant.against is None else ("variants", name, "against")
            what = f"{other!r} is not run on {' and '.join(lacking)}, where {name!r} is compared with it"
            yield Problem(path, what, f"Run it there too, or say with 'against' what {name!r} is compared with")
