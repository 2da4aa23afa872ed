"""Every pipeline by name: the stages, one for each benchmark and each study, those about trials, and the default."""

import os
from collections.abc import Callable, Iterable, Sequence

from kedro.framework.project import pipelines as registry
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from coattend import readers, studies
from coattend.config import entries
from coattend.config.entries import TextProfiles
from coattend.errors import CoattendError, did_you_mean
from coattend.pipelines import (
    attention,
    batch_invariance,
    book_cloze,
    champion,
    compare,
    download,
    drawing,
    evaluation,
    export,
    ignore_expected_warnings,
    ingestion,
    leaderboard,
    prediction,
    profile,
    reporting,
    reranking,
    results,
    share,
    study,
    submission,
    tagging,
    tokenization,
    training,
    trials,
    validate,
    verify,
)
from coattend.pipelines.keys import DEFAULT
from coattend.pipelines.study.pipeline import VariantTables
from coattend.studies.study import Study

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
    "export",
)
"""Pipelines that hold one stage of all benchmarks; `nodes_of` says which nodes a benchmark has in each."""
TRIAL_PIPELINES: dict[str, Callable[[], Pipeline]] = {
    "compare": compare.create_pipeline,
    "attention": attention.create_pipeline,
    "prediction": prediction.create_pipeline,
    "verify": verify.create_pipeline,
    "batch_invariance": batch_invariance.create_pipeline,
    "share": share.create_pipeline,
    "trials": trials.create_pipeline,
}
"""Pipelines about trials: they learn from their parameters which, any two, or one and a file of questions; and their
list."""
COLLECTIONS: dict[str, Callable[[Iterable[str]], Pipeline]] = {
    "results": results.create_pipeline,
    "leaderboard": leaderboard.create_pipeline,
}
"""Pipelines that put studies together, and wait for those that are run with them."""
ON_REQUEST = ("download", "validate", "reranking", "champion", "export")
"""Stages that are run by their names only: no benchmark's pipeline has them."""
DEFAULT_BENCHMARK = "sample"
DEFAULT_STAGES = ("ingestion", "tagging", "tokenization", "training", "evaluation")
DEFAULT_READERS = ("plain", "poi_net", "aoa_reader")
"""Stages and readers that `kedro run` compares; the sample's others are run by their names."""


PICTURES = "COATTEND_PICTURES"
"""Environment variable with the names of the pipelines that kedro-viz shows, joined by commas; all without it."""
StageNodes = dict[str, list[Node]]
"""A benchmark's nodes by stage."""


def register_pipelines() -> dict[str, Pipeline]:
    """The stages (all benchmarks), the benchmarks (all stages but those on request), the studies (with the data stages
    of their benchmarks) and those that belong together, ``results`` and ``leaderboard`` (pages of them all),
    ``compare`` and ``attention`` for two trials of any benchmark, ``prediction`` for one and a file of questions, and
    ``__default__``: the sample with `DEFAULT_READERS`."""
    ignore_expected_warnings()
    nodes = {benchmark: nodes_of(benchmark) for benchmark in entries.benchmark_names()}
    study_pipelines = {name: study_pipeline(studies.wired_study(name)) for name in studies.study_names()}
    groups = studies.study_groups()
    # Adding pipelines one by one would take quadratic time.
    pipelines = {
        stage: Pipeline([node for stages in nodes.values() for node in stages.get(stage, ())]) for stage in STAGES
    }
    pipelines["reporting"] = Pipeline([node for name in nodes for node in _comparison("reporting", name)])
    for benchmark, stages in nodes.items():
        nodes_to_run = [node for name in stages if name not in ON_REQUEST for node in stages[name]]
        pipelines[benchmark] = Pipeline([*nodes_to_run, *_comparison(benchmark, benchmark)])
    pipelines |= {name: create() for name, create in TRIAL_PIPELINES.items()}
    pipelines |= {f"{studies.PREFIX}{name}": pipeline for name, pipeline in study_pipelines.items()}
    for name, members in groups.items():
        # Studies of the same benchmarks share the nodes of the data stages.
        unique = {node.name: node for member in members for node in study_pipelines[member].nodes}
        pipelines[f"{studies.PREFIX}{name}"] = Pipeline(list(unique.values()))
    for collection, create in COLLECTIONS.items():
        run_together = [name.removeprefix(studies.PREFIX) for name in _run_with(collection)]
        awaited = {member for name in run_together for member in groups.get(name, [name])} & study_pipelines.keys()
        pipelines[collection] = create(sorted(awaited))
    if DEFAULT_BENCHMARK in nodes:
        namespaces = {DEFAULT_BENCHMARK, *(f"{DEFAULT_BENCHMARK}.{name}" for name in DEFAULT_READERS)}
        stages = nodes[DEFAULT_BENCHMARK]
        nodes_to_run = [node for name in DEFAULT_STAGES for node in stages[name] if node.namespace in namespaces]
        pipelines[DEFAULT] = Pipeline([*nodes_to_run, *_comparison(DEFAULT, DEFAULT_BENCHMARK)])
    return pictures(pipelines) if drawing.is_drawn() else pipelines


def pictures(pipelines: dict[str, Pipeline]) -> dict[str, Pipeline]:
    """The pipelines as kedro-viz draws them, or some that the environment variable ``COATTEND_PICTURES`` names."""
    readers_by_task: dict[str, dict[str, list[str]]] = {}
    for benchmark in entries.benchmark_names():
        for reader in entries.readers_of(benchmark):
            entry = entries.reader_entry(reader)
            head = readers.head_for(entry["reader"], entries.benchmark(benchmark).answerable, entry.get("head"))
            readers_by_task.setdefault(benchmark, {}).setdefault(readers.task_of(head), []).append(reader)
    examples = (DEFAULT_BENCHMARK, DEFAULT_READERS)
    drawn = drawing.draw(pipelines, stages=STAGES, benchmarks=readers_by_task, examples=examples)
    names = [name for name in os.environ.get(PICTURES, "").split(",") if name] or list(drawn)
    for name in names:
        if name not in drawn:
            raise CoattendError(f"no picture is called {name!r}", where=PICTURES, cure=did_you_mean(name, list(drawn)))
    return {name: drawn[name] for name in names}


