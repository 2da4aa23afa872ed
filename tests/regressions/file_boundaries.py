"""Boundaries of files: every native format, question types, books, archives and studies' YAML."""

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
from boundary import Boundary

from coattend import studies
from coattend.config import BenchmarkParameters, SourceParameters
from coattend.data.archives import members
from coattend.data.book_cloze import paragraphs
from coattend.data.formats.dream import read_annotations
from coattend.data.formats.reading import decode, read_bytes
from coattend.data.ingest import BenchmarkTables, read_tables
from coattend.data.raw_files import RawFile
from coattend.data.synthetic import serializers
from coattend.io.schema_validator import SchemaValidator
from coattend.schemas import SCHEMAS
from coattend.text.cloze import candidate_positions

MAX_CHARACTERS = 4_000
"""Characters of the longest text that is read."""

Row = dict[str, Any]

SPAN_ROW: Row = {
    "id": "s1",
    "passage": "The lamp 😀 is here.",
    "question": "Where?",
    "answers": [{"text": "here", "start": 14}],
}
UNANSWERABLE_ROW: Row = {
    "id": "s2",
    "passage": "The lamp is here.",
    "question": "When?",
    "answers": [],
    "subset": "hall",
}


FIELDS_SPANS: Row = {
    "questions": "data[].qas[]",
    "passage": "context",
    "question": "question",
    "id": "id",
    "answer": "answers[].text",
    "answer_is": "span",
    "start": "answers[].start",
}
FIELDS_CHOICES: Row = {
    "passage": "passage",
    "question": "question",
    "options": ["a", "b"],
    "answer": "answer",
    "answer_is": "letter",
}


def boundaries() -> Iterator[Boundary]:
    """All of them."""
    span_lines = "".join(json.dumps(row) + "\n" for row in (SPAN_ROW, UNANSWERABLE_ROW)).encode()
    span_parquet = parquet_of([SPAN_ROW, UNANSWERABLE_ROW])
    cnn = (_sample(serializers.cnn, 1),)
    formats: dict[str, tuple[str, dict[str, Any], str, tuple[bytes, ...]]] = {
        "dream": ("dream", {}, ".json", (_sample(serializers.dream),)),
        "race": ("race", {}, ".txt", (_sample(serializers.race, 1),)),
        "race_parquet": ("race_parquet", {}, ".parquet", (parquet_of(_race_rows()), _other_strings(_race_rows()))),
        "recam": ("recam", {}, ".jsonl", (_sample(serializers.recam),)),
        "squad": (
            "squad",
            {},
            ".json",
            tuple(_sample(partial(serializers.squad, version)) for version in ("v2.0", "1.1")),
        ),
        "squad_parquet": ("squad_parquet", {}, ".parquet", (parquet_of(_squad_rows()), _other_strings(_squad_rows()))),
        "cbt": ("cbt", {}, "_NE_train.txt", (_sample(partial(serializers.cbt, "NE")),)),
        "cnn": ("cnn", {}, ".question", cnn),
        "cnn_relabelled": ("cnn", {"entities": "relabelled"}, ".question", cnn),
        "custom_csv": ("custom", {}, ".csv", (_sample(partial(serializers.custom, "csv")), _csv_of_spans())),
        "custom_jsonl": ("custom", {}, ".jsonl", (_sample(partial(serializers.custom, "jsonl")), span_lines)),
        "custom_parquet": ("custom", {}, ".parquet", (_sample(partial(serializers.custom, "parquet")), span_parquet)),
    }
    for name, (format_name, options, suffix, samples) in formats.items():
        source = SourceParameters(format=format_name, folder="given", files={"train": ["*"]}, options=options)
        yield Boundary(name, samples, partial(_read_benchmark, source), suffix)
    yield Boundary("fields", (_FIELDS.encode(),), partial(_read_benchmark, _fields_source(FIELDS_SPANS)), ".json")
    choices = partial(_read_benchmark, _fields_source(FIELDS_CHOICES))
    yield Boundary("fields_csv", (b"passage,question,a,b,answer\nAnna sang.,Who?,Anna,Ben,A\n",), choices, ".csv")
    yield from _beside_answers()
    yield Boundary("annotations", (b"dialogueID\tquestionIndex\tm\n1-2\t1\tm,s\n1-2\t2\tl\n",), _read_types, "_dev.txt")
    yield Boundary("books", (_BOOK.encode(),), _read_book, ".txt")
    yield Boundary("tar_gz", (gzip.compress(_tar(), mtime=0), _tar()), _read_archive, ".tar.gz")
    # Compressed behind the mutation, so that changes reach the headers inside.
    yield Boundary("tar_inside_gz", (_tar(),), _read_compressed_archive, ".tar.gz")
    methods = (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2)
    yield Boundary("zip", tuple(map(_zip, methods)), _read_archive, ".zip")
    yield Boundary("study", (_STUDIES.encode(),), _read_study, ".yml")


