"""The list of studies: benchmarks, variants, trials, and the questions that they train on."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from docs._tools.markdown import table

from coattend import readers
from coattend.config import BenchmarkParameters, ReaderParameters, StudyParameters, source, training_of
from coattend.errors import CoattendError
from coattend.settings import CONFIG_LOADER_ARGS, ProjectConfigLoader
from coattend.studies import PREFIX, load_study


def study_table(configuration: Path, paper: str) -> str:
    """Write a table of the studies of one paper.

    Args:
        configuration: Folder of the configuration, with its environments.
        paper: Name of the paper's file, without its suffix.

    Raises:
        CoattendError: If there is no such file.
    """
    if not (configuration / "base" / "studies" / f"{paper}.yml").is_file():
        raise CoattendError(f"there is no file of studies {paper!r}", where="documentation")
    everywhere, small = _studies(configuration, None), _studies(configuration, "small")
    names = [name for name in everywhere if load_study(name).file.stem == paper]
    heads = ("pipeline", "what it asks", "benchmarks", "variants", "trials", "questions", "with `--env small`")
    return table(heads, (_row(name, everywhere[name], small[name]) for name in names))


@cache
def _studies(configuration: Path, environment: str | None) -> Mapping[str, Any]:
    """Load the studies as an environment has them."""
    loader = ProjectConfigLoader(str(configuration), env=environment, **CONFIG_LOADER_ARGS)
    studies: Mapping[str, Any] = loader["parameters"]["studies"]
    # The loader has made its environment the current one.
    source.enter(str(configuration), None)
    return studies


def _row(name: str, study: Mapping[str, Any], small: Mapping[str, Any]) -> tuple[str, ...]:
    spec = StudyParameters.model_validate(dict(study["about"]))
    trainings = sum(len(benchmarks) for _, benchmarks in _trained(study))
    benchmarks = ", ".join(f"`{benchmark}`" for benchmark in spec.benchmarks)
    numbers = (str(len(study["variants"])), str(trainings * spec.trials), _questions(study), _questions(small))
    return f"`{PREFIX}{name}`", f"{spec.title} ({spec.source})", benchmarks, *numbers


def _trained(study: Mapping[str, Any]) -> Iterator[tuple[ReaderParameters, list[str]]]:
    """Go through the variants of a study with the benchmarks that each is trained on."""
    spec = StudyParameters.model_validate(dict(study["about"]))
    for variant, entry in study["variants"].items():
        reader = ReaderParameters.model_validate(dict(entry))
        # A variant that is trained on one benchmark and scored on several is trained once.
        yield reader, list(dict.fromkeys(reader.trained_on(name) for name in spec.benchmarks_of(variant)))


def _questions(study: Mapping[str, Any]) -> str:
    """Count the questions that all trials are trained on together, each as often as it is read."""
    settings = {name: BenchmarkParameters.model_validate(dict(entry)) for name, entry in study["benchmarks"].items()}
    trials, total, unknown = StudyParameters.model_validate(dict(study["about"])).trials, 0.0, False
    for reader, benchmarks in _trained(study):
        recurrent = readers.encoder_of(reader.reader) == "recurrent"
        for benchmark in (settings[name] for name in benchmarks):
            training = training_of(benchmark, reader, recurrent=recurrent)
            published = _published(benchmark, training.train_on.get(benchmark.name))
            counts = [count for count in (training.max_questions, published) if count is not None]
            unknown |= not counts
            total += trials * training.epochs * min(counts, default=0)
    number = f"{total / 1000:,.0f} k" if total >= 1000 else f"{total:,.0f}"
    return f"{number}, and the sample's" if unknown else number


def _published(benchmark: BenchmarkParameters, subsets: str | tuple[str, ...] | None) -> float | None:
    """Return the published number of training questions, of a benchmark or of subsets of it."""
    names = [subsets] if isinstance(subsets, str) else list(subsets or ())
    counts = [benchmark.published.get(f"train/{name}", {}).get("questions") for name in names]
    if names:
        return None if None in counts else sum(count for count in counts if count is not None)
    total = benchmark.published.get("train", {}).get("questions")
    parts = [numbers["questions"] for split, numbers in benchmark.published.items() if split.startswith("train/")]
    return total if total is not None else sum(parts) or None
