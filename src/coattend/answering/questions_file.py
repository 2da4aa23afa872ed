"""Files of questions that want answers, read some rows at a time, and their answers as a table in shards."""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from coattend.answering.answerer import Answerer
from coattend.answering.asked import Asked, Refused
from coattend.answering.rows import Answering, Row
from coattend.benchmarks import custom_rows
from coattend.benchmarks.checks import Flaw, need, need_text
from coattend.datasets.sharded import ShardPlan
from coattend.engines.choice import map_shards
from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import LOCAL, EngineParameters
from coattend.text.identity import file_digest, text_id
from coattend.text.subwords import start_worker

VERSION = 2
"""Raised whenever the same reader would answer the same question otherwise."""

LONGEST_ID = 1_000
"""Characters of a question's own id."""

_SHOWN = 3

logger = logging.getLogger(__name__)


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


def plan_of(
    file: Path,
    answerer: Answerer,
    model: str,
    *,
    rows_per_shard: int,
    workers: int | None = 1,
    engine: EngineParameters = LOCAL,
) -> ShardPlan:
    """Plan to answer a file; shards are runs of its rows, and one whose rows and reader are the same is not made again.

    Args:
        file: The file, in the form of the benchmark custom; what it says of right answers is not looked at.
        answerer: The reader.
        model: A digest of the reader.
        rows_per_shard: Rows of a shard.
        workers: How many processes answer; None: one a core, on a GPU one. A cluster's address has its own.
        engine: Where they are.
    """
    workers = workers or (1 if answerer.on_gpu else None)
    settings = json.dumps([VERSION, model, answerer.limits.model_dump(), rows_per_shard])

    def keys() -> dict[str, str]:
        return {name: _key(rows, settings) for name, rows in _shards(file, rows_per_shard)}

    def make(names: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        wanted = set(names)
        asked = ((name, rows) for name, rows in _shards(file, rows_per_shard) if name in wanted)
        how = {"total": len(wanted), "workers": workers, "initializer": start_worker}
        answered, problems = 0, []
        for name, table in map_shards(engine, Answering(answerer), asked, title=f"Answering {file.name}", **how):
            problems = sorted([*problems, *_problems(name, table)])[:_SHOWN]
            answered += table.num_rows
            yield name, table
            logger.info("%s: %d questions asked", file.name, answered)
        if problems:
            shown = "; ".join(told for _, _, told in problems)
            logger.warning("%s: what could not be answered says why in the column problem. The first: %s", file, shown)

    return ShardPlan(
        origin=hashlib.sha256(f"{settings} {file_digest(file)}".encode()).hexdigest(), keys=keys, make=make
    )


def _problems(name: str, table: pa.Table) -> list[tuple[str, int, str]]:
    """What is wrong with rows of a shard, sorted as they stand in the file."""
    rows = enumerate(table.select(["place", "problem"]).to_pylist())
    return [(name, number, f"{row['place']}: {row['problem']}") for number, row in rows if row["problem"]]


def _shards(file: Path, size: int) -> Iterator[tuple[str, list[Row]]]:
    rows: list[Row] = []
    number = 0
    for place, values in custom_rows.rows(file):
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
            if name not in custom_rows.KNOWN:
                raise Flaw(f"has an unknown field {name[:60]!r}. {did_you_mean(name, list(custom_rows.KNOWN))}")
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
    passage, question = (need(values.get(name), str, f"the {name}") for name in custom_rows.NEEDED)
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
