"""A benchmark without its texts: arrays of tokens, tags and labels, from which its tables are built again.

Tables look texts up by a hash of them. Here the name of its row stands for each text, so that everything behind the
tables works as it does on the texts themselves. What a span is scored by, the passage between two characters, is put
together from the tokens: lower case, without accents. Text proper never leaves the machine at home.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_LZMA, ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from coattend.batches.tokens import Tokens
from coattend.config import BenchmarkParameters
from coattend.schemas import PASSAGES, QUESTIONS, TOKENS, read_passage_texts
from coattend.text.cloze import domains_of, fill_blank
from coattend.text.hashing import text_id

Arrays = dict[str, np.ndarray]

TABLES = ("questions", "passages", "tokens")
UNKNOWN = "[UNK]"
NAMES = ("question_id", "passage_id", "group", "split", "subset")
"""Columns that name a question and what it belongs to; they are packed as they are."""


class Tables(NamedTuple):
    """The tables of a benchmark that readers of subwords read."""

    questions: pads.Dataset
    passages: pads.Dataset
    tokens: pads.Dataset


def shrink(tables: Tables, benchmark: BenchmarkParameters, tasks: Sequence[str] = ("options", "span")) -> Arrays:
    """Return the questions of some tasks as arrays of numbers, with the tokens of their texts alone.

    Rows of tokens are numbered anew, in the order of the questions, so that a passage stands before what is asked about
    it and repeats its words: this is what compresses them.
    """
    source = Tokens.from_table(tables.tokens)
    texts = read_passage_texts(tables.passages)
    rows: dict[int, int] = {}

    def row(text: str) -> int:
        return rows.setdefault(source.row(text), len(rows))

    questions = [question for question in tables.questions.to_table().to_pylist() if question["task"] in tasks]
    domains = [domains_of(question, benchmark) for question in questions]
    numbers = [
        [row(texts[question["passage_id"]]), *(row(text) for text in dict.fromkeys(_flat(domain)))]
        for question, domain in zip(questions, domains, strict=True)
    ]
    arrays: Arrays = {name: _names(question[name] for question in questions) for name in NAMES}
    arrays |= {
        "passage": np.array([first for first, *_ in numbers], np.int32),
        # The question, unless options fill its blank, and each distinct option or filled question.
        "texts": _joined([rest for _, *rest in numbers]),
        "text_count": np.array([len(rest) for _, *rest in numbers], np.uint8),
        "options": _joined([_option_numbers(domain) for domain in domains]).astype(np.uint8),
        "option_count": np.array([len(question["options"] or ()) for question in questions], np.uint8),
        "filled": np.array([len(domain[0]) == 1 and len(domain) > 1 for domain in domains], bool),
        "span": np.array([question["task"] == "span" for question in questions], bool),
        "label": np.array([-1 if question["label"] is None else question["label"] for question in questions], np.int8),
        "answerable": np.array([question["answerable"] for question in questions], bool),
        "answer_count": np.array([len(question["answers"] or ()) for question in questions], np.uint8),
        "answers": np.array(
            [(gold["start"], len(gold["text"])) for question in questions for gold in question["answers"] or ()],
            np.uint16,
        ).reshape(-1, 2),
    }
    return arrays | _shrink_tokens(source, list(rows), with_offsets=bool(arrays["span"].any()))


def _flat(domain: list[list[str]]) -> Iterator[str]:
    """Yield the texts of a question's domain, the question first."""
    for texts in domain:
        yield from texts