def _fields_source(fields: Row) -> SourceParameters:
    return SourceParameters(format="fields", folder="given", files={"train": ["*"]}, fields=fields)


def _beside_answers() -> Iterator[Boundary]:
    """Formats whose answers lie in a file beside the questions, which stays whole here."""
    letters = "".join(f"one: Who is {number}?\tw\tx\ty\tz\t" for number in range(4)).rstrip("\t")
    samples = {
        "mctest": (f"story.0\tAuthor: 1\tAnna sang.\t{letters}\n", ".tsv", ".ans", "A\tB\tC\tD\n"),
        "cmrc2017": (
            "1 ||| 小猫 爱 鱼 。\n<qid_0> ||| 小猫 爱 XXXXX 。\n",
            ".doc_query",
            ".answer",
            "<qid_0> ||| 鱼\n",
        ),
    }
    for name, (sample, suffix, answers_suffix, answers) in samples.items():
        source = SourceParameters(format=name, folder="given", files={"train": ["*"]})
        read = partial(_read_beside_answers, source, answers_suffix, answers)
        yield Boundary(name, (sample.encode(),), read, suffix)


def _read_beside_answers(source: SourceParameters, suffix: str, answers: str, file: Path) -> None:
    file.with_suffix(suffix).write_text(answers, encoding="utf-8")
    _read_benchmark(source, file)


def _read_benchmark(source: SourceParameters, file: Path) -> None:
    benchmark = BenchmarkParameters(
        name="given",
        title="Given",
        tasks=("options", "span", "word"),
        max_characters=MAX_CHARACTERS,
        sources=(source,),
        drop_asked=True,
    )
    check_tables(read_tables(benchmark, [RawFile(file, "train", source)]))


def _read_types(file: Path) -> None:
    for question_id, types in read_annotations([file]).items():
        assert question_id.rpartition("-")[2].isdecimal() and types, "types of no question"


def _read_book(file: Path) -> None:
    assert all(block.strip() == block for block in paragraphs(decode(read_bytes(file), file)))


def _read_archive(file: Path) -> None:
    for member in members(file):
        assert ".." not in member.path.parts and not member.path.is_absolute(), "a path that leads out"
        member.read_bytes()


def _read_compressed_archive(file: Path) -> None:
    file.write_bytes(gzip.compress(file.read_bytes(), 1, mtime=0))
    _read_archive(file)


def _read_study(file: Path) -> None:
    """Read a study, build its pipeline and make its parameters, as Kedro does before anything runs."""
    from coattend.pipeline_registry import study_pipeline

    read_studies = studies.read_studies(file)
    assert read_studies, "no study"
    for study in read_studies:
        assert study_pipeline(study).nodes, "nothing to run"
        study.parameters.model_dump_json()


def check_tables(tables: BenchmarkTables) -> None:
    """Check what holds of every table that is made of raw files, whatever was in them.

    Raises:
        AssertionError: With what is wrong.
    """
    passages = _rows("passages", tables.passages)
    questions = _rows("questions", tables.questions)
    rejected = _rows("rejected", tables.rejected)
    texts = {row["passage_id"]: row["text"] for row in passages}
    assert len(texts) == len(passages), "two passages with one id"
    assert len({row["question_id"] for row in questions}) == len(questions), "two questions with one id"
    assert sum(tables.usable.values()) == len(questions), "another count of questions"
    for row in passages:
        text = row["text"]
        is_text = 0 < len(text) <= MAX_CHARACTERS and any(map(str.isalnum, text))
        assert row["passage_id"].strip() and is_text, "a passage without text"
        assert row["turns"] is None or "\n".join(row["turns"]) == text, "turns that are not the passage"
    for row in questions:
        _check_question(row, texts[row["passage_id"]])
    assert all(row["file"] and row["record"] and row["reason"] for row in rejected), "rejected without a reason"


def _rows(name: str, table: Any) -> list[Row]:
    batches = [SchemaValidator(name).validate(batch) for batch in table]
    return pa.concat_tables(batches).to_pylist() if batches else SCHEMAS[name].empty_table().to_pylist()


