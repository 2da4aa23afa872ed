"""Where NLTK's data lies, without importing NLTK; fetched where that is possible."""

import os
import sys
import threading
import zipfile
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path

PUNKT = "tokenizers/punkt_tab"
TAGGER = "taggers/averaged_perceptron_tagger_eng"
PACKAGES = (PUNKT, TAGGER)

_PATIENCE = 5.0
"""Seconds in which NLTK's server has to answer before the machine counts as offline."""


def raw_folder() -> Path:
    """NLTK data beside the raw files: below the folder that COATTEND_RAW names, or ``data/01_raw``."""
    return Path(os.environ.get("COATTEND_RAW") or "data/01_raw") / "nltk_data"


def usual_folders() -> list[Path]:
    """Where NLTK itself looks, in its order."""
    named = [folder for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    homes = ["~/nltk_data", *(f"{sys.prefix}/{below}" for below in ("nltk_data", "share/nltk_data", "lib/nltk_data"))]
    system = [f"/usr/{below}/nltk_data" for below in ("share", "local/share", "lib", "local/lib")]
    return [Path(folder).expanduser() for folder in (*named, *homes, *system)]


def find(package: str) -> Path | None:
    """The first folder of NLTK data that holds a package, unpacked or as a zip file.

    Args:
        package: Such as ``tokenizers/punkt_tab``.
    """
    for folder in (*usual_folders(), raw_folder()):
        if (folder / package).is_dir() or (folder / f"{package}.zip").is_file():
            return folder.absolute()
    return None


def opened(folder: Path, package: str) -> Traversable:
    """The content of a package that `find` found."""
    unpacked = folder / package
    if unpacked.is_dir():
        return unpacked
    return zipfile.Path(folder / f"{package}.zip", f"{unpacked.name}/")


@cache
def download() -> bool:
    """Fetch what is missing to the place that NLTK chooses; tried once a process, silently.

    Returns:
        Whether all packages are there now.
    """
    import contextlib
    import io

    from nltk.downloader import Downloader

    if _answers(Downloader.DEFAULT_URL):
        names = [Path(package).name for package in PACKAGES if find(package) is None]
        with contextlib.suppress(OSError, ValueError):
            Downloader().download(names, quiet=True, print_error_to=io.StringIO())
    return all(find(package) is not None for package in PACKAGES)


def _answers(address: str) -> bool:
    # NLTK waits two minutes for each read, and looking up a name knows no time limit at all: hence a thread to leave.
    answered = threading.Event()

    def ask() -> None:
        from urllib.request import urlopen

        try:
            with urlopen(address, timeout=_PATIENCE):
                answered.set()
        except OSError:
            pass

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_PATIENCE)
    return answered.is_set()
