"""Summary of a run, in a few lines at its end: questions read, trials trained, scores, and the pages to look at."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kedro.pipeline import Pipeline

from coattend.config.source import run_command
from coattend.errors import CoattendError
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import ReaderMetrics, TrainedReader, TrialRecord, VariantOutcome, score_of
from coattend.evaluation.runs import finished
from coattend.evaluation.summary import METRICS
from coattend.masking import masked_text
from coattend.pipelines.keys import NodeKey, entry_of, prefix_of

MAX_READER_LINES = 20
"""Readers with a line each; of more, such as a study's variants, the numbers of trials are added up."""
MAX_TRIAL_IDS = 3
"""Trials of a reader whose ids are shown."""


class TrialCounts(NamedTuple):
    """Numbers of trials by their fate in a run."""

    trained: int
    done_before: int
    failed: int
    answered: int = 0  # Of language models as they are, which are not trained.

    def __str__(self) -> str:
        counts = {
            "trained": self.trained,
            "answered": self.answered,
            "done before": self.done_before,
            "failed": self.failed,
        }
        return ", ".join(f"{_trials(count)} {fate}" for fate, count in counts.items() if count)


def summary(pipeline: Pipeline, catalog: Any, start: float, indices: Iterable[Path] = ()) -> Iterator[str]:
    """Summarise a run that began at a time of the clock, in lines; none where those of the nodes say all. ``indices``
    are the lists of all pages that it renewed."""
    outputs = sorted(pipeline.all_outputs())
    yield from _question_lines(outputs, catalog)
    models = {prefix_of(name): catalog.load(name) for name in outputs if entry_of(name) in ("model", "outcome")}
    models = {name: model for name, model in models.items() if model and model["trials"]}
    metrics = {prefix_of(name): catalog.load(name) for name in outputs if entry_of(name) == "metrics"}
    scores = {name: scored for name, scored in metrics.items() if scored}
    yield from _reader_lines(models, scores, catalog, start)
    pages = [_relative(path) for path in (_path_of(name, catalog) for name in outputs) if path.endswith(".html")]
    if pages:
        yield f"Look at {', '.join(pages)}"
    elif metrics:
        nodes = (node for node in pipeline.nodes if any(entry_of(name) == "metrics" for name in node.outputs))
        benchmarks = sorted({str(NodeKey.of(node).benchmark) for node in nodes})
        yield f"Side by side: {run_command(pipelines='reporting', namespaces=','.join(benchmarks))}"
    yield from (f"All pages: {_relative(str(index))}" for index in indices)
    if models or metrics:
        store = os.environ.get("MLFLOW_TRACKING_URI")
        yield f"Runs, curves and models: {f'MLflow at {masked_text(store)}' if store else 'make mlflow'}"


def index_pages(pipeline: Pipeline, catalog: Any) -> list[Path]:
    """List all pages anew in each folder of pages that the run drew some in, and return the files of the lists."""
    from coattend.reports.index import page_folders, write_index

    drawn = [name for name in sorted(pipeline.all_outputs()) if entry_of(name).endswith("page")]
    datasets = [catalog.get(name) for name in drawn]
    # Pages of two trials are kept as partitions of a folder.
    paths = [str(getattr(dataset, "filepath", getattr(dataset, "_path", ""))) for dataset in datasets]
    return [write_index(folder) for folder in page_folders(paths)]


def trial_failures(pipeline: Pipeline, catalog: Any) -> CoattendError | None:
    """Make the error of a run in which some trials of readers failed; studies raise theirs themselves."""
    names = sorted(name for name in pipeline.all_outputs() if entry_of(name) == "model")
    failures = [
        f"{prefix_of(name)}, seed {trial['seed']}: {trial['failure']}"
        for name in names
        for trial in (catalog.load(name) or {"trials": ()})["trials"]
        if trial.get("failure")
    ]
    if not failures:
        return None
    cure = "The others are done; the same command again trains these alone"
    return CoattendError(f"{_trials(len(failures))} failed ({'; '.join(failures)})", cure=cure)


def _question_lines(outputs: Iterable[str], catalog: Any) -> Iterator[str]:
    for name in outputs:
        if entry_of(name) == "questions":
            benchmark = prefix_of(name)
            rejected = f"{benchmark}.rejected"
            count = catalog.load(rejected).count_rows()
            left_out = f"; {count:,} records left out: {_relative(_path_of(rejected, catalog))}" if count else ""
            yield f"{benchmark}: {catalog.load(name).count_rows():,} questions{left_out}"


def _reader_lines(
    models: Mapping[str, TrainedReader | VariantOutcome],
    scores: Mapping[str, ReaderMetrics],
    catalog: Any,
    start: float,
) -> Iterator[str]:
    names = sorted({*models, *scores})
    store = catalog.load("trials") if models else Path()
    counts = {name: _count_trials(models[name]["trials"], store, start) for name in models}
    if len(names) > MAX_READER_LINES:
        total = TrialCounts(*map(sum, zip(*counts.values(), strict=True))) if counts else "scored"
        yield f"{len(names)} readers: {total}"
        return
    width = max(map(len, names), default=0)
    for name in names:
        parts = [f"{counts[name]}{_trial_ids(models[name]['trials'])}"] if name in counts else []
        parts += list(_split_scores(scores[name])) if name in scores else []
        yield f"{name:<{width}}  {'; '.join(parts)}"


def _count_trials(trials: Iterable[TrialRecord], store: Path, start: float) -> TrialCounts:
    trials = list(trials)
    # An outcome that is older than the run belongs to a trial that was done before.
    succeeded = finished(trials)
    new = [trial for trial in succeeded if (store / trial["folder"] / "outcome.json").stat().st_mtime >= start]
    trained = sum(trial.get("trained", True) for trial in new)
    return TrialCounts(trained, len(succeeded) - len(new), len(trials) - len(succeeded), len(new) - trained)


def _trial_ids(trials: Iterable[TrialRecord]) -> str:
    """List the ids of a few trials, which other pipelines take as parameters."""
    ids = [trial["trial_id"] for trial in finished(list(trials))]
    return f" ({', '.join(ids)})" if 0 < len(ids) <= MAX_TRIAL_IDS else ""


def _split_scores(metrics: ReaderMetrics) -> Iterator[str]:
    for split, groups in metrics["splits"].items():
        name = METRICS[metrics["task"]][-1]
        score = score_of(groups[EVERYTHING], name)
        interval = "" if score["low"] is None else f" [{score['low']:.1f}, {score['high']:.1f}]"
        yield f"{split} {name} {score['mean']:.1f}{interval}"


def _trials(count: int) -> str:
    return f"{count} trial" if count == 1 else f"{count} trials"


def _path_of(name: str, catalog: Any) -> str:
    """Return the path of a table or page; empty for other datasets, which the summary does not show."""
    return str(getattr(catalog.get(name), "filepath", ""))


def _relative(path: str) -> str:
    """Shorten a path to the part below the working directory, if it is inside."""
    absolute = Path(path).absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)
