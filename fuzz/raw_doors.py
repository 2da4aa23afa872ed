"""The doors of raw files: every native format, what annotators wrote, books, and archives."""

import csv
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coattend.benchmarks import native
from coattend.benchmarks.annotations import types_of
from coattend.benchmarks.archives import members
from coattend.benchmarks.books import paragraphs
from coattend.benchmarks.files import decode, read_bytes
from coattend.benchmarks.raw import RawFile
from coattend.benchmarks.reading import gather
from coattend.parameters import BenchmarkParameters, SourceParameters
from fuzz.door import Door
from fuzz.invariants import check

MOST = 4_000
"""Characters of the longest text."""

SPAN = {"id": "s1", "passage": "The lamp 😀 is here.", "question": "Where?", "answers": [{"text": "here", "start": 14}]}
UNANSWERED = {"id": "s2", "passage": "The lamp is here.", "question": "When?", "answers": [], "subset": "hall"}


def doors() -> Iterator[Door]:
    """All of them."""
    spans = "".join(json.dumps(row) + "\n" for row in (SPAN, UNANSWERED))
    formats: dict[str, tuple[str, dict[str, Any], str, tuple[bytes, ...]]] = {
        "dream": ("dream", {}, ".json", (_written(native.dream),)),
        "race": ("race", {}, ".txt", (_written(native.race, 1),)),
        "race_parquet": ("race_parquet", {}, ".parquet", (parquet_of(_race_rows()), _typed(_race_rows()))),
        "recam": ("recam", {}, ".jsonl", (_written(native.recam),)),
        "squad": (
            "squad",
            {},
            ".json",
            (_written(partial(native.squad, "v2.0")), _written(partial(native.squad, "1.1"))),
        ),
        "squad_parquet": ("squad_parquet", {}, ".parquet", (parquet_of(_squad_rows()), _typed(_squad_rows()))),
        "cbt": ("cbt", {}, "_NE_train.txt", (_written(partial(native.cbt, "NE")),)),
        "cnn": ("cnn", {}, ".question", (_written(native.cnn, 1),)),
        "cnn_relabelled": ("cnn", {"entities": "relabelled"}, ".question", (_written(native.cnn, 1),)),
        "custom_csv": ("custom", {}, ".csv", (_written(partial(native.custom, "csv")), _csv_of_spans())),
        "custom_jsonl": ("custom", {}, ".jsonl", (_written(partial(native.custom, "jsonl")), spans.encode())),
        "custom_parquet": (
            "custom",
            {},
            ".parquet",
            (_written(partial(native.custom, "parquet")), parquet_of([SPAN, UNANSWERED])),
        ),
    }
    for name, (form, options, suffix, whole) in formats.items():
        source = SourceParameters(format=form, folder="given", files={"train": ["*"]}, options=options)
        yield Door(name, whole, partial(_gathered, source), suffix)
    yield Door("annotations", (b"dialogueID\tquestionIndex\tm\n1-2\t1\tm,s\n1-2\t2\tl\n",), _annotations, "_dev.txt")
    yield Door("books", (_BOOK.encode(),), _book, ".txt")
    yield Door("tar_gz", (gzip.compress(_tar(), mtime=0), _tar()), _archive, ".tar.gz")
    yield Door("tar_inside_gz", (_tar(),), _zipped_archive, ".tar.gz")
    yield Door("zip", (_zip(zipfile.ZIP_DEFLATED), _zip(zipfile.ZIP_STORED), _zip(zipfile.ZIP_BZIP2)), _archive, ".zip")


def _gathered(source: SourceParameters, file: Path) -> None:
    about = {"name": "given", "title": "Given", "tasks": ("options", "span", "word"), "max_characters": MOST}
    benchmark = BenchmarkParameters(**about, sources=(source,), drop_asked=True)
    check(gather(benchmark, [RawFile(file, "train", source)]), most=MOST)


def _annotations(file: Path) -> None:
    for name, types in types_of([file]).items():
        assert name.rpartition("-")[2].isdecimal() and types, "types of no question"


def _book(file: Path) -> None:
    assert all(block.strip() == block for block in paragraphs(decode(read_bytes(file), file)))


def _archive(file: Path) -> None:
    for member in members(file):
        assert ".." not in member.inside.parts and not member.inside.is_absolute(), "a path that leads out"
        member.read_bytes()


def _zipped_archive(file: Path) -> None:
    file.write_bytes(gzip.compress(file.read_bytes(), 1, mtime=0))
    _archive(file)


def _written(write: Callable[..., Iterator[str | bytes]], count: int = 2) -> bytes:
    pieces = write(Random(0), "train", range(count), 0.5)
    return b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces)


def _csv_of_spans() -> bytes:
    with io.StringIO(newline="") as text:
        table = csv.writer(text)
        table.writerow(["id", "passage", "question", "answer", "start"])
        table.writerow(["s1", SPAN["passage"], SPAN["question"], "here", 14])
        table.writerow(["s2", 'A "lamp",\nor two.', "When?", "", ""])
        return text.getvalue().encode()


def _race_rows() -> list[dict[str, Any]]:
    exam = json.loads(_written(native.race, 1))
    asked = zip(exam["questions"], exam["options"], exam["answers"], strict=True)
    about = {"example_id": exam["id"], "article": exam["article"]}
    return [about | {"question": one, "options": options, "answer": answer} for one, options, answer in asked]


def _squad_rows() -> list[dict[str, Any]]:
    (article,) = json.loads(_written(partial(native.squad, "v2.0")))["data"]
    rows = []
    for paragraph in article["paragraphs"]:
        for one in paragraph["qas"]:
            answers = {key: [answer[key] for answer in one["answers"]] for key in ("text", "answer_start")}
            about = {"id": one["id"], "title": article["title"], "context": paragraph["context"]}
            rows.append(about | {"question": one["question"], "answers": answers})
    return rows


def parquet_of(rows: list[dict[str, Any]]) -> bytes:
    """Rows as a Parquet file."""
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), content, compression="none")
    return content.getvalue()


def _typed(rows: list[dict[str, Any]]) -> bytes:
    """The same, with texts as other programs store them."""
    table = pa.Table.from_pylist(rows)
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            kind = pa.large_string() if place else pa.dictionary(pa.int32(), pa.string())
            table = table.set_column(place, field.name, table.column(place).cast(kind))
    content = io.BytesIO()
    pq.write_table(table, content, compression="snappy")
    return content.getvalue()


def _tar() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, text in (("set/dev.json", b"[]"), (f"set/{'long' * 40}.json", b"[1]" * 400), ("set/ä.json", b"{}")):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return content.getvalue()


def _zip(kind: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", kind) as archive:
        for name, text in (("set/dev.json", "[]"), ("set/ä.json", "[1]" * 400)):
            archive.writestr(zipfile.ZipInfo(name), text, kind)
    return content.getvalue()


_BOOK = """\
*** START OF THIS BOOK ***

THE LAMP

It was a _busy_ week in the village. “The lamp,” said Mary, “is gone.”

[Illustration: a lamp]

Nobody knew
where it was.

*** END OF THIS BOOK ***
"""
