"""Files of questions that want answers, read some rows at a time, and their answers as a table in shards."""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from coattend.answering.answerer import Answerer
from coattend.answering.asked import Asked, Refused
from coattend.benchmarks import custom
from coattend.benchmarks.checks import Flaw, need, need_text, storable
from coattend.datasets.sharded import ShardPlan
from coattend.errors import CoattendError, did_you_mean
from coattend.tables import ANSWERS
from coattend.text.identity import file_digest, text_id

VERSION = 1
"""Raised whenever the same reader would answer the same question otherwise."""

LONGEST_ID = 1_000
"""Characters of a question's own id."""

_SHOWN = 3

logger = logging.getLogger(__name__)


class Row(NamedTuple):
    """A row of the file.

    Attributes:
        id: The question's own id, or a hash of its texts.
        place: Where it stands.
        asked: The question, or what is wrong with the row.
    """

    id: str
    place: str
    asked: Asked | Refused


def file_of(given: str | None, *, where: str = "prediction.input") -> Path:
    """The file that a parameter names.

    Raises:
        CoattendError: If it names none, or none that is there.
    """
    if not given:
        cure = f"Name one: --params {where}=my.jsonl; its columns are explained in coattend/benchmarks/custom.py"
        raise CoattendError("names no file of questions", where=where, cure=cure)
    file = Path(given)
    if not file.is_file():
        near = sorted(str(one) for one in file.parent.glob("*") if one.suffix in (".csv", ".jsonl", ".parquet"))
        cure = did_you_mean(given, near) if near else "Check the path"
        raise CoattendError(f"there is no file {given!r}", where=where, cure=cure)
    return file


def plan_of(file: Path, answerer: Answerer, model: str, *, rows_per_shard: int) -> ShardPlan:
    """Plan to answer a file; shards are runs of its rows, and one whose rows and reader are the same is not made again.

    Args:
        file: The file, in the form of the benchmark custom; what it says of right answers is not looked at.
        answerer: The reader.
        model: A digest of the reader.
        rows_per_shard: Rows of a shard.
    """
    settings = json.dumps([VERSION, model, answerer.limits.model_dump(), rows_per_shard])

    def keys() -> dict[str, str]:
        return {name: _key(rows, settings) for name, rows in _shards(file, rows_per_shard)}

    def make(names: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        wanted, answered, problems = set(names), 0, []
        for name, rows in _shards(file, rows_per_shard):
            if name not in wanted:
                continue
            table = _answered(rows, answerer)
            problems += [f"{row['place']}: {row['problem']}" for row in table.to_pylist() if row["problem"]][:_SHOWN]
            answered += table.num_rows
            yield name, table
            logger.info("%s: %d questions asked, up to %s", file.name, answered, rows[-1].place)
        if problems:
            shown = "; ".join(problems[:_SHOWN])
            logger.warning("%s: what could not be answered says why in the column problem. The first: %s", file, shown)

    return ShardPlan(
        origin=hashlib.sha256(f"{settings} {file_digest(file)}".encode()).hexdigest(), keys=keys, make=make
    )


def _shards(file: Path, size: int) -> Iterator[tuple[str, list[Row]]]:
    rows: list[Row] = []
    number = 0
    for place, values in custom.rows(file):
        rows.append(_row(place, values))
        if len(rows) == size:
            yield f"{number:08d}", rows
            rows, number = [], number + 1
    if rows:
        yield f"{number:08d}", rows


def _row(place: str, values: Any) -> Row:
    try:
        if isinstance(values, Flaw):
            raise values
        for name in need(values, dict, "the line"):
            if name not in custom.KNOWN:
                raise Flaw(f"has an unknown field {name[:60]!r}. {did_you_mean(name, list(custom.KNOWN))}")
        asked = asked_of(values)
        given = values.get("id")
        if isinstance(given, str):
            need_text(given, "the id", max_characters=LONGEST_ID)
        elif given is not None:
            need(given, int, "the id")
        texts = "\n".join([asked.passage, asked.question, *(asked.options or ())])
        return Row(text_id(texts) if given is None else f"{given}", place, asked)
    except Flaw as flaw:
        return Row("", place, Refused(str(flaw)))


def asked_of(values: dict[str, Any]) -> Asked:
    """A question from the fields that files and requests give it; an empty list of options is none.

    Raises:
        Flaw: If one is no text, or the options are no list of texts.
    """
    passage, question = (need(values.get(name), str, f"the {name}") for name in custom.NEEDED)
    options = values.get("options")
    if options is None or (isinstance(options, list) and not options):
        return Asked(passage, question)
    listed = need(options, list, "the list of options")
    return Asked(passage, question, tuple(need(one, str, f"option {n}") for n, one in enumerate(listed, 1)))


def _key(rows: Sequence[Row], settings: str) -> str:
    content = hashlib.sha256(settings.encode())
    for row in rows:
        told = [row.asked.problem] if isinstance(row.asked, Refused) else list(vars(row.asked).values())
        content.update(json.dumps([row.id, row.place, told]).encode())
    return content.hexdigest()


def _answered(rows: Sequence[Row], answerer: Answerer) -> pa.Table:
    given = answerer.answers([row.asked for row in rows if isinstance(row.asked, Asked)])
    told = []
    for row in rows:
        one = row.asked if isinstance(row.asked, Refused) else next(given)
        # A question that holds half a surrogate pair is refused, and no table can store it as it is.
        question = None if isinstance(row.asked, Refused) else storable(row.asked.question)
        result = {"problem": one.message} if isinstance(one, Refused) else one
        told.append({"id": row.id, "place": row.place, "question": question} | result)
    return pa.Table.from_pylist(told, schema=ANSWERS)
