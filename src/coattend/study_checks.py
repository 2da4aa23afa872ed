"""What is wrong with the names that a study uses."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError

from coattend import configuration, readers
from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import ReaderParameters, SearchParameters, TrainingParameters, ValuesParameters
from coattend.parameters.search import SEARCHED
from coattend.parameters.study import Numbers
from coattend.study import Study

SPLITS = ("dev", "test")
METRICS = ("accuracy", "exact_match", "f1", "loss")
"""What scores are called that papers print; a number alone is an accuracy."""

QUANTITIES = ("parameters_millions", "minutes_per_epoch", "boundary_pos", "boundary_pos_wrong")
"""What else papers print, for a variant or for it on a benchmark."""


class Problem(NamedTuple):
    """Something that cannot be.

    Attributes:
        path: Where it stands in the study's entry.
        what: What is wrong.
        cure: What to do about it.
    """

    path: tuple[Any, ...]
    what: str
    cure: str | None


def problems(study: Study) -> Iterator[Problem]:
    """All that is wrong with a study, what else hangs on first."""
    asked = study.parameters
    for place, benchmark in enumerate(asked.benchmarks):
        yield from _unknown(("benchmarks", place), benchmark, configuration.benchmark_names(), "benchmark")
    yield from _unknown(("baseline",), asked.baseline, asked.variants, "variant")
    for name in asked.variants:
        yield from _of_variant(study, name)
    yield from _of_tasks(study)
    if asked.search is not None:
        yield from _of_search(asked.search)
    for name, training in asked.training.items():
        yield from _unknown(("training", name), name, study.read, "benchmark")
        yield from _of_training(("training", name), training)
    for place, block in enumerate(asked.printed):
        for name, numbers in block.numbers.items():
            path = ("printed", place, "numbers", name)
            yield from _unknown(path, name, asked.variants, "variant")
            yield from _of_numbers(path, numbers, asked.benchmarks_of(name))
    for place, row in enumerate(asked.cited):
        yield from _of_numbers(("cited", place, "numbers"), row.numbers, asked.benchmarks)
    for place, example in enumerate(asked.examples):
        yield from _unknown(("examples", place, "benchmark"), example.benchmark, asked.benchmarks, "benchmark")
        for name in example.printed:
            yield from _unknown(("examples", place, "printed", name), name, asked.variants, "variant")


def _unknown(path: tuple[Any, ...], name: str, known: Collection[str], kind: str) -> Iterator[Problem]:
    if name not in known:
        yield Problem(path, f"there is no {kind} {name!r} here", did_you_mean(name, list(known)))


def _of_variant(study: Study, name: str) -> Iterator[Problem]:
    asked, path = study.parameters, ("variants", name)
    variant = asked.variants[name]
    if variant.against is not None:
        yield from _unknown((*path, "against"), variant.against, asked.variants, "variant")
    for benchmark in variant.benchmarks or ():
        yield from _unknown((*path, "benchmarks"), benchmark, asked.benchmarks, "benchmark")
    start = study.starts_from(name)
    if start is not None:
        yield from _unknown((*path, "change", "training", "start_from"), start, asked.variants, "variant")
    yield from _of_reader(study, name)
    other = asked.baseline_of(name)
    if name != other and _same(study, name, other):
        yield Problem((*path, "change"), f"{name!r} is what its baseline {other!r} is", "Change something in it")


def _of_reader(study: Study, variant: str) -> Iterator[Problem]:
    change = study.parameters.variants[variant].change
    path = ("variants", variant, "change")
    try:
        configuration.check_reader(str(change.get("reader", study.parameters.base.get("reader"))))
    except CoattendError as error:
        yield Problem((*path, "reader"), error.problem, error.cure)
        return
    entry = ReaderParameters.model_validate(study.entry(variant))
    for option in entry.options:
        yield from _unknown((*path, option), option, readers.option_names(entry.reader), f"option of {entry.reader}")
    yield from _of_training((*path, "training"), entry.training)
    for name in entry.training.get("train_on", {}):
        yield from _unknown((*path, "training", "train_on", name), name, configuration.benchmark_names(), "benchmark")
    try:
        configuration.encoder_entry(entry.encoder)
        for benchmark in study.parameters.benchmarks_of(variant):
            head = readers.head_for(entry.reader, configuration.answerable_tasks(benchmark), entry.head)
            readers.head_for(entry.reader, configuration.answerable_tasks(entry.trained_on(benchmark)), head)
    except CoattendError as error:
        yield Problem(path, error.problem, error.cure)


def _of_training(path: tuple[Any, ...], given: Iterable[str]) -> Iterator[Problem]:
    for field in given:
        yield from _unknown((*path, field), field, list(TrainingParameters.model_fields), "field of training")


def _of_tasks(study: Study) -> Iterator[Problem]:
    """Variants that cannot answer the same questions of a benchmark have no scores to put side by side."""
    asked = study.parameters
    for benchmark in asked.benchmarks:
        own = [name for name in asked.variants if benchmark in asked.benchmarks_of(name)]
        tasks = {name: _tasks(study, name, benchmark) for name in own}
        for name in own[1:]:
            if not tasks[name] & tasks[own[0]]:
                mine, theirs = (" or ".join(sorted(tasks[one])) for one in (name, own[0]))
                cure = "Choose heads that answer the same questions, or make two studies of it"
                what = f"{name!r} answers {mine} on {benchmark}, and {own[0]!r} {theirs}"
                yield Problem(("variants", name, "change"), what, cure)


def _tasks(study: Study, variant: str, benchmark: str) -> set[str]:
    """The tasks of the questions that a variant may be asked; which of several, its data decides."""
    entry, own = study.entry(variant), configuration.benchmark_entry(benchmark)["tasks"]
    heads = [entry["head"]] if entry.get("head") else readers.heads_of(entry["reader"])
    tasks = {readers.task_of(head) for head in heads} & set(configuration.answerable_tasks(benchmark))
    # Options can be read of questions with a missing word.
    return {task if task in own else "word" for task in tasks}


def _same(study: Study, variant: str, other: str) -> bool:
    asked = study.parameters
    mine, theirs = ({**study.entry(name), "name": study.starts_from(name)} for name in (variant, other))
    return mine == theirs and bool(set(asked.benchmarks_of(variant)) & set(asked.benchmarks_of(other)))


def _of_search(search: SearchParameters) -> Iterator[Problem]:
    for field, values in search.space.items():
        path = ("search", "space", field)
        if field in SEARCHED:
            yield from _of_values(path, field, values)
        elif field in TrainingParameters.model_fields:
            problem = f"{field!r} is not how a reader learns, but what it learns or is judged by"
            yield Problem(path, problem, f"Search among {', '.join(SEARCHED)}")
        else:
            yield from _unknown(path, field, SEARCHED, "field of training to search")
    if search.count() < search.trials:
        problem = f"{search.trials} configurations are asked for, and the space holds {search.count():g}"
        yield Problem(("search", "trials"), problem, "Ask for fewer, or allow more values")


def _of_values(path: tuple[Any, ...], field: str, values: ValuesParameters) -> Iterator[Problem]:
    """Values that the field itself would refuse."""
    if values.choices is None:
        given = {("low",): values.low, ("high",): values.high}
    else:
        given = {("choices", place): value for place, value in enumerate(values.choices)}
    for place, value in given.items():
        try:
            TrainingParameters.model_validate({field: value})
        except ValidationError as error:
            told = "null" if value is None else f"{value:g}"
            yield Problem((*path, *place), f"{field} cannot be {told}: {error.errors()[0]['msg']}", None)


def _of_numbers(path: tuple[Any, ...], numbers: Numbers, benchmarks: Collection[str]) -> Iterator[Problem]:
    for name, value in numbers.items():
        yield from _unknown((*path, name), name, (*benchmarks, *QUANTITIES), "benchmark or quantity")
        for place, cell in value.items() if name in benchmarks else ():
            here = (*path, name, place)
            yield from _unknown(here, place.partition("/")[0], (*SPLITS, *QUANTITIES), "split or quantity")
            # Scores may be printed step by step.
            scores = cell.values() if isinstance(cell, dict) and all(isinstance(key, int) for key in cell) else [cell]
            for score in scores:
                for metric in score if isinstance(score, dict) else ():
                    yield from _unknown((*here, metric), metric, METRICS, "metric")
