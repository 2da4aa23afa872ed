"""Finished trials by the name of their entry with a seed, or the beginnings of their ids, and their predictions."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coattend.config import BenchmarkParameters
from coattend.config.source import run_command
from coattend.errors import CoattendError, did_you_mean
from coattend.evaluation.records import TrialDescription
from coattend.io.atomic import verify_checksum
from coattend.masking import masked
from coattend.readers import task_of
from coattend.schemas import PREDICTIONS
from coattend.trials.trial import (
    PREDICTIONS_FILE,
    RUN_SPEC_FILE,
    TrialContent,
    TrialOutcome,
    read_content,
    read_outcome,
)

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

    @cached_property
    def entry(self) -> str:
        """Name of the entry, or of the variant of a study, that trained it first; of a trial from before that was
        written down, of its reader."""
        try:
            return str(json.loads((self.folder / RUN_SPEC_FILE).read_text())["name"])
        except (OSError, ValueError, KeyError):
            return self.content["reader"]

    @property
    def name(self) -> str:
        """Its entry's name with its seed, by which commands find it: ``sample.plain/0``."""
        return f"{self.benchmark}.{self.entry}/{self.content['seed']}"

    @property
    def task(self) -> str:
        """The task that its head answers."""
        return task_of(self.content["head"])

    @cached_property
    def finished_at(self) -> datetime:
        """When it was finished, by the clock of the machine that is asked."""
        return datetime.fromtimestamp((self.folder / "outcome.json").stat().st_mtime)

    @property
    def settings(self) -> dict[str, object]:
        """The settings that it was trained with, by the names of parameters."""
        training = {f"training.{name}": value for name, value in self.content["training"].items()}
        shared = {"reader": self.content["reader"], "head": self.content["head"]}
        encoder = {"encoder": self.outcome.get("encoder", "")}
        settings: dict[str, object] = masked(shared | encoder | self.content["options"] | training)
        return settings

    def answer_files(self) -> list[Path]:
        """List the files of its predictions, the newest first."""
        files = self.folder.glob(PREDICTIONS_FILE.format(key="*"))
        return sorted(files, key=lambda file: -file.stat().st_mtime)

    def description(self) -> TrialDescription:
        """Merge content and outcome; ``encoder`` is its name, ``encoder_files`` its digests."""
        merged: TrialDescription = {**self.content, **self.outcome, "encoder_files": self.content["encoder"]}  # type: ignore[typeddict-item]
        return merged

    def __str__(self) -> str:
        return f"{self.id} ({self.entry} on {self.benchmark}, {self.content['head']}, seed {self.content['seed']})"


def find_pair(store: Path, left: str | None, right: str | None) -> tuple[FinishedTrial, FinishedTrial]:
    """Find two different trials of one benchmark, each by a name as `find_trial` takes it.

    Behind one more ``/`` a key of a trial's predictions may follow. Errors list the nearest candidates.
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
    """Find a finished trial by the name of its entry, with its benchmark and seed where there are several
    (``sample.plain/0``), or by how its id begins.

    Raises:
        CoattendError: If there is none, or several. It lists the nearest ones, or the several with what differs.
    """
    return _find(store, finished_trials(store), name, where)


def benchmark_of(trial: FinishedTrial, benchmarks: Mapping[str, object]) -> BenchmarkParameters:
    """Read the parameters of a trial's benchmark; raise a `CoattendError` if none is called so any more."""
    name = trial.benchmark
    if name not in benchmarks:
        cure = did_you_mean(name, list(benchmarks))
        raise CoattendError(f"no benchmark is called {name!r}", where=f"trial {trial.id}", cure=cure)
    return BenchmarkParameters.model_validate(benchmarks[name])


def matching(trials: Collection[FinishedTrial], name: str) -> list[FinishedTrial]:
    """Select the trials that a name is about: those of an entry, or those whose ids begin with it."""
    subject, seed = _parts(name)[:2]
    benchmark, _, entry = subject.rpartition(".")
    of_entry = [trial for trial in trials if trial.entry == entry and benchmark in ("", trial.benchmark)]
    if not of_entry:
        return [trial for trial in trials if subject and trial.id.startswith(subject)]
    return [trial for trial in of_entry if seed in ("", str(trial.content["seed"]))]


def differing_settings(trials: Collection[FinishedTrial]) -> dict[str, dict[str, object]]:
    """Map the id of each trial to those of its settings that other trials of its entry and benchmark do not share."""
    by_entry: dict[tuple[str, str], list[FinishedTrial]] = {}
    for trial in trials:
        by_entry.setdefault((trial.benchmark, trial.entry), []).append(trial)
    differing = {}
    for alike in by_entry.values():
        settings = [trial.settings for trial in alike]
        names = dict.fromkeys(name for values in settings for name in values)
        varied = [name for name in names if len({repr(values.get(name)) for values in settings}) > 1]
        for trial, values in zip(alike, settings, strict=True):
            differing[trial.id] = {name: values.get(name) for name in varied}
    return differing


