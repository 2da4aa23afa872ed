"""Checks of names and values in a study's file: options, training fields, printed numbers, equal variants."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from coattend import readers
from coattend.config import BenchmarkParameters, ReaderParameters, TrainingParameters, entries, training_of
from coattend.config.study import Numbers
from coattend.errors import CoattendError, did_you_mean
from coattend.studies.study import Study


class Problem(NamedTuple):
    """A mistake in a study's entry.

    Attributes:
        path: Location in the entry.
        what: The mistake.
        cure: How to correct it.
    """

    path: tuple[Any, ...]
    what: str
    cure: str | None


def check_name(path: tuple[Any, ...], name: str, names: Collection[str], noun: str) -> Iterator[Problem]:
    """Yield a problem if a name is not among the allowed ones."""
    if name not in names:
        yield Problem(path, f"there is no {noun} {name!r} here", did_you_mean(str(name), list(names)))


def check_training(path: tuple[Any, ...], fields: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield unknown fields of training, fields that belong to the study, and invalid values."""
    for field, value in fields.items():
        if field == "seeds":
            yield Problem((*path, field), "seeds are the study's, the same for all its variants", "Say its own: seeds")
        elif field in TrainingParameters.model_fields:
            yield from check_training_value((*path, field), field, value)
        else:
            yield from check_name((*path, field), field, list(TrainingParameters.model_fields), "field of training")


def check_training_value(path: tuple[Any, ...], field: str, value: Any) -> Iterator[Problem]:
    """Yield a problem if a field of training cannot have a value."""
    try:
        TrainingParameters.model_validate({field: value})
    except ValidationError as error:
        yield invalid_value(path, field, value, error)


def invalid_value(path: tuple[Any, ...], field: str, value: Any, error: ValidationError) -> Problem:
    """Describe a value that a field cannot have, with the reason."""
    first = error.errors()[0]
    return Problem(path, f"{field} cannot be {_written(value)}: {first['msg']}", nearest_choice(first))


def _written(value: Any) -> str:
    """Format a value as YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def nearest_choice(error: Mapping[str, Any]) -> str | None:
    """Suggest the nearest choice for an error of a literal field; None for other errors."""
    # Pydantic gives the choices of a literal as one sentence, each in quotes.
    choices = re.findall("'([^']*)'", error["ctx"]["expected"]) if error["type"] == "literal_error" else []
    return did_you_mean(str(error["input"]), choices) if choices else None


SPLITS = ("dev", "test")
SINGLE_METRIC, LOSS = "accuracy", "loss"
"""Metric of a number that names none, and a quantity that may accompany every score."""

PRINTED_METRICS = {"options": (SINGLE_METRIC,), "word": (SINGLE_METRIC,), "span": ("exact_match", "f1")}
"""Metrics of each task that papers print."""

METRICS = {name for printed in PRINTED_METRICS.values() for name in printed}

QUANTITIES = ("parameters_millions", "minutes_per_epoch", "boundary_pos", "boundary_pos_wrong")
"""Other quantities that papers print, for a variant or for a variant on a benchmark."""


def check_subset(path: tuple[Any, ...], benchmark: str, subset: str) -> Iterator[Problem]:
    """Yield a problem if a benchmark does not have a subset; an empty subset means the whole benchmark."""
    subsets = entries.benchmark(benchmark).subsets
    if subset and subsets:
        yield from check_name(path, subset, subsets, f"subset of {benchmark}")


def check_numbers(path: tuple[Any, ...], numbers: Numbers, benchmarks: Collection[str]) -> Iterator[Problem]:
    """Yield printed numbers of unknown benchmarks, quantities, splits or metrics."""
    for name, value in numbers.items():
        yield from check_name((*path, name), name, (*benchmarks, *QUANTITIES), "benchmark or quantity")
        if name in benchmarks and not isinstance(value, dict):
            yield Problem((*path, name), "must be a mapping of splits to scores", None)
            continue
        for key, cell in value.items() if name in benchmarks else ():
            cell_path = (*path, name, key)
            split, _, subset = key.partition("/")
            yield from check_name(cell_path, split, (*SPLITS, *QUANTITIES), "split or quantity")
            yield from check_subset(cell_path, name, subset)
            if split not in SPLITS:
                continue
            # Scores may be printed step by step.
            steps = isinstance(cell, dict) and all(isinstance(key, int) for key in cell)
            for step, score in cell.items() if steps else [(None, cell)]:
                yield from _check_score(cell_path if step is None else (*cell_path, step), name, score)


def _check_score(path: tuple[Any, ...], benchmark: str, score: Any) -> Iterator[Problem]:
    """Yield scores that are no numbers, or of metrics that the benchmark does not have."""
    by_metric = score if isinstance(score, dict) else {SINGLE_METRIC: score}
    metrics = [printed for task in entries.benchmark(benchmark).tasks for printed in PRINTED_METRICS[task]]
    for metric, value in by_metric.items():
        score_path = (*path, metric) if isinstance(score, dict) else path
        if metric not in (*metrics, LOSS):
            what = f"{benchmark} is not scored by {metric}"
            yield Problem(
                score_path, what, did_you_mean(metric, metrics) if metric not in METRICS else _metric_cure(metrics)
            )
        elif isinstance(value, bool) or not isinstance(value, int | float):
            yield Problem(score_path, f"must be a number, not {value!r}", None)


def _metric_cure(metrics: Collection[str]) -> str:
    return f"Say which of its metrics it is: {', '.join(dict.fromkeys(metrics))}"


def check_options(study: Study, variant: str, entry: ReaderParameters) -> Iterator[Problem]:
    """Yield unknown options of a variant's reader, and invalid values."""
    options = readers.option_names(entry.reader)
    for option, value in entry.options.items():
        path = _option_path(study, variant, option)
        if option not in options:
            yield from check_name(path, option, options, f"option of {entry.reader}")
        else:
            yield from _check_option_value(path, entry.reader, option, value)