def _option_numbers(domain: list[list[str]]) -> list[int]:
    """Return the number of each option, or filled question, among the distinct texts of a domain."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(_flat(domain)))}
    return [numbers[texts[-1]] for texts in domain]


def _joined(lists: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([number for numbers in lists for number in numbers], np.int32)


def _names(values: Iterator[str | None]) -> np.ndarray:
    """Return names as bytes with line ends between; None is empty."""
    return np.frombuffer("\n".join(value or "" for value in values).encode(), np.uint8)


def _shrink_tokens(source: Tokens, rows: Sequence[int], *, with_offsets: bool) -> Arrays:
    """Return ids and tags of rows, and where they lie in their texts if spans are asked for.

    A tag, and the number of a token's characters, is packed as its rank among those of the same token: nearly always 0.
    """
    chosen = np.concatenate([np.arange(source.slice(row).start, source.slice(row).stop) for row in rows])
    ids, tags = source.input_ids[chosen], source.tag_ids[chosen]
    arrays = {
        "lengths": np.array([source.length(row) for row in rows], np.uint16),
        "ids": ids.astype(np.uint16),
    }
    arrays["tags"], arrays["tags_by_rank"] = _ranks(ids, tags)
    if with_offsets:
        starts, ends = source.starts[chosen], source.ends[chosen]
        before = np.concatenate([[0], ends[:-1]])
        before[np.cumsum([0, *arrays["lengths"][:-1]], dtype=np.int64)[arrays["lengths"] > 0]] = 0
        arrays["gaps"] = (starts - before).astype(np.int16)
        arrays["widths"], arrays["widths_by_rank"] = _ranks(ids, ends - starts)
    return arrays


def _ranks(ids: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of each value among those of its token, and the values by token and rank."""
    counts = np.zeros((int(ids.max()) + 1, int(values.max()) + 1), np.int32)
    np.add.at(counts, (ids, values), 1)
    by_rank = np.argsort(-counts, axis=1, kind="stable").astype(np.uint16)
    rank_of = np.argsort(by_rank, axis=1)
    ranks = rank_of[ids, values]
    return ranks.astype(np.min_scalar_type(int(ranks.max()))), by_rank


def restore(arrays: Arrays, *, pieces: Sequence[str], metadata: Mapping[str, str]) -> dict[str, pa.Table]:
    """Build the tables of a benchmark from its arrays, with names in the place of texts.

    Args:
        arrays: What `shrink` returned.
        pieces: The tokenizer's words by id, of which passages with spans are put together.
        metadata: That of the tokens table: tagger and tokenizer.
    """
    ends = np.cumsum(arrays["lengths"], dtype=np.int64)
    names = [f"t{row}" for row in range(len(ends))]
    starts_of, ends_of = _offsets(arrays)
    for row in set(arrays["passage"][arrays["span"]].tolist()):
        part = slice(int(ends[row]) - int(arrays["lengths"][row]), int(ends[row]))
        names[row] = _spelt(arrays["ids"][part], starts_of[part], ends_of[part], pieces)
    questions = _questions(arrays, names)
    passages = dict(zip((row["passage_id"] for row in questions), arrays["passage"].tolist(), strict=True))
    # A filled question is looked up by the name that its blank and option make; the same text may have others.
    filled = {
        fill_blank(question["question"], option): row
        for question, rows in zip(questions, _filled_rows(arrays), strict=True)
        for option, row in zip(question["options"] or (), rows, strict=False)
    }
    order = pa.array([*range(len(names)), *filled.values()])
    tags = arrays["tags_by_rank"][arrays["ids"], arrays["tags"]]
    columns = {
        "input_ids": arrays["ids"].astype(np.int32),
        "tag_ids": tags.astype(np.int8),
        "starts": starts_of,
        "ends": ends_of,
    }
    offsets = pa.array(np.concatenate([[0], ends]).astype(np.int32))
    lists = {name: pa.ListArray.from_arrays(offsets, pa.array(values)).take(order) for name, values in columns.items()}
    text_ids = pa.array([text_id(name) for name in (*names, *filled)])
    schema = pa.schema([TOKENS.field("text_id"), *(TOKENS.field(name) for name in columns)], metadata=dict(metadata))
    tokens = pa.table({"text_id": text_ids} | lists, schema=schema)
    passage_rows = [
        {"passage_id": name, "text": names[row], "turns": None, "source": ""} for name, row in passages.items()
    ]
    return {
        "questions": pa.Table.from_pylist(questions, schema=QUESTIONS),
        "passages": pa.Table.from_pylist(passage_rows, schema=PASSAGES),
        "tokens": tokens,
    }


