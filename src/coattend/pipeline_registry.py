"""Every pipeline by name: the stages, one pipeline a benchmark, one a study, one for two trials, and the default.

Pipelines are imported and put together when they are looked at: naming them all takes none of Arrow and pandas.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from kedro.pipeline import Pipeline

from coattend import configuration, environment, readers, studies
from coattend.study import Study

STAGES = (
    "ingestion",
    "tagging",
    "tokenization",
    "download",
    "validate",
    "book_cloze",
    "profile",
    "training",
    "evaluation",
    "submission",
    "reranking",
    "reporting",
    "champion",
)
OF_TRIALS = ("compare", "attention", "prediction", "verify", "share")
"""Pipelines that learn from their parameters which trials they are about: any two, or one and a file of questions."""
ON_REQUEST = ("download", "validate", "reranking", "champion")
"""Stages that are run by their names only: no benchmark's pipeline has them."""
DEFAULT_BENCHMARK = "sample"
DEFAULT_READERS = ("plain", "plain_span", "poi_net", "poi_net_span", "aoa_reader")
"""What `kedro run` trains; the sample's other readers are run by their names."""

Part = tuple[str, Callable[[], Pipeline]]
"""A stage, and what puts a benchmark's part of it together: of a thousand, a command looks at a few."""


def register_pipelines() -> dict[str, Pipeline]:
    """The stages (all benchmarks), the benchmarks (all stages but those on request), the studies (with the data stages
    of their benchmarks) and those that belong together, ``results`` (a page of them all), ``compare`` and ``attention``
    for two trials of any benchmark, ``prediction`` for one and a file of questions, and ``__default__``: the sample
    with some readers of every task."""
    parts = cache(_parts_of)
    benchmarks, known = configuration.benchmark_names(), studies.study_names()

    def stage(name: str) -> Pipeline:
        return _joined([make() for benchmark in benchmarks for its, make in parts(benchmark) if its == name])

    def benchmark(name: str) -> Pipeline:
        return _joined([make() for stage, make in parts(name) if stage not in ON_REQUEST])

    makers: dict[str, Callable[[], Pipeline]] = {name: partial(stage, name) for name in STAGES}
    makers |= {name: partial(benchmark, name) for name in benchmarks}
    makers |= {name: partial(_created, name) for name in OF_TRIALS}
    makers |= {f"{studies.PREFIX}{name}": partial(_study, name) for name in known}
    makers |= {f"{studies.PREFIX}{name}": partial(_studies, own) for name, own in studies.groups().items()}
    makers["results"] = partial(_created, "results", known)
    makers["__default__"] = lambda: _of_readers(benchmark(DEFAULT_BENCHMARK), DEFAULT_BENCHMARK, DEFAULT_READERS)
    return {name: _Later(make) for name, make in makers.items()}


