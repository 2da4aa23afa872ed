"""The sample benchmark: raw files about the simulated world, in the native formats of real benchmarks."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

from pydantic import Field, ValidationError

from coattend.config import Parameters
from coattend.config.source import run_command
from coattend.data import generated_files
from coattend.data.formats.cbt import SPLITS
from coattend.data.generated_files import Manifest, Origin
from coattend.data.synthetic import documents, lexicon, questions, serializers, world
from coattend.errors import CoattendError
from coattend.text.hashing import combined_digest

Writer = Callable[[Random, str, range, float], Iterator[str | bytes]]


class Sizes(Parameters):
    """Numbers of passages of one task."""

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
    per_file: int = Field(5000, ge=1, description="Passages in a file at most, which are in memory together.")


def parse_settings(generator: Mapping[str, object]) -> SampleSettings:
    """Check and complete settings.

    Raises:
        CoattendError: If a setting is unknown or out of range.
    """
    try:
        return SampleSettings.model_validate(generator)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(["generator", *map(str, first["loc"])])
        cure = f"Settings: {', '.join(SampleSettings.model_fields)}"
        raise CoattendError(first["msg"], where=where, cure=cure) from None


def write_sample(folder: Path, settings: SampleSettings) -> Manifest:
    """Write the raw files, one after the other, in flat memory.

    A file's content depends on the seed and its own number only: a larger sample begins with the smaller one.

    Args:
        folder: The folder of the files. Those of an earlier sample are removed.
        settings: Sizes and seed.

    Returns:
        Settings, hash of the generator's code, and the SHA-256 of each file.

    Raises:
        CoattendError: If the disk refuses.
    """
    return generated_files.write_files(folder, _files(settings), _origin(settings))


def is_current(folder: Path, settings: SampleSettings, manifest: Manifest | None) -> bool:
    """Check that the files of a manifest are those of these settings, and intact."""
    return generated_files.is_current(folder, _origin(settings), manifest)


def check_settings(benchmark: str, settings: SampleSettings, manifest: Manifest) -> None:
    """Refuse the files of other settings.

    Raises:
        CoattendError: If the files of the manifest were written with other settings.
    """
    if manifest.get("settings") != settings.model_dump():
        raise CoattendError(
            "its raw files were written with other settings of the generator, as another environment has them",
            where=benchmark,
            cure=f"Write them again: {run_command(pipelines='ingestion', namespaces=benchmark)}",
        )


def _files(settings: SampleSettings) -> Iterator[tuple[str, Iterator[str | bytes]]]:
    limit = settings.per_file
    writers: dict[str, tuple[Writer, Sizes, int]] = {
        "dream/{split}-{number:04d}.json": (serializers.dream, settings.dialogues, limit),
        "squad/{split}-v2.0-{number:04d}.json": (partial(serializers.squad, "v2.0"), settings.stories, limit),
        "cbt/cbtest_NE_{cbt_split}-{number:04d}.txt": (partial(serializers.cbt, "NE"), settings.clozes, limit),
        "cbt/cbtest_CN_{cbt_split}-{number:04d}.txt": (partial(serializers.cbt, "CN"), settings.clozes, limit),
        "squad/{split}-v1.1-{number:04d}.json": (partial(serializers.squad, "1.1"), settings.tales, limit),
        "race/{split}-{number:04d}.txt": (serializers.race, settings.exams, 1),
        "recam/{split}-{number:04d}.jsonl": (serializers.recam, settings.summaries, limit),
        "cnn/{split}-{number:04d}.question": (serializers.cnn, settings.news, 1),
        "custom/{split}-{number:04d}.csv": (partial(serializers.custom, "csv"), settings.rows, limit),
        "custom/{split}-{number:04d}.parquet": (partial(serializers.custom, "parquet"), settings.rows, limit),
        "custom/{split}-{number:04d}.jsonl": (partial(serializers.custom, "jsonl"), settings.rows, limit),
    }
    for pattern, (write, sizes, per_file) in writers.items():
        for split, size in sizes.model_dump().items():
            for number, first in enumerate(range(0, size, per_file)):
                name = pattern.format(split=split, cbt_split=SPLITS[split], number=number)
                passages = range(first, min(first + per_file, size))
                yield name, write(Random(f"{settings.seed} {name}"), split, passages, settings.changes)


def _origin(settings: SampleSettings) -> Origin:
    modules = (lexicon.__file__, world.__file__, questions.__file__, documents.__file__, serializers.__file__, __file__)
    return {"settings": settings.model_dump(), "generator": combined_digest(map(Path, modules))[:12]}
