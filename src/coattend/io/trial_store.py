"""Folder of all trials, as a catalog entry: a node reads and writes trials while it runs, so that training resumes."""

from pathlib import Path

from coattend.io.local_dataset import LookupDataset


class TrialsDataset(LookupDataset[Path]):
    """Loads as the path of a folder with one folder per trial, which trials write themselves."""

    refusal = "is written by trials, not saved as a whole"

    def load(self) -> Path:
        """Create the folder if needed and return its path."""
        self.filepath.mkdir(parents=True, exist_ok=True)
        return self.filepath