def _check_option_value(path: tuple[Any, ...], reader: str, option: str, value: Any) -> Iterator[Problem]:
    try:
        readers.check_option(reader, option, value)
    except ValidationError as error:
        yield invalid_value(path, option, value, error)


def _option_path(study: Study, variant: str, option: str) -> tuple[Any, ...]:
    """Locate the line of the study that sets an option of a variant; the most specific one counts."""
    parameters = study.parameters
    if option in parameters.options:
        return "options", option
    if option in parameters.base and option not in parameters.variants[variant].change:
        return "base", option
    return "variants", variant, "change", option


_DERIVED_FIELDS = {"name", "head", "training", "training_on", "options"}
"""Fields of a reader's entry that are completed from its benchmark or from the reader."""


def have_same_trials(study: Study, variant: str, other: str) -> bool:
    """Return True if two variants have the same trials on all benchmarks that both run on, in the base environment.

    A change that restates the benchmark's training, its head or a default option of the reader changes nothing.
    """
    parameters = study.parameters
    shared = set(parameters.benchmarks_of(variant)) & set(parameters.benchmarks_of(other))
    try:
        reader, other_reader = (ReaderParameters.model_validate(study.entry(name)) for name in (variant, other))
        if not shared or reader.model_dump(exclude=_DERIVED_FIELDS) != other_reader.model_dump(exclude=_DERIVED_FIELDS):
            return False
        if study.starts_from(variant) != study.starts_from(other):
            return False
        return all(
            _effective_settings(study, reader, name) == _effective_settings(study, other_reader, name)
            for name in shared
        )
    except (ValidationError, CoattendError):
        return False  # Other checks report the mistake at its line.


def _effective_settings(
    study: Study, reader: ReaderParameters, name: str
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the head of a reader on a benchmark, its options with that head, and its training."""
    benchmark = entries.benchmark(name)
    changed = study.benchmark(name, {"training": benchmark.training.model_dump()})["training"]
    changed_benchmark = BenchmarkParameters.model_validate(benchmark.model_dump() | {"training": changed})
    training = training_of(changed_benchmark, reader, recurrent=readers.encoder_of(reader.reader) == "recurrent")
    head = readers.head_for(reader.reader, benchmark.answerable, reader.head)
    return head, _complete_options(reader, head), training.model_dump()


def _complete_options(reader: ReaderParameters, head: str) -> dict[str, Any]:
    try:
        return readers.completed(reader.reader, head, reader.options)
    except CoattendError:
        return reader.options  # Computed options are unknown before the reader is built.
