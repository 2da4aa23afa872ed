"""Places where bytes from outside come in: each reads an input or refuses it, whatever the bytes are."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from coattend.errors import CoattendError

READER_BOUNDARIES = (
    *("prediction_csv", "prediction_jsonl", "prediction_parquet"),
    *("http_options", "http_span", "http_word"),
)
"""Those behind which a reader answers; they need torch."""

FILE_BOUNDARIES = (
    *("dream", "race", "race_parquet", "recam", "squad", "squad_parquet", "cbt", "cnn", "cnn_relabelled"),
    *("fields", "fields_csv", "mctest", "cmrc2017"),
    *("custom_csv", "custom_jsonl", "custom_parquet", "annotations", "books", "tar_gz", "tar_inside_gz", "zip"),
    "study",
)


@dataclass(frozen=True)
class Boundary:
    """A place where bytes come in.

    Attributes:
        name: Its name, and that of its folder of regression inputs.
        samples: Small valid inputs.
        read: Reads an input from a file and checks the result; it refuses an input by `CoattendError`.
        suffix: End of the file's name.
    """

    name: str
    samples: tuple[bytes, ...]
    read: Callable[[Path], None]
    suffix: str

    def accepts(self, content: bytes, folder: Path) -> bool:
        """Read an input; False if it was refused.

        Raises:
            AssertionError: If the result is wrong.
            Exception: Anything but a refusal is a bug behind the boundary.
        """
        file = folder / f"given{self.suffix}"
        file.write_bytes(content)
        try:
            self.read(file)
        except CoattendError as error:
            # The message goes to terminals and into tables, so that it must be text that can be encoded.
            str(error).encode()
            assert error.problem, "a message without a problem"
            return False
        return True


def boundary_of(name: str) -> Boundary:
    """Find a boundary by its name; the modules are imported only then, as some need torch."""
    if name in READER_BOUNDARIES:
        from reader_boundaries import boundaries
    else:
        from file_boundaries import boundaries
    return {boundary.name: boundary for boundary in boundaries()}[name]