class _Later(Pipeline):
    """A pipeline that is put together when it is first looked at: of a hundred, a command looks at one or two."""

    def __init__(self, make: Callable[[], Pipeline]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        if "_make" not in vars(self):
            raise AttributeError(name)
        vars(self).update(vars(self._make()))
        del self._make
        return getattr(self, name)


def _created(stage: str, *names: Any, **wiring: Any) -> Pipeline:
    """The pipeline of a stage, whose package bears its name and is imported only where the stage is asked for."""
    return import_module(f"coattend.pipelines.{stage}").create_pipeline(*names, **wiring)


def _of_readers(pipeline: Pipeline, benchmark: str, readers: Sequence[str]) -> Pipeline:
    """A benchmark's pipeline with some of its readers."""
    namespaces = {benchmark, *(f"{benchmark}.{name}" for name in readers)}
    return Pipeline([node for node in pipeline.nodes if node.namespace in namespaces])


def readers_of(benchmark: str) -> list[str]:
    """The readers that are registered on a benchmark: those that have a head for one of its tasks."""
    tasks = configuration.answerable_tasks(benchmark)
    names = []
    for name in configuration.reader_names():
        entry = configuration.reader_entry(name)
        chosen = entry.get("benchmarks")
        if (chosen is None or benchmark in chosen) and readers.fits(entry["reader"], tasks, entry.get("head")):
            names.append(name)
    return names


def _parts_of(benchmark: str) -> list[Part]:
    """A benchmark's part of every stage that it has, one or several."""
    entry = configuration.benchmark_entry(benchmark)
    profiles = {name: _profiles(configuration.reader_entry(name)) for name in readers_of(benchmark)}
    texts = _texts(profiles.values())
    trained_on = entry.get("trained_on") or benchmark
    part = partial(_part, benchmark)
    parts = _data_of(benchmark, texts)
    if entry.get("published_at"):
        parts.append(part("download"))
    if entry.get("generator") is None:
        parts.append(part("validate"))
    if entry.get("books") is not None:
        parts += [part("book_cloze", name) for name, _ in texts[:1]]
    parts += [part("profile", *names) for names in texts[:1]]
    if trained_on == benchmark:
        parts += [part("training", name, **one) for name, one in profiles.items()]
    parts += [part("evaluation", name, trained_on=trained_on, **one) for name, one in profiles.items()]
    if entry.get("submission"):
        parts += [part("submission", name) for name in profiles]
    parts += [
        part("reranking", name, trained_on=trained_on, tagging=one["tagging"])
        for name, one in profiles.items()
        if _looks_for_words(name, benchmark)
    ]
    parts.append(part("reporting", list(profiles)))
    return [*parts, part("champion")] if trained_on == benchmark else parts


def _data_of(benchmark: str, texts: Sequence[tuple[str, str]]) -> list[Part]:
    """A benchmark's part of the data stages, for pairs of a tagging and a tokenizer profile."""
    entry = configuration.benchmark_entry(benchmark)
    generated, of_books = (entry.get(kind) is not None for kind in ("generator", "books"))
    part = partial(_part, benchmark)
    parts = [part("ingestion", generated=generated, written=generated or of_books)]
    parts += [part("tagging", name) for name in sorted({tagging for tagging, _ in texts})]
    return parts + [part("tokenization", *names) for names in texts]


def _part(benchmark: str, stage: str, *names: Any, **wiring: Any) -> Part:
    # Kept, for the stage's pipeline and the benchmark's.
    return stage, cache(partial(_created, stage, benchmark, *names, **wiring))


def _study(name: str) -> Pipeline:
    return of_study(studies.study(name).changed(environment.of_study(name)))


def _studies(names: Sequence[str]) -> Pipeline:
    """Several studies in one, the data stages that they share once."""
    nodes = {node.name: node for name in names for node in _study(name).nodes}
    return Pipeline(list(nodes.values()))


def of_study(one: Study) -> Pipeline:
    """The pipeline of a study behind the data stages of its benchmarks."""
    asked = one.parameters
    variants = {
        (benchmark, variant): _profiles(one.entry(variant))
        | {"starts_from": one.starts_from(variant), "also": one.also(variant, benchmark)}
        for variant in asked.variants
        for benchmark in asked.benchmarks_of(variant)
    }
    data = []
    for benchmark in one.read:
        texts = _texts(
            profiles for (where, _), profiles in variants.items() if where == benchmark or benchmark in profiles["also"]
        )
        data += [make() for _, make in _data_of(benchmark, texts)]
    return _joined([*data, _created("study", one.name, variants, attention="attention" in asked.shows)])


def _texts(profiles: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The pairs of a tagging and a tokenizer profile that readers read."""
    return sorted({(one["tagging"], one["tokenizer"]) for one in profiles})


def _looks_for_words(reader: str, benchmark: str) -> bool:
    """Whether a reader answers a benchmark's questions with a missing word, be it that these are read as options."""
    tasks, entry = configuration.benchmark_entry(benchmark)["tasks"], configuration.reader_entry(reader)
    head = readers.head_for(entry["reader"], configuration.answerable_tasks(benchmark), entry.get("head"))
    return "word" in tasks and readers.task_of(head) not in set(tasks) - {"word"}


def _profiles(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What decides which tables a reader reads: names of profiles, and whether it reads words."""
    encoder = entry.get("encoder", "minilm")
    tokenizer = configuration.encoder_entry(encoder).get("tokenizer", "minilm")
    return {"tagging": entry.get("tagging", "nltk_penn"), "encoder": encoder, "tokenizer": tokenizer} | {
        "reads_words": readers.encoder_of(entry["reader"]) == "recurrent"
    }


def _joined(pipelines: list[Pipeline]) -> Pipeline:
    # Adding pipelines one by one takes quadratic time.
    return Pipeline([node for pipeline in pipelines for node in pipeline.nodes])
