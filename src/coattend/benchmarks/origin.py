"""What tables of a benchmark are made from: raw files, parameters, and the code that reads them."""

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from coattend.benchmarks.files import CURE
from coattend.errors import CoattendError
from coattend.parameters import BenchmarkParameters

READ_BY = {"sources", "max_characters", "drop_asked"}
"""The parameters of a benchmark that decide how its files are read."""


def digest(files: Iterable[Path], benchmark: BenchmarkParameters) -> str:
    """A hash of raw files, of how they are read, and of the code that reads them.

    Raises:
        CoattendError: If a file cannot be read.
    """
    content = hashlib.sha256(benchmark.model_dump_json(include=READ_BY).encode())
    content.update(_code().encode())
    for path in files:
        try:
            with path.open("rb") as file:
                content.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}".encode())
        except OSError as error:
            raise CoattendError(f"cannot be read ({error.strerror})", where=str(path), cure=CURE) from error
    return content.hexdigest()


@cache
def _code() -> str:
    content = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        content.update(path.read_bytes())
    return content.hexdigest()
