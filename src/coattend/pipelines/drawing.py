"""Pipelines as kedro-viz draws them: with a box for each stage and each reader, and of a size that can be read.

A benchmark's nodes share its namespace, as ``--namespaces`` wants it, so kedro-viz would fold all of them into a single
box, or unfold a line of a hundred datasets. Drawn nodes are the same nodes, with the same names, sources, previews and
commands, in other boxes. Only kedro-viz is given them, in a process of its own: they cannot be run.
"""

import inspect
import warnings
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping

from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from coattend.pipelines.keys import DEFAULT, STUDY, TRAINS, NodeKey, entry_of

LOADER = "kedro_viz.integrations.kedro.data_loader"
"""Module by which kedro-viz asks for pipelines, whether it serves or builds."""
ASIDE = frozenset(
    (
        # Folders that nodes look up in, which are inputs of nearly all of them.
        "trials",
        "tagged_before",
        # Records that could not be read, and the same answers or page in another form.
        "rejected",
        "rejected_questions",
        "answers",
        "page_markdown",
        "table_markdown",
        "table_csv",
        "table_latex",
        "records",
        "record_page",
        "leaderboard_before",
    )
)
"""Catalog entries that are not drawn."""
MOST_COLUMNS = 8
"""Readers, or variants of a study, that stand side by side at first; more are folded into one box."""
MOST_READERS = 16
"""Readers or variants in one picture; of more, each task of a benchmark and each benchmark of a study has its own."""
TEXT_TABLES = frozenset(("passages", "questions", "tags", "tokens"))
STUDY_TABLES = frozenset(("rows", "table_chart", "figures"))
EXAMPLE_READERS = 5
"""Readers that stand for all others where a stage is drawn."""


class DrawnNode(Node):
    """A node in another box of the picture, or in none, without the datasets that are not drawn."""

    def __init__(self, node: Node, box: str | None, *, aside: Collection[str] = ()) -> None:
        vars(self).update(vars(node))
        # These follow from the box and from what is drawn.
        for cached in ("inputs", "namespace_prefixes", "_unique_key"):
            vars(self).pop(cached, None)
        self._namespace = box
        self._node, self._aside = node, aside

    @property
    def name(self) -> str:
        """The node's own name, which commands take."""
        return str(self._node.name)

    @property
    def inputs(self) -> deque[str]:  # type: ignore[override]  # See below.
        """The inputs that are drawn."""
        # Kedro would match the items of a list with the function's arguments, and parameters with the types of others.
        # Pydantic, by which kedro-viz writes them, warns of what is no list.
        return deque(self._drawn(self._node.inputs))

    @property
    def outputs(self) -> list[str]:
        """The outputs that are drawn."""
        return list(self._drawn(self._node.outputs))

    def _drawn(self, datasets: Iterable[str]) -> Iterator[str]:
        return (name for name in datasets if entry_of(name) not in ASIDE and name not in self._aside)

    def __str__(self) -> str:
        # kedro-viz knows nodes by their texts, those of a picture and those that ran.
        return str(self._node)


def is_drawn() -> bool:
    """True where kedro-viz asks for pipelines."""
    # Notebooks import kedro-viz and run pipelines in one process, so only the caller tells.
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") != LOADER:
        frame = frame.f_back
    return frame is not None


def draw(
    pipelines: Mapping[str, Pipeline],
    *,
    stages: Collection[str],
    benchmarks: Mapping[str, Mapping[str, Collection[str]]],
    examples: tuple[str, Collection[str]],
) -> dict[str, Pipeline]:
    """Draw all pipelines.

    A benchmark is drawn with its readers side by side, or in one box if they are many. If they are very many, it has
    a picture of each task, such as ``cbt.word``, beside one of the readers that are examples. A study's variants are
    drawn likewise, with a picture of each benchmark. A stage, which has the nodes of all benchmarks, is drawn on one of
    them with some readers, as all others look the same.

    Args:
        pipelines: The registered pipelines.
        stages: Names of those that are a stage of all benchmarks.
        benchmarks: For each benchmark with a pipeline, its readers by task.
        examples: The benchmark that stages are drawn on, where it has them, and its readers in the picture.
    """
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
    pictures: dict[str, Pipeline] = {}
    # kedro-viz takes a dataset out of its box in all pictures if it is in none in the first: those with boxes go first.
    for name in sorted(pipelines, key=lambda name: (name != DEFAULT, name in stages, name not in benchmarks)):
        nodes = pipelines[name].nodes
        if name in stages:
            pictures[name] = _benchmark(_example(nodes, *examples))
        elif any(NodeKey.of(node).study for node in nodes):
            pictures |= {".".join([name, *part]): _study(members) for part, members in _parts(nodes).items()}
        elif name in benchmarks or name == DEFAULT:
            by_task = benchmarks.get(name, {})
            divided = len(by_task) > 1 and sum(map(len, by_task.values())) > MOST_READERS
            pictures[name] = _benchmark(_of_readers(nodes, examples[1]) if divided else nodes)
            for task, readers in by_task.items() if divided else ():
                pictures[f"{name}.{task}"] = _benchmark(_of_readers(nodes, readers))
        else:
            pictures[name] = Pipeline([DrawnNode(node, None) if node.namespace else node for node in nodes])
    return pictures


