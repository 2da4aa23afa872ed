"""The sample benchmark: raw files about the simulated world, in the native formats of real benchmarks."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from pydantic import Field, ValidationError

from coattend.benchmarks import choices, native, stories, vocabulary, world, written
from coattend.benchmarks.cbt import SPLITS
from coattend.benchmarks.origin import digest_of_code
from coattend.errors import CoattendError
from coattend.parameters import Parameters


class Sizes(Parameters):
    """How many passages of one task there are."""

    train: int = Field(ge=0, description="Passages to train on.")
    dev: int = Field(ge=0, description="Passages to score.")


class SampleSettings(Parameters):
    """Settings of the sample's generator."""

    seed: int = Field(0, description="The same seed gives the same files on every machine.")
    dialogues: Sizes = Field(description="Dialogues; two questions with options each.")
    stories: Sizes = Field(description="Stories; two answered questions and one not.")
    clozes: Sizes = Field(description="Passages where a name is missing; as many for nouns.")
    tales: Sizes = Field(description="Stories as in SQuAD 1.1; two answered questions.")
    exams: Sizes = Field(description="Articles; three questions with four options each.")
    summaries: Sizes = Field(description="Articles; a sentence with a gap and five options.")
    news: Sizes = Field(description="Passages where an anonymised name is missing.")
    rows: Sizes = Field(
        Sizes(train=10, dev=4), description="Articles in CSV, as many in JSON Lines and in Parquet; 2 to 4 options."
    )
    changes: float = Field(0.2, ge=0, le=1, description="Share of passages in which a fact changes.")
    per_file: int = Field(5000, ge=1, description="Most passages in a file; what is in memory at any time.")


def settings_of(generator: dict[str, Any]) -> SampleSettings:
    """Typed settings.

    Raises:
        CoattendError: If a setting is unknown or out of range.
    """
    try:
        return SampleSettings(**generator)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(["generator", *map(str, first["loc"])])
        cure = f"Settings: {', '.join(SampleSettings.model_fields)}"
        raise CoattendError(first["msg"], where=where, cure=cure) from None


def write_sample(folder: Path, settings: SampleSettings) -> dict[str, Any]:
    """Write the raw files, one after the other; memory stays flat whatever the number of passages.

    A file's content depends on the seed and its own number only: a larger sample begins with the smaller one.

    Args:
        folder: Where to. Files of an earlier sample are removed.
        settings: What to write.

    Returns:
        A summary for `is_written`: settings, generator and the SHA-256 of each file.

    Raises:
        CoattendError: If the disk refuses.
    """
    return written.write(folder, _files(settings), _origin(settings))


def is_written(folder: Path, settings: SampleSettings, summary: dict[str, Any] | None) -> bool:
    """Whether the files of a summary are those that would be written, and are intact."""
    return written.is_written(folder, _origin(settings), summary)


def _files(settings: SampleSettings) -> Iterator[tuple[str, Iterator[str | bytes]]]:
    many = settings.per_file
    tasks = {
        "dream/{split}-{number:04d}.json": (native.dream, settings.dialogues, many),
        "squad/{split}-v2.0-{number:04d}.json": (partial(native.squad, "v2.0"), settings.stories, many),
        "cbt/cbtest_NE_{cbt_split}-{number:04d}.txt": (partial(native.cbt, "NE"), settings.clozes, many),
        "cbt/cbtest_CN_{cbt_split}-{number:04d}.txt": (partial(native.cbt, "CN"), settings.clozes, many),
        "squad/{split}-v1.1-{number:04d}.json": (partial(native.squad, "1.1"), settings.tales, many),
        "race/{split}-{number:04d}.txt": (native.race, settings.exams, 1),
        "recam/{split}-{number:04d}.jsonl": (native.recam, settings.summaries, many),
        "cnn/{split}-{number:04d}.question": (native.cnn, settings.news, 1),
        "custom/{split}-{number:04d}.csv": (partial(native.custom, "csv"), settings.rows, many),
        "custom/{split}-{number:04d}.parquet": (partial(native.custom, "parquet"), settings.rows, many),
        "custom/{split}-{number:04d}.jsonl": (partial(native.custom, "jsonl"), settings.rows, many),
    }
    for pattern, (write, sizes, per_file) in tasks.items():
        for split, size in sizes.model_dump().items():
            for number, first in enumerate(range(0, size, per_file)):
                name = pattern.format(split=split, cbt_split=SPLITS[split], number=number)
                passages = range(first, min(first + per_file, size))
                yield name, write(Random(f"{settings.seed} {name}"), split, passages, settings.changes)


def _origin(settings: SampleSettings) -> dict[str, Any]:
    """The settings, and a hash of the code that decides what is written."""
    modules = (Path(module.__file__) for module in (vocabulary, world, choices, stories, native))
    code = digest_of_code([*modules, Path(__file__)])[:12]
    return {"settings": settings.model_dump(), "generator": code}