def _comparison(pipeline: str, benchmark: str) -> list[Node]:
    """The nodes that compare a benchmark's readers, in one of the pipelines that have them."""
    pipelines = {pipeline, *_run_with(pipeline)}
    if pipelines & {"evaluation", benchmark}:
        scored = entries.readers_of(benchmark)
    else:
        scored = list(DEFAULT_READERS) if DEFAULT in pipelines and benchmark == DEFAULT_BENCHMARK else []
    return reporting.create_nodes(benchmark, scored)


def _run_with(pipeline: str) -> list[str]:
    """The pipelines that a run of this one joins to it: a node that puts results together waits for theirs."""
    # Kedro's own `find_pipelines` asks so, too.
    requested = registry._requested_pipelines or []
    return requested if pipeline in requested else []


def nodes_of(benchmark: str) -> StageNodes:
    """A benchmark's nodes of every stage that it has, but for the comparison, which depends on the pipeline."""
    entry = entries.benchmark_entry(benchmark)
    names = entries.readers_of(benchmark)
    untrained = [name for name in names if not entries.is_trained(entries.reader_entry(name))]
    profiles = {
        name: entries.text_profiles(entries.reader_entry(name), benchmark) for name in names if name not in untrained
    }
    texts = _text_tables(profiles.values())
    trained_on = entry.get("trained_on") or benchmark
    stages = _data_nodes(benchmark, texts)
    stages["export"] = export.create_nodes(benchmark)
    if entry.get("published_at"):
        stages["download"] = download.create_nodes(benchmark)
    if entry.get("generator") is None:
        stages["validate"] = validate.create_nodes(benchmark)
    if texts:
        tagging_profile, tokenizer = texts[0]
        if entry.get("books") is not None:
            stages["book_cloze"] = book_cloze.create_nodes(benchmark, tagging_profile)
        stages["profile"] = profile.create_nodes(benchmark, tagging_profile, tokenizer)
    for reader, wiring in profiles.items():
        if trained_on == benchmark:
            stages.setdefault("training", []).extend(training.create_nodes(benchmark, reader, wiring))
        answers = evaluation.create_nodes(benchmark, reader, wiring, trained_on=trained_on)
        stages.setdefault("evaluation", []).extend(answers)
    for reader in untrained:
        stages.setdefault("evaluation", []).extend(evaluation.create_untrained_nodes(benchmark, reader))
    for reader in names:
        if entry.get("submission"):
            stages.setdefault("submission", []).extend(submission.create_nodes(benchmark, reader))
        if _answers_words_as_options(reader, benchmark):
            ranking = reranking.create_nodes(
                benchmark, reader, trained_on=benchmark if reader in untrained else trained_on
            )
            stages.setdefault("reranking", []).extend(ranking)
    if trained_on == benchmark:
        stages["champion"] = champion.create_nodes(benchmark)
    return stages


def study_pipeline(spec: Study) -> Pipeline:
    """The pipeline of a study behind the data stages of its benchmarks."""
    parameters = spec.parameters
    variants = {
        (benchmark, variant): VariantTables(
            profiles=entries.text_profiles(spec.entry(variant), benchmark),
            starts_from=spec.parameters.starts_from(variant),
            learns_from=spec.parameters.learns_from(variant),
            also=tuple(spec.also(variant, benchmark)),
        )
        for variant in parameters.variants
        for benchmark in parameters.benchmarks_of(variant)
    }
    nodes = study.create_nodes(spec.name, variants, attention="attention" in parameters.shows)
    for benchmark in spec.read:
        profiles = [tables.profiles for (name, _), tables in variants.items() if benchmark in (name, *tables.also)]
        nodes += [node for stage in _data_nodes(benchmark, _text_tables(profiles)).values() for node in stage]
    return Pipeline(nodes)


def _data_nodes(benchmark: str, texts: Sequence[tuple[str, str]]) -> StageNodes:
    """A benchmark's nodes of the data stages, for pairs of a tagging and a tokenizer profile."""
    entry = entries.benchmark_entry(benchmark)
    generated, from_books = (entry.get(field) is not None for field in ("generator", "books"))
    taggings = sorted({tagging_profile for tagging_profile, _ in texts})
    return {
        "ingestion": ingestion.create_nodes(benchmark, generated=generated, written=generated or from_books),
        "tagging": [node for name in taggings for node in tagging.create_nodes(benchmark, name)],
        "tokenization": [node for names in texts for node in tokenization.create_nodes(benchmark, *names)],
    }


def _text_tables(profiles: Iterable[TextProfiles]) -> list[tuple[str, str]]:
    """The pairs of a tagging and a tokenizer profile that readers read."""
    return sorted({(profile.tagging, profile.tokenizer) for profile in profiles})


def _answers_words_as_options(reader: str, benchmark: str) -> bool:
    """True if a reader of options answers questions of a benchmark that ask for a missing word."""
    tasks, entry = entries.benchmark_entry(benchmark)["tasks"], entries.reader_entry(reader)
    head = readers.head_for(entry["reader"], entries.benchmark(benchmark).answerable, entry.get("head"))
    return "word" in tasks and readers.task_of(head) not in set(tasks) - {"word"}
