"""What tables of a benchmark are made from: raw files, parameters, and the code that reads them."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from coattend.benchmarks.files import CURE
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters
from coattend.text import identity, occurrences, questions
from coattend.text.identity import file_digest

READ_BY = {"sources", "max_characters", "drop_asked", "scored"}
"""The parameters of a benchmark that decide how its files are read."""


def digest(files: Iterable[tuple[str | None, Path]], benchmark: BenchmarkParameters) -> str:
    """A hash of raw files, of how they are read, and of the code that reads them.

    Args:
        files: Raw files with their splits, in the order in which they are read.
        benchmark: How they are read.

    Raises:
        CoattendError: If a file cannot be read.
    """
    content = hashlib.sha256(benchmark.model_dump_json(include=READ_BY).encode())
    elsewhere = (Path(module.__file__) for module in (identity, occurrences, questions))
    content.update(digest_of_code([*Path(__file__).parent.glob("*.py"), *elsewhere]).encode())
    for split, path in files:
        content.update(f"{split} {path.name} {digest_of_file(path)}".encode())
    return content.hexdigest()


def digest_of_file(path: Path) -> str:
    """A hash of a raw file.

    Raises:
        CoattendError: If it cannot be read.
    """
    try:
        return file_digest(path)
    except OSError as error:
        raise CoattendError(f"cannot be read ({error.strerror})", where=str(path), cure=CURE) from error


def digest_of_code(files: Iterable[Path]) -> str:
    """A hash of source files."""
    content = hashlib.sha256()
    for path in sorted(files):
        content.update(path.read_bytes())
    return content.hexdigest()
