"""From books to raw files of cloze questions."""

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from coattend.benchmarks import book_cloze, books, written
from coattend.benchmarks.book_cloze import Words, clozes, read_book, split_books
from coattend.benchmarks.cbt import SPLITS
from coattend.benchmarks.origin import digest_of_code, digest_of_file
from coattend.benchmarks.raw import matches, raw_folder
from coattend.configuration import project_folder
from coattend.engines.choice import map_shards
from coattend.errors import CoattendError
from coattend.parameters import LOCAL, BenchmarkParameters, BookParameters, EngineParameters, TaggingParameters
from coattend.text.tagging import resolve

logger = logging.getLogger(__name__)


def make_clozes(
    benchmark: BenchmarkParameters, tagging: TaggingParameters, engine: EngineParameters = LOCAL
) -> dict[str, Any]:
    """Write questions about names and nouns of books, unless they are there.

    Args:
        benchmark: A benchmark that says where books are.
        tagging: Which tagger tells names and nouns.
        engine: Where books are tagged.

    Returns:
        What was written: settings, digests of books, tagger, code and files.

    Raises:
        CoattendError: If there are fewer books than splits, a book cannot be read, or the disk refuses.
    """
    settings = benchmark.books or BookParameters()
    found = _books(settings, benchmark)
    tagger = resolve(tagging)
    folder = raw_folder(project_folder(), generated=True) / benchmark.name / "clozes"
    digests = {path: digest_of_file(path) for path in found}
    origin = {
        "settings": settings.model_dump(),
        "books": {path.name: digest for path, digest in digests.items()},
        "tagger": tagger.digest,
        "code": digest_of_code([Path(book_cloze.__file__), Path(books.__file__)]),
    }
    known = written.summary_in(folder.parent)
    if known is not None and written.is_written(folder, origin, known):
        return known
    logger.info("Making questions of %d books, tagged by %s, in %s", len(found), tagger.name, folder)
    split = split_books(digests, dev=settings.dev, test=settings.test)
    read = partial(_read, tagger.tagger)
    tagged = dict(map_shards(engine, read, found, workers=benchmark.workers, title=f"Reading {benchmark.title}"))
    return written.write(folder, _files(split, tagged, settings), origin)


def _read(tagger: Any, path: Path) -> tuple[Path, list[Words]]:
    return path, read_book(path, tagger)


def _books(settings: BookParameters, benchmark: BenchmarkParameters) -> list[Path]:
    folder = raw_folder(project_folder()) / settings.folder
    found = sorted({path for pattern in settings.files for path in matches(folder, pattern)})
    fewest = 3 if settings.test else 2
    if len(found) < fewest:
        raise CoattendError(
            f"{benchmark.title} needs {fewest} books or more, one a split, and finds {len(found)} "
            f"(looked for {', '.join(settings.files)})",
            where=str(folder),
            cure="Put plain-text books there, for example from www.gutenberg.org, or set COATTEND_RAW",
        )
    return found


def _files(
    split: dict[str, list[Path]], tagged: dict[Path, list[Words]], settings: BookParameters
) -> Iterator[tuple[str, Iterator[str]]]:
    for name, its in split.items():
        for kind in ("NE", "CN"):
            pieces = (
                piece for path in its for piece in clozes(tagged[path], kind, step=settings.step, seed=settings.seed)
            )
            if its:
                yield f"cbt/cbtest_{kind}_{SPLITS[name]}.txt", pieces
