"""The project's ``kedro run``: namespaces or nodes alone choose their pipelines, and errors are one line."""

import logging
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import click
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.cli.utils import CONTEXT_SETTINGS
from kedro.framework.project import pipelines
from kedro.io import DatasetError
from kedro.logging import RichHandler
from kedro.pipeline import Pipeline
from kedro.validation.exceptions import ParameterValidationError

from coattend import studies
from coattend.config import StudyParameters, entries, source
from coattend.config.explain import Setting, Sources, explain, table
from coattend.config.reader import Layer, merge
from coattend.errors import CoattendError, did_you_mean
from coattend.pipelines.keys import STUDY

CUTS = ("from_nodes", "to_nodes", "from_inputs", "to_outputs")
"""Options that cut a path out of a pipeline, which may go through several stages."""
LOG_FORMAT = "%(asctime)s %(levelname)-7s %(message)s"


@click.group(context_settings=CONTEXT_SETTINGS, name=__file__)
def cli() -> None:
    """Commands of this project, which take precedence over Kedro's."""


@cli.command("run", params=list(kedro_run.params))
def run(**options: Any) -> Any:
    """Run pipelines. A namespace without a pipeline means that of its benchmark or study, a node without a pipeline the
    first pipeline that has it."""
    _use_plain_lines()
    source.enter(options["conf_source"], options["env"])
    selection = select(
        options["pipelines"] or ([options["pipeline"]] if options["pipeline"] else []),
        options["namespaces"],
        options["node_names"],
        cut=any(options[name] for name in CUTS),
    )
    options["namespaces"] = selection.namespaces
    if not options["pipeline"]:
        options["pipelines"] = selection.pipelines
    with errors_for_users():
        return kedro_run.callback(**options)  # type: ignore[misc]  # Kedro's command has one.


@contextmanager
def errors_for_users() -> Iterator[None]:
    """End the tracked runs if a run of pipelines fails, and raise the project's own error where Kedro wraps it."""
    from coattend.tracking import tracking

    try:
        yield
    except BaseException as error:
        # Kedro tells hooks of errors inside the runner only: not of Ctrl-C, nor of the refusal of another hook.
        tracking.close("KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED")
        if isinstance(error, DatasetError | ParameterValidationError):
            raise to_user_error(error) from None
        raise


EXPLAINED = ("env", "conf_source", "params")
"""Options of Kedro's ``run`` that decide what is configured."""


@cli.command("explain", params=[option for option in kedro_run.params if option.name in EXPLAINED])
@click.argument("name")
def explain_entry(name: str, env: str | None, conf_source: str | None, params: dict[str, Any]) -> None:
    """Print the resolved parameters of a reader on a benchmark (dream.poi_net) or of a study's variants
    (study_duma_table7, study_duma_table7.summation), each with the file and line that it comes from."""
    from kedro.framework.session import KedroSession

    session = KedroSession.create(env=env, conf_source=conf_source, runtime_params=params)
    with session:
        loader = session.load_context().config_loader
        for title, settings in explained(name, loader):
            click.echo(title)
            click.echo("\n".join(table(settings)) + "\n")


@cli.command("menu", params=[option for option in kedro_run.params if option.name in ("env", "conf_source")])
@click.argument("part", type=click.Choice(["pipelines", "studies"]))
def print_menu(part: str, env: str | None, conf_source: str | None) -> None:
    """Print what people run: the pipelines with a sentence each, or the studies with their costs."""
    from kedro.framework.session import KedroSession

    from coattend import menu

    if part == "pipelines":
        source.enter(conf_source, env)
        lines = menu.pipeline_lines()
    else:
        session = KedroSession.create(env=env, conf_source=conf_source)
        with session:
            results = session.load_context().config_loader["globals"]["results"]
        lines = menu.study_lines(Path(results) / "08_reporting" / "studies")
    click.echo("\n".join(lines))