def _offsets(arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Return the first character of each token in its text, and that behind its last; zeros if they were not packed."""
    if "gaps" not in arrays:
        zeros = np.zeros(len(arrays["ids"]), np.int32)
        return zeros, zeros
    widths = arrays["widths_by_rank"][arrays["ids"], arrays["widths"]].astype(np.int32)
    ends = np.cumsum(arrays["gaps"] + widths, dtype=np.int64)
    lengths = arrays["lengths"].astype(np.int64)
    firsts = np.cumsum(lengths) - lengths
    before = np.concatenate([[0], ends])[firsts]
    ends = (ends - np.repeat(before, lengths)).astype(np.int32)
    return ends - widths, ends


def _spelt(ids: np.ndarray, starts: np.ndarray, ends: np.ndarray, pieces: Sequence[str]) -> str:
    """Write each token at its characters; what is between them is blank."""
    letters = [" "] * (int(ends[-1]) if len(ends) else 0)
    for number, start, end in zip(ids.tolist(), starts.tolist(), ends.tolist(), strict=True):
        piece = pieces[number].removeprefix("##")
        width = end - start
        # An unknown token, or one that its text spells longer or shorter, still differs from no token.
        letters[start:end] = "u" * width if piece == UNKNOWN else piece[:width].ljust(width, "x")
    return "".join(letters)


def _parts(values: np.ndarray, counts: np.ndarray) -> list[list[Any]]:
    return [part.tolist() for part in np.split(values, np.cumsum(counts.astype(np.int64))[:-1])]


def _filled_rows(arrays: Arrays) -> list[list[int]]:
    """Return the rows of each question's filled texts by option; none where options follow the question."""
    texts = _parts(arrays["texts"], arrays["text_count"])
    options = _parts(arrays["options"], _domain_counts(arrays))
    filled = arrays["filled"].tolist()
    return [
        [rows[number] for number in numbers] if is_filled else []
        for rows, numbers, is_filled in zip(texts, options, filled, strict=True)
    ]


def _domain_counts(arrays: Arrays) -> np.ndarray:
    """Return the number of each question's sequences: one for a span, else one for each option."""
    return np.where(arrays["span"], 1, arrays["option_count"])


def _questions(arrays: Arrays, names: Sequence[str]) -> list[dict[str, Any]]:
    columns = {name: arrays[name].tobytes().decode().split("\n") for name in NAMES}
    texts = _parts(arrays["texts"], arrays["text_count"])
    options = _parts(arrays["options"], _domain_counts(arrays))
    answers = _parts(arrays["answers"], arrays["answer_count"])
    questions = []
    for number, rows in enumerate(texts):
        is_span, filled = bool(arrays["span"][number]), bool(arrays["filled"][number])
        passage = names[int(arrays["passage"][number])]
        label = int(arrays["label"][number])
        question = {name: column[number] for name, column in columns.items()}
        # Equal options of a filled question have one row, and must have one name.
        option_names = [f"o{option}" if filled else names[rows[option]] for option in options[number]]
        questions.append(
            question
            | {
                "subset": question["subset"] or None,
                "task": "span" if is_span else "options",
                "question": f"q{number} _" if filled else names[rows[0]],
                "options": None if is_span else option_names,
                "label": None if label < 0 else label,
                "answers": [{"text": passage[start : start + size], "start": start} for start, size in answers[number]]
                if is_span
                else None,
                "answerable": bool(arrays["answerable"][number]),
                "question_types": None,
            }
        )
    return questions


def write(arrays: Arrays, file: Path, **about: Any) -> None:
    """Write arrays into an archive, with JSON values beside them."""
    with ZipFile(file, "w", ZIP_LZMA) as archive:
        archive.writestr("about.json", json.dumps(about))
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def read(file: Path) -> tuple[Arrays, dict[str, Any]]:
    """Read an archive that `write` has written."""
    with ZipFile(file) as archive:
        about: dict[str, Any] = json.loads(archive.read("about.json"))
        arrays = {}
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    arrays[name.removesuffix(".npy")] = np.lib.format.read_array(member, allow_pickle=False)
    return arrays, about


def store(tables: Mapping[str, pa.Table], folder: Path) -> Tables:
    """Write the tables of a benchmark, and open them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return load(folder)


def load(folder: Path) -> Tables:
    """Open the tables that `store` has written."""
    return Tables(*(pads.dataset(folder / f"{name}.parquet") for name in TABLES))