def _parts(name: str) -> tuple[str, str, str]:
    """Split a name into what stands before the first slash, between both, and behind the second."""
    first, _, rest = name.partition("/")
    second, _, third = rest.partition("/")
    return first, second, third


def answers_of(trial: FinishedTrial, name: str, question_ids: pa.ChunkedArray, benchmark: str) -> pa.Table:
    """Read a trial's predictions for questions from its own folder, among others' rows.

    The readers' tables have copies of them, which the next run of a reader with other parameters replaces. Behind ``/``
    in the name that the user gave, a key, or its beginning, chooses among several files.

    Raises:
        CoattendError: If it answered none of them, or several times.
    """
    subject, second, third = _parts(name)
    # Behind an id the key follows at once, behind an entry's name the seed.
    key = second if trial.id.startswith(subject) else third
    # A file of predictions counts if it has an answer to any of the questions.
    tables = {}
    for file in sorted(trial.answer_files()):
        answers = _read_predictions(file, trial)
        if _key(file).startswith(key) and pc.any(pc.is_in(answers["question_id"], question_ids)).as_py():
            tables[file] = answers
    if not tables:
        raise CoattendError(
            f"has answered no question of {benchmark}" + (f" in a file of the key {key!r}" if key else ""),
            where=f"trial {trial.id}",
            cure=f"Run, with the parameters that it was trained with: {_evaluation(trial)}",
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
    candidates = trials if candidates is None else candidates
    if not name:
        raise CoattendError("names no trial", where=where, cure=_suggestions(candidates, "", benchmark=benchmark))
    matches = matching(trials, name)
    subject = _parts(name)[0]
    if len(matches) > 1:
        begins = not any(trial.entry == subject.rpartition(".")[2] for trial in matches)
        problem = f"{subject!r} begins several ids" if begins else f"{name!r} names {len(matches)} trials"
        cure = _suggestions(matches, subject)
        missing = "an id" if _parts(name)[1] else "the seed, or an id"
        raise CoattendError(problem, where=where, cure=f"Give {missing}. {cure}")
    if not matches:
        # A trial with a folder but no outcome is unfinished, and worth another message.
        unfinished = any(folder.name.startswith(subject) for folder in store.iterdir())
        problem = f"the trial {subject!r} is not finished" if unfinished else f"there is no trial {name!r}"
        raise CoattendError(problem, where=where, cure=_suggestions(candidates, name, benchmark=benchmark))
    return matches[0]


def _suggestions(trials: Collection[FinishedTrial], name: str, benchmark: str | None = None) -> str:
    """List the trials whose ids or names are most similar to a name, and of those that read alike what differs."""
    if not trials:
        if benchmark:
            command = run_command(namespaces=f"{benchmark}.<reader>", with_params=False)
            return f"No other trial of {benchmark} is finished: train one with {command}"
        return f"No trial is finished: {first_training()}"

    def rank(trial: FinishedTrial) -> tuple[float, str]:
        similarity = max(SequenceMatcher(None, name, known).ratio() for known in (trial.id, trial.name))
        return -similarity, trial.id

    nearest = sorted(trials, key=rank)[:_MAX_SUGGESTIONS]
    omitted = len(trials) - len(nearest)
    listed = "; ".join(described(nearest, trials))
    rest = f"; and {omitted} more (kedro run --pipelines trials lists all)" if omitted else ""
    return f"Finished trials: {listed}{rest}"


def first_training() -> str:
    """Say which command trains the first readers."""
    return f"{run_command(with_params=False)} trains readers of the sample"


def described(chosen: Sequence[FinishedTrial], trials: Collection[FinishedTrial]) -> Iterator[str]:
    """Describe chosen trials, and of those that read like another of all ``trials`` what differs."""
    alike, differing = Counter(trial.name for trial in trials), differing_settings(trials)
    for trial in chosen:
        if alike[trial.name] == 1:
            yield str(trial)
            continue
        settings = [f"{name} {value}" for name, value in differing[trial.id].items()]
        notes = ", ".join((f"finished {trial.finished_at:%Y-%m-%d %H:%M}", *settings))
        yield f"{str(trial).removesuffix(')')}, {notes})"


def _read_predictions(file: Path, trial: FinishedTrial) -> pa.Table:
    cure = f"Delete it and run: {_evaluation(trial)}"
    try:
        verify_checksum(file, cure=cure)
        return pq.read_table(file, schema=PREDICTIONS)
    except (pa.ArrowInvalid, OSError) as error:
        raise CoattendError("is not a whole Parquet file", where=str(file), cure=cure) from error


def _evaluation(trial: FinishedTrial) -> str:
    return run_command(pipelines="evaluation", namespaces=trial.name.partition("/")[0], with_params=False)


def _key(file: Path) -> str:
    prefix, suffix = PREDICTIONS_FILE.split("{key}")
    return file.name.removeprefix(prefix).removesuffix(suffix)


def _written_at(file: Path) -> str:
    return f"written {datetime.fromtimestamp(file.stat().st_mtime):%Y-%m-%d %H:%M}"
