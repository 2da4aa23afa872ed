"""Node of the book_cloze pipeline: from books to raw files of cloze questions."""

import logging
from functools import partial
from pathlib import Path

from coattend.config import LOCAL, BenchmarkParameters, BookParameters, EngineParameters, TaggingParameters
from coattend.pipelines.annotations import Manifest, TaggedSentence, Tagger

logger = logging.getLogger(__name__)


def make_clozes(
    benchmark: BenchmarkParameters, tagging: TaggingParameters, engine: EngineParameters = LOCAL
) -> Manifest:
    """Write questions about names and nouns of books, as the tagger identifies them, unless they are current."""
    from coattend.config.project import raw_folder
    from coattend.data import book_cloze
    from coattend.data.formats import cbt
    from coattend.data.generated_files import Origin, is_current, read_manifest, write_files
    from coattend.data.raw_files import raw_file_digest
    from coattend.parallel.engine import map_shards
    from coattend.text.hashing import combined_digest
    from coattend.text.tagging import load_tagger

    settings = benchmark.books or BookParameters()
    books = book_cloze.find_books(settings, raw_folder(), benchmark.title)
    tagger = load_tagger(tagging)
    digests = {path: raw_file_digest(path) for path in books}
    origin: Origin = {
        "settings": settings.model_dump(),
        "books": {str(path.relative_to(raw_folder())): digest for path, digest in digests.items()},
        "tagger": tagger.digest,
        "code": combined_digest([Path(book_cloze.__file__), Path(cbt.__file__)]),
    }
    folder = raw_folder(generated=True) / benchmark.name / "clozes"
    manifest = read_manifest(folder.parent)
    if manifest is not None and is_current(folder, origin, manifest):
        return manifest
    logger.info("Making questions of %d books, tagged by %s, in %s", len(books), tagger.name, folder)
    read = partial(_read_book, tagger.tagger)
    sentences = dict(map_shards(engine, read, books, workers=benchmark.workers, title=f"Reading {benchmark.title}"))
    return write_files(folder, book_cloze.cloze_files(sentences, digests, settings), origin)


def _read_book(tagger: Tagger, path: Path) -> tuple[Path, list[TaggedSentence]]:
    from coattend.data.book_cloze import read_book

    return path, read_book(path, tagger)
