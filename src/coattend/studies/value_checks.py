"""Checks of names and values in a study's file: options, training fields, printed numbers, equal variants."""

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from coattend import readers
from coattend.config import ReaderParameters, TrainingParameters, entries, training_of
from coattend.config.study import QUANTITIES, Numbers
from coattend.errors import CoattendError, did_you_mean, message_of
from coattend.studies.study import Study

Path = tuple[str | int, ...]
"""Location in a study's entry."""


class Problem(NamedTuple):
    """A mistake in a study's entry: its location, what is wrong, and how to correct it."""

    path: Path
    what: str
    cure: str | None


def check_name(path: Path, name: str, names: Collection[str], noun: str) -> Iterator[Problem]:
    """Yield a problem if a name is not among the allowed ones."""
    if name not in names:
        yield Problem(path, f"there is no {noun} {name!r} here", did_you_mean(str(name), list(names)))


def check_training(path: Path, fields: dict[str, Any]) -> Iterator[Problem]:
    """Yield unknown fields of training, fields that belong to the study, and invalid values."""
    for field, value in fields.items():
        if field == "seeds":
            yield Problem((*path, field), "seeds are the study's, the same for all its variants", "Say its own: seeds")
        elif field in TrainingParameters.model_fields:
            yield from check_training_value((*path, field), field, value)
        else:
            yield from check_name((*path, field), field, list(TrainingParameters.model_fields), "field of training")


def check_training_value(path: Path, field: str, value: Any) -> Iterator[Problem]:
    """Yield a problem if a field of training cannot have a value."""
    try:
        TrainingParameters.model_validate({field: value})
    except ValidationError as error:
        yield _invalid_value(path, field, value, error)


def _invalid_value(path: Path, field: str, value: Any, error: ValidationError) -> Problem:
    # The value as YAML has it.
    written = f"{value:g}" if isinstance(value, float) else str(value)
    written = {"None": "null", "True": "true", "False": "false"}.get(repr(value), written)
    first = error.errors()[0]
    return Problem(path, f"{field} cannot be {written}: {message_of(first)}", nearest_choice(first))


def nearest_choice(error: ErrorDetails) -> str | None:
    """Suggest the nearest choice for an error of a literal field; None for other errors."""
    # Pydantic gives the choices of a literal as one sentence, each in quotes.
    choices = re.findall("'([^']*)'", error["ctx"]["expected"]) if error["type"] == "literal_error" else []
    return did_you_mean(str(error["input"]), choices) if choices else None


SPLITS = ("dev", "test")
SINGLE_METRIC, LOSS = "accuracy", "loss"
"""Metric of a number that names none, and a quantity that may accompany every score."""

PRINTED_METRICS = {"options": (SINGLE_METRIC,), "word": (SINGLE_METRIC,), "span": ("exact_match", "f1")}
"""Metrics of each task that papers print."""


def check_subset(path: Path, benchmark: str, subset: str) -> Iterator[Problem]:
    """Yield a problem if a benchmark does not have a subset; an empty subset means the whole benchmark."""
    subsets = entries.benchmark(benchmark).subsets
    if subset and subsets:
        yield from check_name(path, subset, subsets, f"subset of {benchmark}")


def check_numbers(path: Path, numbers: Numbers, benchmarks: Collection[str]) -> Iterator[Problem]:
    """Yield printed numbers of unknown benchmarks, quantities, splits or metrics."""
    for name, value in numbers.items():
        yield from check_name((*path, name), name, (*benchmarks, *QUANTITIES), "benchmark or quantity")
        if name not in benchmarks:
            continue
        if not isinstance(value, dict):
            yield Problem((*path, name), "must be a mapping of splits to scores", None)
            continue
        for key, cell in value.items():
            cell_path = (*path, name, key)
            split, _, subset = key.partition("/")
            yield from check_name(cell_path, split, (*SPLITS, *QUANTITIES), "split or quantity")
            yield from check_subset(cell_path, name, subset)
            if split not in SPLITS:
                continue
            # Scores may be printed step by step.
            if isinstance(cell, dict) and all(isinstance(step, int) for step in cell):
                for step, score in cell.items():
                    yield from _check_score((*cell_path, step), name, score)
            else:
                yield from _check_score(cell_path, name, cell)


