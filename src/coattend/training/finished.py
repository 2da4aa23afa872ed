"""Finished trials by the beginnings of their ids, and what they answered."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coattend.datasets.seals import check
from coattend.errors import CoattendError
from coattend.tables import PREDICTIONS
from coattend.training.trial import PREDICTIONS_FILE, record

_MOST_NAMED = 5


@dataclass(frozen=True)
class FinishedTrial:
    """A trial that came to something.

    Attributes:
        folder: Where it keeps everything; named after its id.
        content: What it is, as it stands in ``trial.json``.
        outcome: What it came to, as it stands in ``outcome.json``.
    """

    folder: Path
    content: dict[str, Any]
    outcome: dict[str, Any]

    @property
    def id(self) -> str:
        """Its id."""
        return self.folder.name

    @property
    def benchmark(self) -> str:
        """What it was trained on."""
        return self.content["benchmark"]

    def about(self) -> dict[str, Any]:
        """What it is and what it came to: both files in one, the encoder by its name and by its files."""
        return self.content | self.outcome | {"encoder_files": self.content["encoder"]}

    def __str__(self) -> str:
        return "{id} ({reader} on {benchmark}, {head}, seed {seed})".format(id=self.id, **self.content)


def find_pair(store: Path, left: str | None, right: str | None) -> tuple[FinishedTrial, FinishedTrial]:
    """Two different trials of one benchmark.

    Args:
        store: The folder of all trials.
        left: Id of the first or its beginning, with ``/`` and the key of its answers where that is asked for.
        right: The second, likewise.

    Raises:
        CoattendError: If one is not given, not there, not finished or not the only one of that beginning; if both are
            the same, or of different benchmarks. It names the nearest that will do.
    """
    known = finished(store)
    first = _find(store, known, left, "compare.left")
    others = [one for one in known if one.benchmark == first.benchmark and one.id != first.id]
    second = _find(store, known, right, "compare.right", offered=others, of=first.benchmark)
    near = (right or "").partition("/")[0]
    if second.id == first.id:
        raise CoattendError(
            f"is the trial {first.id} as well", where="compare.right", cure=_nearest(others, near, of=first.benchmark)
        )
    if second.benchmark != first.benchmark:
        problem = f"{second.id} was trained on {second.benchmark}, and {first.id} on {first.benchmark}"
        raise CoattendError(problem, where="compare.right", cure=_nearest(others, near, of=first.benchmark))
    return first, second


def find_trial(store: Path, given: str | None, where: str) -> FinishedTrial:
    """The finished trial whose id begins so.

    Args:
        store: The folder of all trials.
        given: An id or its beginning; None names none, and is told what there is.
        where: The parameter that names it.

    Raises:
        CoattendError: If there is none, or more than one, or it is not finished. It names the nearest that will do.
    """
    return _find(store, finished(store), given, where)


def answers_of(trial: FinishedTrial, given: str, question_ids: pa.ChunkedArray, benchmark: str) -> pa.Table:
    """What a trial answered to questions.

    They are read from the trial's own folder: the readers' tables have copies of them, which the next run of a reader
    with other parameters replaces.

    Args:
        trial: The trial.
        given: How it was asked for; a key, or its beginning, behind ``/`` chooses among several files of answers.
        question_ids: The questions.
        benchmark: Whose questions they are.

    Returns:
        Rows of a predictions table, other questions' among them.

    Raises:
        CoattendError: If it answered none of them, or several times.
    """
    key = given.partition("/")[2]
    files = sorted(trial.folder.glob(PREDICTIONS_FILE.format(key="*")))
    found = {}
    for file in files:
        answers = _read(file)
        if _key(file).startswith(key) and pc.any(pc.is_in(answers["question_id"], question_ids)).as_py():
            found[file] = answers
    if not found:
        raise CoattendError(
            f"has answered no question of {benchmark}" + (f" in a file of the key {key!r}" if key else ""),
            where=f"trial {trial.id}",
            cure="Run the pipeline evaluation of its reader, with the parameters that it was trained with",
        )
    if len(found) > 1:
        named = "; ".join(f"{trial.id}/{_key(file)} ({_written(file)})" for file in sorted(found, key=_age))
        raise CoattendError(
            f"has answered these questions {len(found)} times: with other tags, other limits, or before they changed",
            where=f"trial {trial.id}",
            cure=f"Name one, the latest first: {named}",
        )
    return next(iter(found.values()))


def finished(store: Path) -> list[FinishedTrial]:
    """All trials that came to something, by their ids; those with a damaged record are not among them."""
    folders = sorted(file.parent for file in store.glob("*/outcome.json"))
    found = ((folder, record(folder / "trial.json"), record(folder / "outcome.json")) for folder in folders)
    return [FinishedTrial(folder, content, outcome) for folder, content, outcome in found if content and outcome]


def _find(
    store: Path,
    known: Collection[FinishedTrial],
    given: str | None,
    where: str,
    offered: Collection[FinishedTrial] | None = None,
    of: str | None = None,
) -> FinishedTrial:
    beginning = (given or "").partition("/")[0]
    offered = known if offered is None else offered
    if not beginning:
        raise CoattendError("names no trial", where=where, cure=_nearest(offered, "", of=of))
    found = [one for one in known if one.id.startswith(beginning)]
    if len(found) > 1:
        raise CoattendError(f"{beginning!r} begins several ids", where=where, cure=_nearest(found, beginning))
    if not found:
        begun = any(folder.name.startswith(beginning) for folder in store.iterdir())
        problem = f"the trial {beginning!r} is not finished" if begun else f"there is no trial {beginning!r}"
        raise CoattendError(problem, where=where, cure=_nearest(offered, beginning, of=of))
    return found[0]


def _nearest(trials: Collection[FinishedTrial], beginning: str, of: str | None = None) -> str:
    """The trials whose ids are the likest."""
    if not trials:
        which = f"No other trial of {of}" if of else "No trial"
        return f"{which} is finished: run the pipelines training and evaluation first"
    nearest = sorted(trials, key=lambda one: (-SequenceMatcher(None, beginning, one.id).ratio(), one.id))[:_MOST_NAMED]
    more = len(trials) - len(nearest)
    listed = "; ".join(map(str, nearest)) + (f"; and {more} more" if more else "")
    return f"Finished trials: {listed}"


def _read(file: Path) -> pa.Table:
    cure = "Delete it and run the pipeline evaluation again"
    try:
        check(file, cure=cure)
        return pq.read_table(file, schema=PREDICTIONS)
    except (pa.ArrowInvalid, OSError) as error:
        raise CoattendError("is not a whole Parquet file", where=str(file), cure=cure) from error


def _key(file: Path) -> str:
    before, after = PREDICTIONS_FILE.split("{key}")
    return file.name.removeprefix(before).removesuffix(after)


def _age(file: Path) -> float:
    return -file.stat().st_mtime


def _written(file: Path) -> str:
    return f"written {datetime.fromtimestamp(file.stat().st_mtime):%Y-%m-%d %H:%M}"
