"""What a run came to, in a few lines at its end: what was read and trained, how well it does, and where to look."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kedro.pipeline import Pipeline

from coattend.errors import CoattendError
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.runs import finished
from coattend.evaluation.scoring import METRICS
from coattend.reporting.settings import duration

TRAINED = (".model", ".outcome")
"""What tables of trained trials end with."""

MOST_NAMED = 20
"""Readers with a line each; of more, such as a study's variants, only their number is told."""


MOST_IDS = 3
"""Trials of a reader whose ids are told."""


def summary(pipeline: Pipeline, catalog: Any, began: float) -> Iterator[str]:
    """Say what a run came to.

    Args:
        pipeline: What was run.
        catalog: Its catalog.
        began: When it began, in seconds of the clock.

    Yields:
        Lines; none where there is nothing to say beside what the run's nodes said.
    """
    outputs = sorted(pipeline.all_outputs())
    yield from _read(outputs, catalog)
    trained = {name.rpartition(".")[0]: catalog.load(name) for name in outputs if name.endswith(TRAINED)}
    scored = {name.rpartition(".")[0]: catalog.load(name) for name in outputs if name.endswith(".metrics")}
    trained = {name: one for name, one in trained.items() if one and one["trials"]}
    yield from _readers(trained, {name: one for name, one in scored.items() if one}, catalog, began)
    pages = [_shown(path) for path in (_file(catalog, name) for name in outputs) if path.endswith(".html")]
    if pages:
        yield f"Look at {', '.join(pages)}"
    elif scored:
        benchmarks = ",".join(sorted({name.partition(".")[0] for name in scored}))
        yield f"Side by side: kedro run --pipelines reporting --namespaces {benchmarks}"
    if trained or scored:
        store = os.environ.get("MLFLOW_TRACKING_URI")
        yield f"Runs, curves and models: {f'MLflow at {store}' if store else 'make mlflow'}"


def failures(pipeline: Pipeline, catalog: Any) -> CoattendError | None:
    """What to end with where a trial of a reader failed and others went on; studies end so by themselves."""
    names = sorted(name for name in pipeline.all_outputs() if name.endswith(".model"))
    failed = [
        f"{name.removesuffix('.model')}, seed {trial['seed']}: {trial['failure']}"
        for name in names
        for trial in (catalog.load(name) or {"trials": ()})["trials"]
        if trial.get("failure")
    ]
    if not failed:
        return None
    cure = "The others are done; the same command again trains these alone"
    count = f"{len(failed)} {_plural('trial', len(failed))}"
    return CoattendError(f"{count} failed ({'; '.join(failed)})", cure=cure)


def _read(outputs: Iterable[str], catalog: Any) -> Iterator[str]:
    for name in outputs:
        benchmark, _, table = name.rpartition(".")
        if table == "questions":
            rejected = catalog.load(f"{benchmark}.rejected").count_rows()
            left_out = f"{benchmark}.rejected"
            told = f"; {rejected:,} records left out: {_shown(_file(catalog, left_out))}" if rejected else ""
            yield f"{benchmark}: {catalog.load(name).count_rows():,} questions{told}"


def _readers(trained: Mapping[str, Any], scored: Mapping[str, Any], catalog: Any, began: float) -> Iterator[str]:
    names = sorted({*trained, *scored})
    store = catalog.load("trials") if trained else None
    counts = {name: _counted(trained[name]["trials"], store, began) for name in trained}
    if len(names) > MOST_NAMED:
        new, old, failed = (sum(one[place] for one in counts.values()) for place in range(3))
        yield f"{len(names)} readers: {_trials(new, old, failed)}"
        return
    width = max(map(len, names), default=0)
    for name in names:
        parts = [f"{_trials(*counts[name])}{_ids(trained[name]['trials'])}"] if name in counts else []
        parts += list(_scores(scored[name])) if name in scored else []
        yield f"{name:<{width}}  {'; '.join(parts)}"


def _counted(trials: Iterable[Mapping[str, Any]], store: Path, began: float) -> tuple[int, int, int]:
    """How many trials were trained by this run, were done before, and failed."""
    trials = list(trials)
    written = [(store / one["folder"] / "outcome.json").stat().st_mtime for one in finished(trials)]
    new = sum(one >= began for one in written)
    return new, len(written) - new, len(trials) - len(written)


def _trials(new: int, old: int, failed: int) -> str:
    told = {"trained": new, "done before": old, "failed": failed}
    return ", ".join(f"{count} {_plural('trial', count)} {what}" for what, count in told.items() if count)


def _ids(trials: Iterable[Mapping[str, Any]]) -> str:
    """What other pipelines call a few trials."""
    ids = [one["trial_id"] for one in finished(list(trials))]
    return f" ({', '.join(ids)})" if 0 < len(ids) <= MOST_IDS else ""


def _scores(metrics: Mapping[str, Any]) -> Iterator[str]:
    for split, groups in metrics["splits"].items():
        name = METRICS[metrics["task"]][-1]
        one = groups[EVERYTHING][name]
        interval = "" if one["low"] is None else f" [{one['low']:.1f}, {one['high']:.1f}]"
        yield f"{split} {name} {one['mean']:.1f}{interval}"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _file(catalog: Any, name: str) -> str:
    return str(catalog.get(name)._describe().get("filepath", ""))


def _shown(path: str) -> str:
    """A path from the working folder on, if it lies there."""
    whole = Path(path).absolute()
    return str(whole.relative_to(Path.cwd())) if whole.is_relative_to(Path.cwd()) else str(whole)


def took(began: float) -> str:
    """How long a run took."""
    return f"Done in {duration(time.time() - began)}"
