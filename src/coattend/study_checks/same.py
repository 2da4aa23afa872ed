"""Whether two rows of a study are one."""

from typing import Any

from pydantic import ValidationError

from coattend import configuration, readers
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters, ReaderParameters, training_of
from coattend.study import Study

_DECIDED = {"name", "head", "training", "training_on", "options"}
"""What a reader's entry says that its benchmark or the reader itself has a part in."""


def are_same(study: Study, variant: str, other: str) -> bool:
    """Whether two variants have the same trials wherever both are run, in the base environment.

    What a change says is not all that counts: to train as a benchmark is trained on anyway, with the head that it
    gets anyway or with options that the reader has anyway, is no change.
    """
    asked = study.parameters
    both = set(asked.benchmarks_of(variant)) & set(asked.benchmarks_of(other))
    try:
        mine, theirs = (ReaderParameters.model_validate(study.entry(name)) for name in (variant, other))
        if not both or mine.model_dump(exclude=_DECIDED) != theirs.model_dump(exclude=_DECIDED):
            return False
        if study.starts_from(variant) != study.starts_from(other):
            return False
        return all(_decided(study, mine, name) == _decided(study, theirs, name) for name in both)
    except (ValidationError, CoattendError):
        return False  # What is wrong with one of them is told where it stands.


def _decided(study: Study, reader: ReaderParameters, name: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The head that a benchmark gives a reader, all options with it, and how it is trained there."""
    own = configuration.benchmark(name)
    changed = study.benchmark(name, {"training": own.training.model_dump()})["training"]
    asked = BenchmarkParameters.model_validate(own.model_dump() | {"training": changed})
    training = training_of(asked, reader, recurrent=readers.encoder_of(reader.reader) == "recurrent")
    head = readers.head_for(reader.reader, own.answerable, reader.head)
    return head, _options(reader, head), training.model_dump()


def _options(reader: ReaderParameters, head: str) -> dict[str, Any]:
    try:
        return readers.completed(reader.reader, head, reader.options)
    except CoattendError:
        return reader.options  # Those of a declaration that computes them are not known before it is run.