def _check_question(row: Row, passage: str) -> None:
    assert row["question_id"].strip(), "a question without an id"
    assert row["question"].strip() and len(row["question"]) <= MAX_CHARACTERS, "a question without text"
    options, label, answers = row["options"], row["label"], row["answers"]
    if row["task"] == "span":
        assert options is None and label is None, "options of a span"
        assert row["answerable"] == bool(answers), "answers to an unanswerable question"
        for answer in answers:
            start, end = answer["start"], answer["start"] + len(answer["text"])
            assert start >= 0 and passage[start:end] == answer["text"] and answer["text"].strip(), "no such span"
        return
    assert answers is None and len(options) >= 2, "too few options"
    assert all(option.strip() and len(option) <= MAX_CHARACTERS for option in options), "an option without text"
    assert label is None or 0 <= label < len(options), "a label of no option"
    if row["task"] == "word":
        assert candidate_positions(passage, options)[label], "a word that is not in the passage"


def _sample(write: Callable[..., Iterator[str | bytes]], count: int = 2) -> bytes:
    pieces = write(Random(0), "train", range(count), 0.5)
    return b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces)


def _csv_of_spans() -> bytes:
    with io.StringIO(newline="") as text:
        table = csv.writer(text)
        table.writerow(["id", "passage", "question", "answer", "start"])
        table.writerow(["s1", SPAN_ROW["passage"], SPAN_ROW["question"], "here", 14])
        table.writerow(["s2", 'A "lamp",\nor two.', "When?", "", ""])
        return text.getvalue().encode()


def _race_rows() -> list[Row]:
    exam = json.loads(_sample(serializers.race, 1))
    questions = zip(exam["questions"], exam["options"], exam["answers"], strict=True)
    shared = {"example_id": exam["id"], "article": exam["article"]}
    return [shared | {"question": text, "options": options, "answer": answer} for text, options, answer in questions]


def _squad_rows() -> list[Row]:
    (article,) = json.loads(_sample(partial(serializers.squad, "v2.0")))["data"]
    rows = []
    for paragraph in article["paragraphs"]:
        for question in paragraph["qas"]:
            answers = {key: [answer[key] for answer in question["answers"]] for key in ("text", "answer_start")}
            shared = {"id": question["id"], "title": article["title"], "context": paragraph["context"]}
            rows.append(shared | {"question": question["question"], "answers": answers})
    return rows


def parquet_of(rows: list[Row]) -> bytes:
    """Write rows as a Parquet file."""
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), content, compression="none")
    return content.getvalue()


def _other_strings(rows: list[Row]) -> bytes:
    """Write rows with strings as other programs store them: large, or of a dictionary."""
    table = pa.Table.from_pylist(rows)
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            string_type = pa.large_string() if index else pa.dictionary(pa.int32(), pa.string())
            table = table.set_column(index, field.name, table.column(index).cast(string_type))
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


def _zip(method: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, text in (("set/dev.json", "[]"), ("set/ä.json", "[1]" * 400)):
            archive.writestr(zipfile.ZipInfo(name), text, method)
    return content.getvalue()


_FIELDS = json.dumps(
    {"data": [{"context": "The lamp 😀 is here.", "qas": [SPAN_ROW, {"id": "s3", "question": "?", "answers": []}]}]}
)

_BOOK = """\
*** START OF THIS BOOK ***

THE LAMP

It was a _busy_ week in the village. “The lamp,” said Mary, “is gone.”

[Illustration: a lamp]

Nobody knew
where it was.

*** END OF THIS BOOK ***
"""

_STUDIES = """\
paper:
  title: "A paper"
  authors: [Ann, Bob]
  year: 2021
  venue: GitHub
  key: paper2021
studies:
  table1:
    title: Accuracy of two readers
    source: A paper, table 1
    benchmarks: [dream, race]
    protocol: finetuned
    seeds: [0, 1]
    search: { trials: 2, space: { learning_rate: { low: 0.00001, high: 0.001, log: true } } }
    training: { dream: { epochs: 2 } }
    base: &base
      reader: plain
      encoder: minilm
      training: { evaluations: 10 }
    baseline: plain
    variants:
      plain: { title: Plain }
      duma: { title: DUMA, change: { reader: duma, layers: 2, training: { epochs: 3 } }, against: plain }
      poi_net: { title: POI-Net, change: { reader: poi_net, turns: 3 }, benchmarks: [dream] }
    shows: [curve, parameters]
    examples:
      - { benchmark: dream, question: 1-1, printed: { duma: There. } }
    printed:
      - encoder: ALBERT-xxlarge
        numbers:
          plain: { dream: { dev: 83.4, test: { accuracy: 84.4 } }, parameters_millions: 200 }
    cited:
      - { name: A system, mark: "*", numbers: { race: { test: 88.8, test/middle: 90.1 } } }
    notes: [Something to know.]
    budget_hours: 2.5
  figure2:
    title: Turns
    source: A paper, figure 2
    benchmarks: [dream]
    base: *base
    baseline: one
    variants:
      one: { title: One, change: { training: { train_on: { dream: [], race: high } } } }
      two: { title: Two, change: { training: { start_from: one, epochs: 2 } } }
"""
