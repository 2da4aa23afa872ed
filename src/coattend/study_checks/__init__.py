"""What is wrong with the names that a study uses."""

from collections.abc import Iterator

from coattend.study import Study
from coattend.study_checks.benchmarks import of_benchmarks, of_compared
from coattend.study_checks.frozen import of_frozen
from coattend.study_checks.lines import of_lines
from coattend.study_checks.numbers import of_numbers, of_subset
from coattend.study_checks.problem import Problem, nearest_choice, of_training, unknown
from coattend.study_checks.search import of_search
from coattend.study_checks.variants import of_metric, of_tasks, of_titles, of_variant

__all__ = ["Problem", "nearest_choice", "of_frozen", "problems"]


def problems(study: Study) -> Iterator[Problem]:
    """All that is wrong with a study, what else hangs on first."""
    asked = study.parameters
    yield from of_benchmarks(study)
    yield from unknown(("baseline",), asked.baseline, asked.variants, "variant")
    for name in asked.variants:
        yield from of_variant(study, name)
    yield from of_compared(study)
    yield from of_frozen(study)
    yield from of_titles(study)
    yield from of_tasks(study)
    yield from of_lines(study)
    for name, subsets in asked.asks.items():
        yield from unknown(("asks", name), name, asked.benchmarks, "benchmark")
        for subset in subsets if name in asked.benchmarks else ():
            yield from of_subset(("asks", name), name, subset)
    if asked.metric is not None:
        yield from of_metric(study, asked.metric)
    if asked.search is not None:
        yield from of_search(asked.search)
    yield from of_training(("base", "training"), asked.base.get("training", {}))
    for name, training in asked.training.items():
        yield from unknown(("training", name), name, study.read, "benchmark")
        yield from of_training(("training", name), training)
    for place, block in enumerate(asked.printed):
        for name, numbers in block.numbers.items():
            path = ("printed", place, "numbers", name)
            yield from unknown(path, name, asked.variants, "variant")
            yield from of_numbers(path, numbers, asked.benchmarks_of(name))
    for place, row in enumerate(asked.cited):
        yield from of_numbers(("cited", place, "numbers"), row.numbers, asked.benchmarks)
    for place, example in enumerate(asked.examples):
        yield from unknown(("examples", place, "benchmark"), example.benchmark, asked.benchmarks, "benchmark")
        for name in example.printed:
            yield from unknown(("examples", place, "printed", name), name, asked.variants, "variant")
