"""One text file, Markdown or HTML, written atomically."""

from typing import Any

from kedro.io import AbstractDataset

from coattend.datasets.atomic import DataError, local, replacing


class TextDataset(AbstractDataset[str, str]):
    """Saves and loads a text in UTF-8.

    Args:
        filepath: Where the file lies.
        metadata: Not used here; read by kedro-viz and the tracking hooks.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._path = local(filepath)
        self.metadata = metadata

    def load(self) -> str:
        """Read the file."""
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise DataError(
                "does not exist", where=str(self._path), cure="Run the stage that writes it first"
            ) from error
        except (UnicodeDecodeError, OSError) as error:
            raise DataError(
                "is not a text in UTF-8", where=str(self._path), cure="Delete it and run its stage again"
            ) from error

    def save(self, data: str) -> None:
        """Write the file; what UTF-8 cannot hold becomes a question mark."""
        with replacing(self._path) as temporary:
            temporary.write_text(data, encoding="utf-8", errors="replace")

    def _exists(self) -> bool:
        return self._path.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
