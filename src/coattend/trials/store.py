"""Finished trials by the beginnings of their ids, and their predictions."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coattend.config.source import run_command
from coattend.errors import CoattendError
from coattend.evaluation.records import TrialDescription
from coattend.io.atomic import verify_checksum
from coattend.schemas import PREDICTIONS
from coattend.trials.trial import PREDICTIONS_FILE, TrialContent, TrialOutcome, read_content, read_outcome

_MAX_SUGGESTIONS = 5
"""Trials that an error message lists."""


@dataclass(frozen=True)
class FinishedTrial:
    """A trial with an outcome: its folder, which is named after its id, and its ``trial.json`` and ``outcome.json``."""

    folder: Path
    content: TrialContent
    outcome: TrialOutcome

    @property
    def id(self) -> str:
        """Its id."""
        return self.folder.name

    @property
    def benchmark(self) -> str:
        """Name of the benchmark that it was trained on."""
        return self.content["benchmark"]

    def description(self) -> TrialDescription:
        """Merge content and outcome; ``encoder`` is its name, ``encoder_files`` its digests."""
        merged: TrialDescription = {**self.content, **self.outcome, "encoder_files": self.content["encoder"]}  # type: ignore[typeddict-item]
        return merged

    def __str__(self) -> str:
        return "{id} ({reader} on {benchmark}, {head}, seed {seed})".format(id=self.id, **self.content)


def find_pair(store: Path, left: str | None, right: str | None) -> tuple[FinishedTrial, FinishedTrial]:
    """Find two different trials of one benchmark by the beginnings of their ids.

    Behind ``/`` a key of a trial's predictions may follow. Errors list the nearest candidates.
    """
    trials = finished_trials(store)
    first = _find(store, trials, left, "compare.left")
    candidates = [trial for trial in trials if trial.benchmark == first.benchmark and trial.id != first.id]
    second = _find(store, trials, right, "compare.right", candidates=candidates, benchmark=first.benchmark)
    if second in candidates:
        return first, second
    problem = f"{second.id} was trained on {second.benchmark}, and {first.id} on {first.benchmark}"
    if second.id == first.id:
        problem = f"is the trial {first.id} as well"
    cure = _suggestions(candidates, (right or "").partition("/")[0], benchmark=first.benchmark)
    raise CoattendError(problem, where="compare.right", cure=cure)


def find_trial(store: Path, name: str | None, where: str) -> FinishedTrial:
    """Find the finished trial whose id begins with a name; the error about a missing one lists the nearest ones."""
    return _find(store, finished_trials(store), name, where)


def answers_of(trial: FinishedTrial, name: str, question_ids: pa.ChunkedArray, benchmark: str) -> pa.Table:
    """Read a trial's predictions for questions from its own folder, among others' rows.

    The readers' tables have copies of them, which the next run of a reader with other parameters replaces. Behind ``/``
    in the name that the user gave, a key, or its beginning, chooses among several files.

    Raises:
        CoattendError: If it answered none of them, or several times.
    """
    key = name.partition("/")[2]
    # A file of predictions counts if it has an answer to any of the questions.
    tables = {}
    for file in sorted(trial.folder.glob(PREDICTIONS_FILE.format(key="*"))):
        answers = _read_predictions(file)
        if _key(file).startswith(key) and pc.any(pc.is_in(answers["question_id"], question_ids)).as_py():
            tables[file] = answers
    if not tables:
        raise CoattendError(
            f"has answered no question of {benchmark}" + (f" in a file of the key {key!r}" if key else ""),
            where=f"trial {trial.id}",
            cure="Run the pipeline evaluation of its reader, with the parameters that it was trained with",
        )
    if len(tables) > 1:
        newest_first = sorted(tables, key=lambda file: -file.stat().st_mtime)
        listed = "; ".join(f"{trial.id}/{_key(file)} ({_written_at(file)})" for file in newest_first)
        raise CoattendError(
            f"has answered these questions {len(tables)} times: with other tags, other limits, or before they changed",
            where=f"trial {trial.id}",
            cure=f"Name one, the latest first: {listed}",
        )
    return next(iter(tables.values()))


def finished_trials(store: Path) -> list[FinishedTrial]:
    """List all trials with an outcome by their ids, but for those with a damaged record."""
    folders = sorted(file.parent for file in store.glob("*/outcome.json"))
    records = ((folder, read_content(folder), read_outcome(folder)) for folder in folders)
    return [FinishedTrial(folder, content, outcome) for folder, content, outcome in records if content and outcome]


def _find(
    store: Path,
    trials: Collection[FinishedTrial],
    name: str | None,
    where: str,
    candidates: Collection[FinishedTrial] | None = None,
    benchmark: str | None = None,
) -> FinishedTrial:
    """Find a trial; errors suggest the candidates, which are all trials unless some are given."""
    prefix = (name or "").partition("/")[0]
    candidates = trials if candidates is None else candidates
    if not prefix:
        raise CoattendError("names no trial", where=where, cure=_suggestions(candidates, "", benchmark=benchmark))
    # A trial with a folder but no outcome is unfinished, and worth another message.
    matches = [trial for trial in trials if trial.id.startswith(prefix)]
    if len(matches) > 1:
        raise CoattendError(f"{prefix!r} begins several ids", where=where, cure=_suggestions(matches, prefix))
    if not matches:
        unfinished = any(folder.name.startswith(prefix) for folder in store.iterdir())
        problem = f"the trial {prefix!r} is not finished" if unfinished else f"there is no trial {prefix!r}"
        raise CoattendError(problem, where=where, cure=_suggestions(candidates, prefix, benchmark=benchmark))
    return matches[0]


def _suggestions(trials: Collection[FinishedTrial], prefix: str, benchmark: str | None = None) -> str:
    """List the trials whose ids are most similar to a prefix."""
    if not trials:
        if benchmark:
            command = run_command(namespaces=f"{benchmark}.<reader>", with_params=False)
            return f"No other trial of {benchmark} is finished: train one with {command}"
        return f"No trial is finished: {run_command(with_params=False)} trains readers of the sample"

    def rank(trial: FinishedTrial) -> tuple[float, str]:
        return -SequenceMatcher(None, prefix, trial.id).ratio(), trial.id

    nearest = sorted(trials, key=rank)[:_MAX_SUGGESTIONS]
    omitted = len(trials) - len(nearest)
    return f"Finished trials: {'; '.join(map(str, nearest))}" + (f"; and {omitted} more" if omitted else "")


def _read_predictions(file: Path) -> pa.Table:
    cure = "Delete it and run the pipeline evaluation again"
    try:
        verify_checksum(file, cure=cure)
        return pq.read_table(file, schema=PREDICTIONS)
    except (pa.ArrowInvalid, OSError) as error:
        raise CoattendError("is not a whole Parquet file", where=str(file), cure=cure) from error


def _key(file: Path) -> str:
    prefix, suffix = PREDICTIONS_FILE.split("{key}")
    return file.name.removeprefix(prefix).removesuffix(suffix)


def _written_at(file: Path) -> str:
    return f"written {datetime.fromtimestamp(file.stat().st_mtime):%Y-%m-%d %H:%M}"
