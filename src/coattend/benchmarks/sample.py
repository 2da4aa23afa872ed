"""The sample benchmark: raw files about the simulated world, in the native formats of real benchmarks."""

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from pydantic import Field, ValidationError

from coattend.benchmarks import native, stories, vocabulary, world
from coattend.benchmarks.origin import digest_of_code
from coattend.errors import CoattendError
from coattend.parameters import Parameters

CBT_SPLITS = {"train": "train", "dev": "valid"}
"""What the Children's Book Test calls its splits."""


class Sizes(Parameters):
    """How many passages of one task there are."""

    train: int = Field(ge=0, description="Passages to train on.")
    dev: int = Field(ge=0, description="Passages to score.")


class SampleSettings(Parameters):
    """Settings of the sample's generator."""

    seed: int = Field(0, description="The same seed gives the same files on every machine.")
    dialogues: Sizes = Field(Sizes(train=1200, dev=300), description="Dialogues; two questions with options each.")
    stories: Sizes = Field(Sizes(train=700, dev=200), description="Stories; two answered questions and one not.")
    clozes: Sizes = Field(Sizes(train=50, dev=20), description="Passages where a name is missing; as many for nouns.")
    changes: float = Field(0.2, ge=0, le=1, description="Share of dialogues and stories in which a fact changes.")
    per_file: int = Field(5000, ge=1, description="Passages in a file; what is in memory at any time.")


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
    digests = {}
    try:
        for name, pieces in _files(settings):
            digests[name] = _write(folder / name, pieces)
        for stale in {path for path in folder.glob("*/*") if path.is_file()} - {folder / name for name in digests}:
            stale.unlink()
    except OSError as error:
        cure = "Check the free space and the permissions of the folder, then run the same command again"
        raise CoattendError(f"cannot be written ({error.strerror})", where=str(folder), cure=cure) from error
    return {"settings": settings.model_dump(), "generator": _generator(), "files": digests}


def is_written(folder: Path, settings: SampleSettings, summary: dict[str, Any] | None) -> bool:
    """Whether the files of a summary are those that would be written, and are intact."""
    if not summary or summary.get("settings") != settings.model_dump() or summary.get("generator") != _generator():
        return False
    present = {str(path.relative_to(folder)) for path in folder.glob("*/*")}
    return present == set(summary["files"]) and all(
        _digest(folder / name) == digest for name, digest in summary["files"].items()
    )


def _files(settings: SampleSettings) -> Iterator[tuple[str, Iterator[str]]]:
    tasks = {
        "dream/{split}-{number:04d}.json": (native.dream, settings.dialogues),
        "squad/{split}-v2.0-{number:04d}.json": (native.squad, settings.stories),
        "cbt/cbtest_NE_{cbt_split}-{number:04d}.txt": (partial(native.cbt, "NE"), settings.clozes),
        "cbt/cbtest_CN_{cbt_split}-{number:04d}.txt": (partial(native.cbt, "CN"), settings.clozes),
    }
    for pattern, (write, sizes) in tasks.items():
        for split, size in sizes.model_dump().items():
            for number, first in enumerate(range(0, size, settings.per_file)):
                name = pattern.format(split=split, cbt_split=CBT_SPLITS[split], number=number)
                passages = range(first, min(first + settings.per_file, size))
                yield name, write(Random(f"{settings.seed} {name}"), split, passages, settings.changes)


def _write(path: Path, pieces: Iterator[str]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(pieces).encode()
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(content)
    temporary.replace(path)
    return hashlib.sha256(content).hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _generator() -> str:
    """A hash of the code that decides what is written."""
    modules = (Path(module.__file__) for module in (vocabulary, world, stories, native))
    return digest_of_code([*modules, Path(__file__)])[:12]
