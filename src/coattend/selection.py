"""The pipelines, namespaces and nodes of a run, and checks of the names that choose them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from kedro.framework.project import pipelines
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from coattend import studies
from coattend.config import entries
from coattend.config.source import MODEL
from coattend.errors import CoattendError, did_you_mean
from coattend.pipelines.keys import DEFAULT, STUDY

NOUNS = {"--tags": "tag", "--from-inputs": "dataset", "--to-outputs": "dataset that is written"}
"""What options name that name no nodes."""
Names = Sequence[str]


@dataclass(frozen=True)
class Filters:
    """Options of Kedro's ``run`` that choose nodes of pipelines, but for namespaces."""

    node_names: Names = ()
    from_nodes: Names = ()
    to_nodes: Names = ()
    from_inputs: Names = ()
    to_outputs: Names = ()
    tags: Names = ()

    @property
    def nodes(self) -> Iterator[tuple[str, str]]:
        """Options that name nodes, with each name."""
        yield from self._named("node_names", "from_nodes", "to_nodes")

    @property
    def datasets(self) -> Iterator[tuple[str, str]]:
        """Options that name datasets, with each name."""
        yield from self._named("from_inputs", "to_outputs")

    @property
    def cuts(self) -> bool:
        """True if a path is cut out of a pipeline, which may go through several stages."""
        return bool(self.from_nodes or self.to_nodes or self.from_inputs or self.to_outputs)

    def _named(self, *fields: str) -> Iterator[tuple[str, str]]:
        for field in fields:
            option = "--nodes" if field == "node_names" else f"--{field.replace('_', '-')}"
            yield from ((option, name) for name in getattr(self, field))


class Selection(NamedTuple):
    """The pipelines, namespaces and nodes of a run; no nodes: all of these pipelines and namespaces."""

    pipelines: list[str]
    namespaces: list[str]
    nodes: list[str]


NO_FILTERS = Filters()


def select(pipeline_names: Names, namespaces: Names, filters: Filters = NO_FILTERS) -> Selection:
    """Choose pipelines where there are none, and check all names.

    Namespaces alone mean the pipelines of their benchmarks and studies; that of a reader brings along what it needs,
    from raw files on, and the pages that show it. Nodes alone mean the first pipelines that have them, and the ends of
    a path one that has them all, `__default__` first.
    """
    names = sorted(set(pipeline_names) or {pipeline_of(namespace) for namespace in namespaces})
    if not names:
        names = _pipeline_of_path(filters) if filters.cuts else _pipelines_with(filters.node_names)
    # Kedro's session requests the same, and registers all pipelines anew where that is a change.
    pipelines.set_requested(names or None)
    for name in names:
        if name not in pipelines:
            raise CoattendError(f"no pipeline is called {name!r}", cure=did_you_mean(name, list(pipelines)))
    registered = {prefix for name in names for prefix in _namespaces(pipelines[name])} if namespaces else set()
    for namespace in namespaces:
        pipeline_of(namespace)
        if namespace not in registered:
            raise _unknown_namespace(namespace, names, registered)
    # Kedro 1.7 takes the nodes of a namespace inside another one twice, and refuses them.
    outer = [name for name in namespaces if not any(name.startswith(f"{parent}.") for parent in namespaces)]
    if filters != NO_FILTERS:
        _check_filters(names, outer, filters)
    elif not pipeline_names and any(_is_entry(namespace) for namespace in outer):
        return Selection(names, [], _from_raw_files_to_pages(names, outer))
    return Selection(names, outer, list(filters.node_names))


def pipeline_of(namespace: str) -> str:
    """The pipeline that a namespace means where no pipeline is chosen: its study's, or its benchmark's."""
    first, *rest = namespace.split(".")
    if first == STUDY and rest:
        return f"{studies.PREFIX}{studies.load_study(rest[0]).name}"
    benchmarks = entries.benchmark_names()
    if first in benchmarks:
        return first
    problem = f"no benchmark is called {first!r}"
    if first in entries.reader_names():
        example = next((name for name in benchmarks if first in entries.readers_of(name)), "<benchmark>")
        raise CoattendError(
            f"{problem}, which is a reader", cure=f"Name a benchmark before it, as in {example}.{first}"
        )
    raise CoattendError(problem, cure=did_you_mean(first, benchmarks))


def _is_entry(namespace: str) -> bool:
    """True for the namespace of a reader on a benchmark."""
    benchmark, _, reader = namespace.partition(".")
    return benchmark != STUDY and reader in entries.reader_names()


def _from_raw_files_to_pages(pipeline_names: Names, namespaces: Names) -> list[str]:
    """The nodes of namespaces, those that write what they read, and those of no other reader that read what they
    write."""
    combined = _combine(pipeline_names)
    chosen = {node.name for node in combined.nodes if _is_in(node, namespaces)}
    before = combined.to_nodes(*chosen).nodes
    after = [node for node in combined.from_nodes(*chosen).nodes if not _is_entry(node.namespace or "")]
    return sorted(chosen | {node.name for node in (*before, *after)})


