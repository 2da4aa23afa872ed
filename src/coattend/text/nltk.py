"""NLTK's punkt sentences and averaged perceptron tags, and their data, which is found without importing NLTK."""

import hashlib
import io
import os
import shutil
import sys
import threading
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from coattend.errors import CoattendError
from coattend.text.perceptron import Perceptron
from coattend.text.word_tokenizer import Sentence, split_sentences

if TYPE_CHECKING:
    from nltk.tokenize import PunktTokenizer

PUNKT = "tokenizers/punkt_tab"
TAGGER = "taggers/averaged_perceptron_tagger_eng"
PACKAGES = (PUNKT, TAGGER)

TIMEOUT_S = 5.0
"""Seconds in which NLTK's server has to answer before the machine counts as offline."""


def raw_data_folder() -> Path:
    """Return the folder of NLTK data beside the raw files."""
    from coattend.config.project import raw_folder  # Kedro is not at hand wherever texts are read.

    return raw_folder() / "nltk_data"


def search_folders() -> list[Path]:
    """List the folders that NLTK itself searches, in its order."""
    environment = [folder for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    homes = ["~/nltk_data", *(f"{sys.prefix}/{below}" for below in ("nltk_data", "share/nltk_data", "lib/nltk_data"))]
    system = [f"/usr/{below}/nltk_data" for below in ("share", "local/share", "lib", "local/lib")]
    return [Path(folder).expanduser() for folder in (*environment, *homes, *system)]


def find_package(package: str) -> Path | None:
    """Find the first folder of NLTK data with a package (``tokenizers/punkt_tab``), unpacked or as a zip file."""
    for folder in (*search_folders(), raw_data_folder()):
        if (folder / package).is_dir() or (folder / f"{package}.zip").is_file():
            return folder.absolute()
    return None


def open_package(folder: Path, package: str) -> Traversable:
    """Open a package in the folder that `find_package` returned."""
    unpacked = folder / package
    return unpacked if unpacked.is_dir() else zipfile.Path(folder / f"{package}.zip", f"{unpacked.name}/")


@cache
def download_packages() -> bool:
    """Download missing packages to NLTK's default folder, silently, once a process; return True if all exist now."""
    from nltk.downloader import Downloader

    if _is_reachable(Downloader.DEFAULT_URL):
        names = [Path(package).name for package in PACKAGES if find_package(package) is None]
        with suppress(OSError, ValueError):
            Downloader().download(names, quiet=True, print_error_to=io.StringIO())
    return all(find_package(package) is not None for package in PACKAGES)


def _is_reachable(address: str) -> bool:
    # NLTK waits two minutes for each read, and the look-up of a name has no time limit at all: hence the thread.
    reachable = threading.Event()

    def request() -> None:
        from urllib.request import urlopen

        with suppress(OSError), urlopen(address, timeout=TIMEOUT_S):  # noqa: S310 (the address is NLTK's own)
            reachable.set()

    thread = threading.Thread(target=request, daemon=True)
    thread.start()
    thread.join(TIMEOUT_S)
    return reachable.is_set()


@dataclass(frozen=True)
class NltkTagger:
    """NLTK's tagger: the folders of its data, which it loads when it tags, so that it is cheap to send to workers."""

    punkt: Path
    tagger: Path
    name = "nltk averaged_perceptron_tagger_eng"

    @property
    def digest(self) -> str:
        """A hash of the data files."""
        content = hashlib.sha256()
        for folder in (open_package(self.punkt, PUNKT) / "english", open_package(self.tagger, TAGGER)):
            for file in sorted(folder.iterdir(), key=lambda file: file.name):
                content.update(f"{file.name}\n".encode() + file.read_bytes())
        return content.hexdigest()

    def sentence_spans(self, line: str) -> Iterable[tuple[int, int]]:
        """Return punkt's sentences."""
        spans: Iterable[tuple[int, int]] = _load_punkt(self.punkt).span_tokenize(line)
        return spans

    def split(self, text: str) -> Iterable[Sentence]:
        """Split a text into sentences and NLTK's Treebank words."""
        return split_sentences(text, self.sentence_spans)

    def tag(self, sentences: Sequence[list[str]]) -> list[list[str]]:
        """Tag the words of each sentence with the perceptron."""
        return _load_perceptron(self.tagger).tag(sentences)


@cache
def _load_punkt(folder: Path) -> "PunktTokenizer":
    import nltk

    with _without_links(folder) as data_folder:
        # NLTK takes the first copy in its own list of folders, and reads from no other path.
        nltk.data.path.insert(0, str(data_folder))
        try:
            return nltk.tokenize.PunktTokenizer("english")
        except (LookupError, OSError, ValueError) as error:
            raise _damaged(folder, PUNKT) from error
        finally:
            nltk.data.path.remove(str(data_folder))


@contextmanager
def _without_links(folder: Path) -> Iterator[Path]:
    # The Hub's cache holds links to its blobs, and NLTK follows none that leaves its folder.
    punkt = folder / PUNKT
    if not any(file.is_symlink() for file in punkt.rglob("*")):
        yield folder
        return
    with TemporaryDirectory() as copy:
        shutil.copytree(punkt, Path(copy) / PUNKT)
        yield Path(copy)


@cache
def _load_perceptron(folder: Path) -> Perceptron:
    try:
        return Perceptron.load(open_package(folder, TAGGER))
    except (OSError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _damaged(folder, TAGGER) from error


def _damaged(folder: Path, package: str) -> CoattendError:
    cure = f"Delete it and run `python -m nltk.downloader {Path(package).name}`"
    return CoattendError("is not whole", where=f"NLTK data {folder / package}", cure=cure)
