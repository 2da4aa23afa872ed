"""NLTK's punkt sentences and averaged perceptron tags."""

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coattend.errors import CoattendError
from coattend.text import nltk_data
from coattend.text.perceptron import Perceptron


@dataclass(frozen=True)
class NltkTagger:
    """NLTK's tagger; small until it tags, so that worker processes get it cheaply.

    Attributes:
        punkt: Folder of NLTK data that holds punkt.
        tagger: Folder of NLTK data that holds the tagger.
    """

    punkt: Path
    tagger: Path
    name = "nltk averaged_perceptron_tagger_eng"

    @property
    def digest(self) -> str:
        """A hash of the data files that it reads."""
        content = hashlib.sha256()
        punkt = nltk_data.opened(self.punkt, nltk_data.PUNKT) / "english"
        for folder in (punkt, nltk_data.opened(self.tagger, nltk_data.TAGGER)):
            for file in sorted(folder.iterdir(), key=lambda one: one.name):
                content.update(f"{file.name}\n".encode() + file.read_bytes())
        return content.hexdigest()

    def sentence_spans(self, line: str) -> Iterable[tuple[int, int]]:
        """Punkt's sentences."""
        spans: Iterable[tuple[int, int]] = _punkt(self.punkt).span_tokenize(line)
        return spans

    def tag(self, sentences: Sequence[list[str]]) -> list[list[str]]:
        """The perceptron's tags of the words of each sentence."""
        return _perceptron(self.tagger).tag(sentences)


@cache
def _punkt(folder: Path) -> Any:
    import nltk

    with _without_links(folder) as plain:
        # NLTK takes the first copy in its own list of folders, and reads nowhere else.
        nltk.data.path.insert(0, str(plain))
        try:
            return nltk.tokenize.PunktTokenizer("english")
        except (LookupError, OSError, ValueError) as error:
            raise _broken(folder, nltk_data.PUNKT) from error
        finally:
            nltk.data.path.remove(str(plain))


@contextmanager
def _without_links(folder: Path) -> Iterator[Path]:
    # The Hub's cache holds links to its blobs, and NLTK follows none that leaves its folder.
    punkt = folder / nltk_data.PUNKT
    if not any(file.is_symlink() for file in punkt.rglob("*")):
        yield folder
        return
    with TemporaryDirectory() as copied:
        shutil.copytree(punkt, Path(copied) / nltk_data.PUNKT)
        yield Path(copied)


@cache
def _perceptron(folder: Path) -> Perceptron:
    try:
        return Perceptron.load(nltk_data.opened(folder, nltk_data.TAGGER))
    except (OSError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _broken(folder, nltk_data.TAGGER) from error


def _broken(folder: Path, package: str) -> CoattendError:
    name = Path(package).name
    return CoattendError(
        "is not whole",
        where=f"NLTK data {folder / package}",
        cure=f"Delete it and run `python -m nltk.downloader {name}`",
    )
