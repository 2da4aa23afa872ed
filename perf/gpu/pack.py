"""Write the pack: everything that the commands of the plan need on a bare machine, without raw text.

Packages. Readers, batches and trainer import ten small packages beside those of the machine, three of them compiled.
They are copied from this environment, and for another Python fetched as wheels: 5 MB, and the code stays as it is,
where a second way of reading parameters would have to be written and kept equal.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_LZMA, ZipFile

from coattend.config import BenchmarkParameters, EncoderParameters
from coattend.readers.encoders.pretrained import encoder_folder
from perf.commands import ROOT
from perf.gpu import named_texts
from perf.gpu.encoder import pack_encoder
from perf.gpu.plan import ENCODER, MOST_MEGABYTES, TAGGING, TOKENIZER
from perf.gpu.rows import ENCODERS, plain_values, queue, sizes_of, timed
from perf.page import commit
from perf.prepared import Prepared

PURE = ("accelerate", "annotated-types", "kedro", "parse", "pluggy", "pydantic", "typing-inspection")
COMPILED = ("msgpack", "psutil", "pydantic-core")
PYTHONS = ("3.11", "3.12")
"""Versions of Python that a bare machine may have."""

PLATFORM = "manylinux2014_x86_64"
CODE = ("src/coattend", "perf")
BLOCKS = ("encoders", "tokenizers", "taggings", "readers")
"""Blocks of parameters that experiments are made of, beside those of benchmarks."""


class Packed(NamedTuple):
    """A pack that was written: its megabytes by file, and its trainings."""

    megabytes: dict[str, float]
    trainings: list[dict[str, Any]]


def write_pack(prepared: Prepared, folder: Path, *, pythons: Sequence[str] = PYTHONS, tiny: bool = False) -> Packed:
    """Write the pack of the benchmarks that are prepared.

    Args:
        prepared: A project with the tables of the benchmarks.
        folder: Where the pack goes.
        pythons: Versions of Python of the machines that it is for.
        tiny: Train one seed of a few rows, for a rehearsal.

    Raises:
        SystemExit: If it is larger than a machine takes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parameters = prepared.parameters
    encoder = EncoderParameters.model_validate(parameters["encoders"]["minilm"])
    source = encoder_folder(encoder.source)
    assert source is not None, "the encoder has files"
    pack_encoder(source, folder / "encoder.zip")
    sizes = {}
    for benchmark in prepared.benchmarks:
        entry = BenchmarkParameters.model_validate(parameters["benchmarks"][benchmark])
        tables = named_texts.Tables(
            prepared.load(f"{benchmark}.questions"),
            prepared.load(f"{benchmark}.passages"),
            prepared.load(f"{benchmark}.{TAGGING}.{TOKENIZER}.tokens"),
        )
        arrays = named_texts.shrink(tables, entry)
        metadata = {key.decode(): value.decode() for key, value in (tables.tokens.schema.metadata or {}).items()}
        named_texts.write(arrays, folder / f"{benchmark}.zip", metadata=metadata)
        sizes[benchmark] = sizes_of(arrays, entry.training.max_length)
    trainings = queue(prepared, sizes, tiny=tiny)
    about: dict[str, Any] = {
        "code": commit(()),
        "packed": datetime.now(UTC).isoformat(),
        "parameters": {name: plain_values(parameters[name]) for name in BLOCKS}
        | {"benchmarks": {name: plain_values(parameters["benchmarks"][name]) for name in prepared.benchmarks}},
        "benchmarks": list(prepared.benchmarks),
        "trainings": trainings,
        "timed": timed(prepared, tiny=tiny),
        "tiny": tiny,
    }
    # The pack has the encoder's files in the place of those of the package.
    encoders = about["parameters"]["encoders"]
    encoders[ENCODER]["source"] = "embedded"
    encoders |= {name: encoders[ENCODER] | {"dropout": dropout} for dropout, name in ENCODERS.items()}
    (folder / "pack.json").write_text(json.dumps(about))
    (folder / "run.py").write_bytes(Path(__file__).with_name("run.py").read_bytes())
    _write_archive(folder / "code.zip", _code())
    _write_archive(folder / "packages.zip", _installed(PURE))
    for python in pythons:
        _write_compiled(folder, python)
    return Packed(_megabytes(folder), trainings)


def _megabytes(folder: Path) -> dict[str, float]:
    """Return the size of each file of a pack; stop if they are more than a machine takes."""
    megabytes = {file.name: file.stat().st_size / 1e6 for file in sorted(folder.iterdir()) if file.is_file()}
    total = sum(megabytes.values())
    if total > MOST_MEGABYTES:
        raise SystemExit(f"{folder} has {total:.1f} MB, and a machine takes {MOST_MEGABYTES}: leave a benchmark out")
    return megabytes


Files = Iterator[tuple[str, Path]]
"""Names in an archive, and the files."""


def _write_archive(archive: Path, files: Files) -> None:
    with ZipFile(archive, "w", ZIP_LZMA) as content:
        for name, file in files:
            if file.suffix != ".pyc":
                content.write(file, name)


def _code() -> Files:
    for folder in CODE:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield str(file.relative_to((ROOT / folder).parent)), file


def _installed(packages: Sequence[str]) -> Files:
    """Yield the files of packages of this environment."""
    for package in packages:
        for file in distribution(package).files or ():
            if file.parts[0] != "..":
                yield str(file), Path(str(file.locate()))


def _write_compiled(folder: Path, python: str) -> None:
    """Write the compiled packages for a version of Python: this one's, or wheels of the same versions."""
    major, minor = python.split(".")
    archive = folder / f"packages-cp{major}{minor}.zip"
    if (int(major), int(minor)) == sys.version_info[:2]:
        _write_archive(archive, _installed(COMPILED))
        return
    with tempfile.TemporaryDirectory() as target:
        wheels = [f"{package}=={version(package)}" for package in COMPILED]
        options = ["--no-deps", "--only-binary", ":all:", "--platform", PLATFORM, "--python-version", python]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", target, *options, *wheels]
        subprocess.run(command, check=True)
        files = sorted(file for file in Path(target).rglob("*") if file.is_file())
        _write_archive(archive, ((str(file.relative_to(target)), file) for file in files))
