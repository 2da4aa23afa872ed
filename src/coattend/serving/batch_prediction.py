"""Answer a file of questions in shards."""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, starmap
from pathlib import Path
from typing import Any, NamedTuple, cast

import pyarrow as pa

from coattend.config import LOCAL, EngineParameters
from coattend.data.formats import custom
from coattend.data.formats.base import InvalidRecord
from coattend.data.formats.checks import escape_surrogates, require, require_text
from coattend.errors import CoattendError, did_you_mean
from coattend.io.sharded import ShardPlan
from coattend.parallel.engine import map_shards
from coattend.schemas import ANSWERS
from coattend.serving.predictor import Predictor
from coattend.serving.queries import InvalidQuery, Query, parse_query
from coattend.text.hashing import file_digest, text_id
from coattend.text.tokenizer import start_worker
from coattend.trials.device import single_thread


class Row(NamedTuple):
    """Row of a file of questions: its id there or a hash of its texts, its location, and the query or its refusal."""

    id: str
    place: str
    query: Query | InvalidQuery


class ShardPredictor:
    """Answers shards of rows. When pickled, it carries only the reader's folder, which the other process loads once.

    A shard is answered with one thread, also where it is the only one: how many threads share a sum decides about its
    last digits, and the same file shall have the same answers with however many processes. A reader that was loaded
    from no folder answers in this process alone.
    """

    def __init__(self, answerer: Predictor) -> None:
        self._answerer: Predictor | None = answerer
        self._folder, self._limits = answerer.folder, answerer.limits

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"_answerer": None}

    def __call__(self, shard: tuple[str, Sequence[Row]]) -> tuple[str, pa.Table]:
        """Answer a shard; return its name and a table of `coattend.schemas.ANSWERS` with a row for each of its rows."""
        if self._answerer is None:
            # A copy without its reader was pickled, which needs a folder.
            self._answerer = Predictor.load(cast("Path", self._folder), limits=self._limits)
        name, rows = shard
        with single_thread():
            return name, _answer_rows(rows, self._answerer)


def _answer_rows(rows: Sequence[Row], answerer: Predictor) -> pa.Table:
    answers = answerer.answers([row.query for row in rows if isinstance(row.query, Query)])
    records: list[dict[str, object]] = []
    for row in rows:
        answer = row.query if isinstance(row.query, InvalidQuery) else next(answers)
        # A question that holds half a surrogate pair is refused, and no table can store it as it is.
        question = None if isinstance(row.query, InvalidQuery) else escape_surrogates(row.query.question)
        fields: Mapping[str, object] = {"problem": answer.message} if isinstance(answer, InvalidQuery) else answer
        records.append({"id": row.id, "place": row.place, "question": question, **fields})
    return pa.Table.from_pylist(records, schema=ANSWERS)


VERSION = 2
"""Version of the answers; to be raised when the same reader would answer the same question differently."""

_LOGGED_PROBLEMS = 3

logger = logging.getLogger(__name__)


def questions_file(path: str | None) -> Path:
    """Return the file of questions that the parameter ``prediction.input`` names; raise if it is not there."""
    where = "prediction.input"
    if not path:
        cure = f"Name one: --params {where}=my.jsonl; its columns are explained in coattend/data/formats/custom.py"
        raise CoattendError("names no file of questions", where=where, cure=cure)
    file = Path(path)
    if not file.is_file():
        candidates = sorted(
            str(candidate) for candidate in file.parent.glob("*") if candidate.suffix in (".csv", ".jsonl", ".parquet")
        )
        cure = did_you_mean(path, candidates) if candidates else "Check the path"
        raise CoattendError(f"there is no file {path!r}", where=where, cure=cure)
    return file


def plan_answers(
    file: Path,
    answerer: Predictor,
    model: str,
    *,
    rows_per_shard: int,
    workers: int | None = 1,
    engine: EngineParameters = LOCAL,
) -> ShardPlan:
    """Plan the answers to a file in shards of rows; a shard with the same rows and reader is not computed again.

    Args:
        file: The file, in the form of the benchmark custom; its right answers are ignored.
        answerer: The reader.
        model: A digest of the reader.
        rows_per_shard: Questions that are answered before their answers are written.
        workers: Number of processes; None: one per core, one on a GPU. A cluster has its own.
        engine: Local processes or a cluster.
    """
    workers = workers or (1 if answerer.on_gpu else None)
    # Whatever may change an answer is part of each shard's key.
    settings = json.dumps([VERSION, model, answerer.limits.model_dump(), rows_per_shard])

    def keys() -> dict[str, str]:
        return {name: _shard_key(rows, settings) for name, rows in _shards(file, rows_per_shard)}

    def make(names: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        missing = set(names)
        shards = ((name, rows) for name, rows in _shards(file, rows_per_shard) if name in missing)
        answered, title = 0, f"Answering {file.name}"
        problems: list[tuple[str, int, str]] = []
        predict = ShardPredictor(answerer)
        for name, table in map_shards(
            engine, predict, shards, total=len(missing), workers=workers, initializer=start_worker, title=title
        ):
            # Shards finish in any order; the first problems are those of the file's first rows.
            problems = sorted([*problems, *_problems(name, table)])[:_LOGGED_PROBLEMS]
            answered += table.num_rows
            yield name, table
            logger.info("%s: %d questions asked", file.name, answered)
        if problems:
            examples = "; ".join(problem for _, _, problem in problems)
            message = "%s: what could not be answered says why in the column problem. The first: %s"
            logger.warning(message, file, examples)

    origin = hashlib.sha256(f"{settings} {file_digest(file)}".encode()).hexdigest()
    return ShardPlan(origin=origin, keys=keys, make=make)


def _problems(name: str, table: pa.Table) -> list[tuple[str, int, str]]:
    """Collect the problems of a shard's rows, in the order of the file."""
    rows = enumerate(table.select(["place", "problem"]).to_pylist())
    return [(name, number, f"{row['place']}: {row['problem']}") for number, row in rows if row["problem"]]


def _shards(file: Path, size: int) -> Iterator[tuple[str, list[Row]]]:
    rows = starmap(_parse_row, custom.read_rows(file))
    # The first empty slice ends the shards.
    for number, shard in enumerate(iter(lambda: list(islice(rows, size)), [])):
        yield f"{number:08d}", shard


def _parse_row(place: str, values: Any) -> Row:
    try:
        # A line that holds no record still gets a row, whose problem says why.
        if isinstance(values, InvalidRecord):
            raise values
        for name in require(values, dict, "the line"):
            if name not in custom.COLUMNS:
                raise InvalidRecord(f"has an unknown field {name[:60]!r}. {did_you_mean(name, list(custom.COLUMNS))}")
        query = parse_query(values)
        question_id = values.get("id")
        if isinstance(question_id, str):
            require_text(question_id, "the id", max_characters=custom.MAX_ID_CHARACTERS)
        elif question_id is not None:
            require(question_id, int, "the id")
        texts = "\n".join([query.passage, query.question, *(query.options or ())])
        return Row(text_id(texts) if question_id is None else f"{question_id}", place, query)
    except InvalidRecord as flaw:
        return Row("", place, InvalidQuery(str(flaw)))


def _shard_key(rows: Sequence[Row], settings: str) -> str:
    content = hashlib.sha256(settings.encode())
    for row in rows:
        query = [row.query.problem] if isinstance(row.query, InvalidQuery) else list(vars(row.query).values())
        content.update(json.dumps([row.id, row.place, query]).encode())
    return content.hexdigest()