def _check_score(path: Path, benchmark: str, score: Any) -> Iterator[Problem]:
    """Yield scores that are no numbers, or of metrics that the benchmark does not have."""
    by_metric = score if isinstance(score, dict) else {SINGLE_METRIC: score}
    metrics = [printed for task in entries.benchmark(benchmark).tasks for printed in PRINTED_METRICS[task]]
    for metric, value in by_metric.items():
        score_path = (*path, metric) if isinstance(score, dict) else path
        if metric not in (*metrics, LOSS):
            cure = did_you_mean(metric, metrics)
            if any(metric in printed for printed in PRINTED_METRICS.values()):
                cure = f"Say which of its metrics it is: {', '.join(dict.fromkeys(metrics))}"
            yield Problem(score_path, f"{benchmark} is not scored by {metric}", cure)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            yield Problem(score_path, f"must be a number, not {value!r}", None)


def check_options(study: Study, variant: str, entry: ReaderParameters) -> Iterator[Problem]:
    """Yield unknown options of a variant's reader, and invalid values, where the study sets them."""
    parameters, options = study.parameters, readers.option_names(entry.reader)
    for option, value in entry.options.items():
        path: Path = ("variants", variant, "change", option)
        if option in parameters.options:
            path = ("options", option)
        elif option in parameters.base and option not in parameters.variants[variant].change:
            path = ("base", option)
        yield from check_name(path, option, options, f"option of {entry.reader}")
        if option not in options:
            continue
        try:
            readers.check_option(entry.reader, option, value)
        except ValidationError as error:
            yield _invalid_value(path, option, value, error)


_DERIVED_FIELDS = {"name", "head", "training", "training_on", "options"}
"""Fields of a reader's entry that are completed from its benchmark or from the reader."""


def have_same_trials(study: Study, variant: str, other: str) -> bool:
    """Return True if two variants have the same trials on all benchmarks that both run on, in the base environment. A
    change that restates the benchmark's training, its head or a default option of the reader changes nothing."""
    parameters = study.parameters
    shared = set(parameters.benchmarks_of(variant)) & set(parameters.benchmarks_of(other))
    try:
        reader, other_reader = (ReaderParameters.model_validate(study.entry(name)) for name in (variant, other))
        if not shared or reader.model_dump(exclude=_DERIVED_FIELDS) != other_reader.model_dump(exclude=_DERIVED_FIELDS):
            return False
        if study.parameters.starts_from(variant) != study.parameters.starts_from(other):
            return False
        return all(
            _effective_settings(study, reader, name) == _effective_settings(study, other_reader, name)
            for name in shared
        )
    except (ValidationError, CoattendError):
        return False  # Other checks report the mistake at its line.


def _effective_settings(
    study: Study, reader: ReaderParameters, name: str
) -> tuple[str, dict[str, Any], TrainingParameters]:
    """Return the head of a reader on a benchmark, its options with that head, and its training."""
    benchmark = entries.benchmark(name)
    changed = study.benchmark(name, {"training": benchmark.training.model_dump()})["training"]
    changed_benchmark = benchmark.model_copy(update={"training": TrainingParameters.model_validate(changed)})
    training = training_of(changed_benchmark, reader, recurrent=readers.encoder_of(reader.reader) == "recurrent")
    head = readers.head_for(reader.reader, benchmark.answerable, reader.head)
    try:
        return head, readers.completed(reader.reader, head, reader.options), training
    except CoattendError:
        return head, reader.options, training  # Computed options are unknown before the reader is built.