def _stage(node: Node) -> str:
    """The stage of a node, which is the package of its function."""
    return str(node.func.__module__).split(".")[-2]


def _example(nodes: Collection[Node], benchmark: str, readers: Collection[str]) -> list[Node]:
    """The nodes of one benchmark and some readers, in the place of all."""
    keys = {node.name: NodeKey.of(node) for node in nodes}
    names = list(dict.fromkeys(key.benchmark for key in keys.values()))
    if benchmark not in names:
        benchmark, readers = str(names[0]), ()
    own = [node for node in nodes if keys[node.name].benchmark == benchmark]
    known = dict.fromkeys(reader for node in own if (reader := keys[node.name].reader))
    chosen = [reader for reader in known if reader in readers] or list(known)[:EXAMPLE_READERS]
    return [node for node in own if keys[node.name].reader in (None, *chosen)]


def _of_readers(nodes: Iterable[Node], readers: Collection[str]) -> list[Node]:
    """The nodes of some readers, and those that are about no single reader."""
    return [node for node in nodes if NodeKey.of(node).reader in (None, *readers)]


def _benchmark(nodes: Iterable[Node]) -> Pipeline:
    """Draw a benchmark: its data stages, a box for each reader, evaluation and comparison."""
    keys = {node: NodeKey.of(node) for node in nodes}
    readers = {key.reader for key in keys.values() if key.reader}
    trained = {key.reader for node, key in keys.items() if _stage(node) == "training"}
    folded = len(readers) > MOST_COLUMNS
    pictured = []
    for node, (benchmark, reader, _) in keys.items():
        stage = _stage(node)
        aside: list[str] = []
        if stage == "reporting":
            # A comparison waits for readers that may be in another picture.
            box = "readers.comparison" if folded else "comparison"
            metrics = {f"{benchmark}.{name}.metrics" for name in readers}
            aside = [name for name in node.inputs if entry_of(name) == "metrics" and name not in metrics]
        elif reader is None:
            box = stage
        elif folded:
            box = f"readers.{reader}"
            # One for each reader, they would surround the box; and the texts are those that it was trained on.
            aside = [name for name in node.inputs if entry_of(name) == "model" and not name.startswith(f"{benchmark}.")]
            aside += [name for name in node.outputs if entry_of(name) == "submission"]
            if stage != "training" and reader in trained:
                aside += [name for name in node.inputs if entry_of(name) in TEXT_TABLES]
        else:
            box = reader if stage == "training" else f"evaluation.{reader}"
        pictured.append(DrawnNode(node, box, aside=aside))
    return Pipeline(pictured)


def _parts(nodes: Collection[Node]) -> dict[tuple[str, ...], list[Node]]:
    """Divide the nodes of a large study among its benchmarks, the first of which has no name."""
    keys = {node: NodeKey.of(node) for node in nodes}
    variants = [key.benchmark for node, key in keys.items() if TRAINS in node.tags]
    benchmarks = list(dict.fromkeys(variants))
    if len(variants) <= MOST_READERS or len({key.study for key in keys.values() if key.study}) > 1:
        return {(): list(nodes)}
    names = [(), *((str(benchmark),) for benchmark in benchmarks[1:])]
    return {
        name: [node for node, key in keys.items() if key.benchmark in (None, benchmark)]
        for name, benchmark in zip(names, benchmarks, strict=True)
    }


def _study(nodes: Iterable[Node]) -> Pipeline:
    """Draw a study, or several that belong together: the data stages of its benchmarks, its variants and its table."""
    keys = {node: NodeKey.of(node) for node in nodes}
    read = {key.benchmark for key in keys.values() if key.study is None}
    studies = {key.study for key in keys.values() if key.study}
    variants = [keys[node] for node in keys if TRAINS in node.tags]
    written = {name for node in keys for name in node.outputs}
    folded = len(studies) > 1 or len(variants) > MOST_COLUMNS
    pictured = []
    for node, (benchmark, variant, study) in keys.items():
        outer = [study if len(studies) > 1 else STUDY] if folded else []
        aside: list[str] = []
        if study is None:
            boxes = [_stage(node)] if len(read) == 1 else [benchmark, _stage(node)]
        elif variant is not None:
            boxes = [*outer, "variants"]
            boxes += [benchmark] if len({key.benchmark for key in variants if key.study == study}) > 1 else []
        else:
            boxes = [*outer, "costs" if node.short_name == "prepare" else "results"]
        if study is not None:
            # What other pictures of the study write; and of several benchmarks, two tables stand for all.
            aside = [name for name in node.inputs if name not in written and entry_of(name) not in ASIDE]
            aside = [name for name in aside if not name.startswith("params:")]
            aside += [name for name in node.inputs if len(read) > 1 and entry_of(name) in ("passages", "tags")]
            # Each of several studies has a row of tables and figures in its own picture.
            aside += [name for name in node.outputs if len(studies) > 1 and entry_of(name) in STUDY_TABLES]
        pictured.append(DrawnNode(node, ".".join(map(str, boxes)), aside=aside))
    return Pipeline(pictured)
