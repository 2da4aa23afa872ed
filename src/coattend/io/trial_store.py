"""Folder of all trials, as a catalog entry: a node reads and writes trials while it runs, so that training resumes; and
that of their records, which are read where they are."""

from pathlib import Path

from coattend.io.local_dataset import LookupDataset


class TrialsDataset(LookupDataset[Path]):
    """Loads as the path of a folder with one folder per trial, which trials write themselves."""

    refusal = "is written by trials, not saved as a whole"

    def load(self) -> Path:
        """Create the folder if needed and return its path."""
        self.filepath.mkdir(parents=True, exist_ok=True)
        return self.filepath


class RecordsDataset(LookupDataset[Path]):
    """Loads as the path of a folder with a folder of records for each study, whether there are any or not."""

    refusal = "is written by studies, not saved as a whole"

    def load(self) -> Path:
        """Return the path."""
        return self.filepath