def _is_in(node: Node, namespaces: Iterable[str]) -> bool:
    return any(f"{node.namespace}.".startswith(f"{namespace}.") for namespace in namespaces)


def _combine(names: Names) -> Pipeline:
    first, *others = names
    combined: Pipeline = sum((pipelines[name] for name in others), pipelines[first])
    return combined


def _pipelines_with(node_names: Collection[str]) -> list[str]:
    """The first pipeline that has each node, stages before others; none if a node is in no pipeline."""
    missing, names = set(node_names), []
    for name, pipeline in pipelines.items() if missing else ():
        present = missing & {node.name for node in pipeline.nodes}
        names += [name] if present else []
        missing -= present
        if not missing:
            return names
    return []


def _pipeline_of_path(filters: Filters) -> list[str]:
    """The pipeline that has all ends of a path: the default, else that of a benchmark or a study, else the first."""
    ends = [*filters.nodes, *filters.datasets]
    benchmarks_and_studies = []
    for _, name in ends:
        try:
            benchmarks_and_studies.append(pipeline_of(name))
        except CoattendError:
            continue  # Names of nodes and datasets need not begin with a benchmark's.
    candidates = dict.fromkeys((DEFAULT, *benchmarks_and_studies, *pipelines))
    for name in candidates:
        if name in pipelines and not _misfits(pipelines[name], filters):
            return [name]
    return []


def _misfits(pipeline: Pipeline, filters: Filters) -> list[tuple[str, str]]:
    """The options and names that no node or dataset of a pipeline fits."""
    options = [*filters.nodes, *filters.datasets, *(("--tags", tag) for tag in filters.tags)]
    known = {option: _names_of(pipeline, option) for option, _ in options}
    return [(option, name) for option, name in options if name not in known[option]]


def _check_filters(names: Names, namespaces: Names, filters: Filters) -> None:
    """Refuse names that the pipelines of a run do not have, with the nearest one or the pipeline that has it."""
    combined = _combine(names or [DEFAULT])
    for option, name in _misfits(combined, filters):
        searched = [combined] if names or option == "--tags" else pipelines.values()
        cure = did_you_mean(name, sorted({known for pipeline in searched for known in _names_of(pipeline, option)}))
        if elsewhere := [other for other, pipeline in pipelines.items() if name in _names_of(pipeline, option)]:
            cure = f"Name a pipeline that has it: --pipelines {elsewhere[0]}"
        inside = f"in the pipelines {', '.join(names or [DEFAULT])}" if names or elsewhere else "in any pipeline"
        raise CoattendError(
            f"there is no such {NOUNS.get(option, 'node')} {inside}", where=f"{option} {name}", cure=cure
        )
    try:
        combined.filter(
            **{field.name: getattr(filters, field.name) or None for field in fields(Filters)},
            node_namespaces=list(namespaces) or None,
        )
    except ValueError as error:
        raise CoattendError(str(error).splitlines()[0].rstrip("."), cure="Leave some of these options out") from None


def _names_of(pipeline: Pipeline, option: str) -> set[str]:
    """The names that an option may have."""
    match option:
        case "--tags":
            return {tag for node in pipeline.nodes for tag in node.tags}
        case "--from-inputs":
            return set(pipeline.datasets())
        case "--to-outputs":
            return set(pipeline.all_outputs())
    return {node.name for node in pipeline.nodes}


def _namespaces(pipeline: Pipeline) -> set[str]:
    parts = [node.namespace.split(".") for node in pipeline.nodes if node.namespace]
    return {".".join(names[: depth + 1]) for names in parts for depth in range(len(names))}


def _unknown_namespace(namespace: str, pipeline_names: Sequence[str], registered: set[str]) -> CoattendError:
    benchmark, _, reader = namespace.partition(".")
    siblings = sorted(name for name in registered if reader and name.startswith(f"{benchmark}."))
    if reader in entries.reader_names():
        entry = entries.reader_entry(reader)
        if not (entries.is_trained(entry) or entry.get(MODEL)):
            return entries.missing_model(reader)
    if siblings and reader in entries.reader_names():
        parameters = entries.benchmark(benchmark)
        tasks = " or ".join(parameters.answerable)
        problem = f"{reader!r} has no head for {tasks}, which {benchmark} asks for, or its entry leaves {benchmark} out"
        if parameters.readers is not None and reader not in parameters.readers:
            problem = f"benchmarks.{benchmark}.readers does not name {reader!r}"
        return CoattendError(
            problem,
            where=f"--namespaces {namespace}",
            cure=f"Readers of {benchmark}: {', '.join(name.partition('.')[2] for name in siblings)}",
        )
    problem = f"no namespace {namespace!r} in the pipelines {', '.join(pipeline_names)}"
    benchmarks = sorted({name.partition(".")[0] for name in registered})
    if benchmark not in benchmarks:
        return CoattendError(problem, cure=f"They are run for: {', '.join(benchmarks) or 'no benchmark'}")
    return CoattendError(problem, cure=did_you_mean(namespace, siblings or sorted(registered)))