def explained(name: str, loader: Any) -> Iterator[tuple[str, list[Setting]]]:
    """The settings of an entry, or of each variant of a study on each of its benchmarks."""
    parameters, first = loader["parameters"], name.partition(".")[0]
    location, runtime_params = str(loader.conf_source), loader.runtime_params or {}
    if not first.startswith(studies.PREFIX):
        benchmark, reader = pipeline_of(name), name.partition(".")[2]
        entries.check_reader(reader)
        entry = parameters["readers"].get(reader) or entries.complete_reader(reader, None)
        sources = Sources(location, loader.env, runtime_params)
        yield name, explain(parameters, parameters["benchmarks"][benchmark], entry, sources)
        return
    spec = studies.load_study(first.removeprefix(studies.PREFIX))
    content, chosen = parameters["studies"][spec.name], name.partition(".")[2]
    # The study with the changes of the environment and the command.
    changed = replace(spec, parameters=StudyParameters.model_validate(dict(content["about"])))
    if chosen and chosen not in content["variants"]:
        raise CoattendError(f"no variant is called {chosen!r}", cure=did_you_mean(chosen, list(content["variants"])))
    entry_name = spec.name.removeprefix(f"{spec.file.stem}_")
    sources = Sources(location, loader.env, runtime_params, (spec.file, spec.name, entry_name))
    for variant in [chosen] if chosen else content["variants"]:
        training = changed.training_layers(variant, parameters["readers"])
        if seeds := parameters["study"].get("seeds"):
            training.append(Layer("study.seeds", {"seeds": seeds}))
        # With start_from, the variant whose trials a run looks up.
        entry = {**content["variants"][variant], "training": merge(training)}
        layers = (spec.name, changed.entry_layers(variant, parameters["readers"]), training)
        for benchmark in changed.parameters.benchmarks_of(variant):
            settings = explain(parameters, dict(content["benchmarks"][benchmark]), entry, sources, study=layers)
            yield f"{first}.{variant} on {benchmark}", settings


class Selection(NamedTuple):
    """The pipelines and namespaces of a run."""

    pipelines: list[str]
    namespaces: list[str]


def select(
    pipeline_names: Sequence[str], namespaces: Sequence[str], node_names: Collection[str] = (), *, cut: bool = False
) -> Selection:
    """Choose pipelines where there are namespaces or nodes alone, and check all names. With ``cut``, a path through
    several stages is asked for, and nodes choose no pipelines."""
    names = sorted(set(pipeline_names) or {pipeline_of(namespace) for namespace in namespaces})
    if not names and not cut:
        names = _pipelines_with(node_names)
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
    return Selection(names, outer)


def pipeline_of(namespace: str) -> str:
    """The pipeline that a namespace means where no pipeline is chosen: its study's, or its benchmark's."""
    first, *rest = namespace.split(".")
    if first == STUDY and rest:
        return f"{studies.PREFIX}{studies.load_study(rest[0]).name}"
    benchmarks = entries.benchmark_names()
    if first not in benchmarks:
        raise CoattendError(f"no benchmark is called {first!r}", cure=did_you_mean(first, benchmarks))
    return first


def to_user_error(error: Exception) -> CoattendError:
    """The project's own error inside one of Kedro's, else Kedro's message."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CoattendError):
            return cause
        cause = cause.__cause__
    if isinstance(error, ParameterValidationError):
        return CoattendError(str(error), cure="The fields of each block are in coattend/config")
    return CoattendError(str(error), cure="Run the stage that writes it again")


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


def _namespaces(pipeline: Pipeline) -> set[str]:
    parts = [node.namespace.split(".") for node in pipeline.nodes if node.namespace]
    return {".".join(names[: depth + 1]) for names in parts for depth in range(len(names))}


def _unknown_namespace(namespace: str, pipeline_names: Sequence[str], registered: set[str]) -> CoattendError:
    benchmark, _, reader = namespace.partition(".")
    siblings = sorted(name for name in registered if reader and name.startswith(f"{benchmark}."))
    if siblings and reader in entries.reader_names():
        tasks = " or ".join(entries.benchmark(benchmark).answerable)
        return CoattendError(
            f"{reader!r} has no head for {tasks}, which {benchmark} asks for, or its entry leaves {benchmark} out",
            where=f"--namespaces {namespace}",
            cure=f"Readers of {benchmark}: {', '.join(name.partition('.')[2] for name in siblings)}",
        )
    problem = f"no namespace {namespace!r} in the pipelines {', '.join(pipeline_names)}"
    benchmarks = sorted({name.partition(".")[0] for name in registered})
    if benchmark not in benchmarks:
        return CoattendError(problem, cure=f"They are run for: {', '.join(benchmarks) or 'no benchmark'}")
    return CoattendError(problem, cure=did_you_mean(namespace, siblings or sorted(registered)))


class PlainHandler(logging.StreamHandler[TextIO]):
    """Writes whole lines to the current standard output."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter(LOG_FORMAT, datefmt="%Y-%m-%d %H:%M:%S"))

    @property
    def stream(self) -> TextIO:  # type: ignore[override]  # It is never set.
        """The current standard output, which tests and notebooks replace."""
        return sys.stdout


def _use_plain_lines() -> None:
    """Replace Kedro's columns, which are cut at 80 characters where there is no terminal."""
    if not sys.stdout.isatty():
        root = logging.getLogger()
        root.handlers = [PlainHandler() if isinstance(handler, RichHandler) else handler for handler in root.handlers]
