"""One JSON file, written atomically."""

import json
from typing import Any, NewType

from kedro.io import AbstractDataset

from coattend.datasets.atomic import DataError, local
from coattend.datasets.seals import check, is_whole, sealed

JSONPreview = NewType("JSONPreview", str)


class JSONDataset(AbstractDataset[Any, Any]):
    """Saves and loads what JSON can hold.

    Args:
        filepath: Where the file lies.
        optional: Whether a missing file is loaded as None instead of being an error. It still does not exist.
        metadata: Not used here; read by kedro-viz and the tracking hooks.
    """

    def __init__(self, *, filepath: str, optional: bool = False, metadata: dict[str, Any] | None = None) -> None:
        self._path = local(filepath)
        self.optional = optional
        self.metadata = metadata

    def load(self) -> Any:
        """Read the file."""
        try:
            check(self._path, cure="Delete it and run its stage again")
            return json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            if self.optional:
                return None
            raise DataError(
                "does not exist", where=str(self._path), cure="Run the stage that writes it first"
            ) from error
        except (ValueError, OSError) as error:
            raise DataError(
                "is not a whole JSON file", where=str(self._path), cure="Delete it and run its stage again"
            ) from error

    def save(self, data: Any) -> None:
        """Write the file, unless it says the same; numbers that are not finite are refused."""
        try:
            text = json.dumps(data, indent=1, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise DataError(f"JSON cannot hold what was to be written: {error}", where=str(self._path)) from error
        if self._says(text + "\n"):
            return
        with sealed(self._path) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")

    def _says(self, text: str) -> bool:
        try:
            return is_whole(self._path) and self._path.read_bytes() == text.encode()
        except OSError:
            return False

    def _exists(self) -> bool:
        return self._path.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}

    def preview(self) -> JSONPreview:
        """The whole content for kedro-viz."""
        return JSONPreview(json.dumps(self.load()))
