"""The project's ``kedro run``: namespaces or nodes alone choose their pipelines, and errors are one line."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TextIO

import click
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.cli.utils import CONTEXT_SETTINGS
from kedro.framework.project import settings
from kedro.io import DatasetError
from kedro.logging import RichHandler
from kedro.utils import load_obj
from kedro.validation.exceptions import ParameterValidationError

from coattend import studies
from coattend.config import ReaderParameters, StudyParameters, entries, source
from coattend.config.explain import Setting, Sources, explain, table
from coattend.config.project import project_folder
from coattend.config.reader import Layer, merge
from coattend.errors import CoattendError, did_you_mean
from coattend.pipelines.keys import STUDY
from coattend.selection import Filters, pipeline_of, select

RUNNERS = ("SequentialRunner", "ThreadRunner", "ParallelRunner")
"""Kedro's own runners, which are named without their module."""
LOG_FORMAT = "%(asctime)s %(levelname)-7s %(message)s"


@click.group(context_settings=CONTEXT_SETTINGS, name=__file__)
def cli() -> None:
    """Commands of this project, which take precedence over Kedro's."""


@cli.command("run", params=list(kedro_run.params))
def run(**options: Any) -> Any:
    """Run pipelines. The namespace of a reader without a pipeline (dream.poi_net) means all from raw files to the page
    that shows it, that of a benchmark or study their pipeline, and a node the first pipeline that has it."""
    _use_plain_lines()
    source.enter(options["conf_source"], options["env"], options["params"])
    _check_runner(options["runner"])
    filters = Filters(**{field.name: tuple(options[field.name]) for field in fields(Filters)})
    chosen = options["pipelines"] or ([options["pipeline"]] if options["pipeline"] else [])
    try:
        selection = select(chosen, options["namespaces"], filters)
    except CoattendError:
        _check_configuration(options["conf_source"], options["env"])
        raise
    options["namespaces"], options["node_names"] = selection.namespaces, selection.nodes
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


def _check_configuration(conf_source: str | None, env: str | None) -> None:
    """Refuse what is wrong with the configuration: a name that is unknown may be in a file that nothing reads."""
    location = conf_source or str(project_folder() / settings.CONF_SOURCE)
    settings.CONFIG_LOADER_CLASS(location, env=env, **settings.CONFIG_LOADER_ARGS)["parameters"]


def _check_runner(name: str | None) -> None:
    if name is None or name in RUNNERS:
        return
    try:
        load_obj(name, "kedro.runner")
    except (ImportError, AttributeError, ValueError):
        cure = did_you_mean(name, RUNNERS)
        raise CoattendError("there is no such runner", where=f"--runner {name}", cure=cure) from None


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
@click.argument("part", type=click.Choice(["pipelines", "readers", "studies"]))
def print_menu(part: str, env: str | None, conf_source: str | None) -> None:
    """Print what people run: the pipelines with a sentence each, the readers, or the studies with their costs."""
    from kedro.framework.session import KedroSession

    from coattend import menu

    if part != "studies":
        source.enter(conf_source, env)
        lines = menu.pipeline_lines() if part == "pipelines" else menu.reader_lines()
    else:
        session = KedroSession.create(env=env, conf_source=conf_source)
        with session:
            loader = session.load_context().config_loader
            results, parameters = loader["globals"]["results"], loader["parameters"]
        lines = menu.study_lines(Path(results) / "08_reporting" / "studies", parameters)
    click.echo("\n".join(lines))


def explained(name: str, loader: Any) -> Iterator[tuple[str, list[Setting]]]:
    """The settings of an entry, or of each variant of a study on each of its benchmarks."""
    first, _, rest = name.partition(".")
    if first == STUDY and rest:
        yield from _explain_study(*f"{studies.PREFIX}{rest}".partition(".")[::2], loader)
    elif first.startswith(studies.PREFIX):
        yield from _explain_study(first, rest, loader)
    else:
        yield from _explain_reader(pipeline_of(first), rest, loader)


def _explain_reader(benchmark: str, reader: str, loader: Any) -> Iterator[tuple[str, list[Setting]]]:
    if not reader:
        cure = f"Add a dot and one of its readers: {', '.join(entries.readers_of(benchmark))}"
        raise CoattendError("names no reader", where=benchmark, cure=cure)
    entries.check_reader(reader)
    parameters = loader["parameters"]
    entry = parameters["readers"].get(reader) or entries.complete_reader(reader, None)
    sources = Sources(str(loader.conf_source), loader.env, loader.runtime_params or {})
    home = parameters["benchmarks"][benchmark].get("trained_on") or benchmark
    for name in dict.fromkeys((home, benchmark)):
        entries.text_profiles(entry, name)  # An environment may name some that do not exist.
        settings = explain(parameters, parameters["benchmarks"][name], entry, sources, asked_only=name != home)
        title = f"{name}.{reader}"
        yield title if name == home else f"{title}, which asks the trials of {home}.{reader}", settings


def _explain_study(pipeline: str, chosen: str, loader: Any) -> Iterator[tuple[str, list[Setting]]]:
    parameters = loader["parameters"]
    spec = studies.load_study(pipeline.removeprefix(studies.PREFIX))
    content = parameters["studies"][spec.name]
    # The study with the changes of the environment and the command.
    changed = replace(spec, parameters=StudyParameters.model_validate(dict(content["about"])))
    if chosen and chosen not in content["variants"]:
        raise CoattendError(f"no variant is called {chosen!r}", cure=did_you_mean(chosen, list(content["variants"])))
    entry_name = spec.name.removeprefix(f"{spec.file.stem}_")
    study = (spec.file, spec.name, entry_name)
    sources = Sources(str(loader.conf_source), loader.env, loader.runtime_params or {}, study)
    for variant in [chosen] if chosen else content["variants"]:
        training = changed.training_layers(variant, parameters["readers"])
        if seeds := parameters["study"].get("seeds"):
            training.append(Layer("study.seeds", {"seeds": seeds}))
        # With start_from, the variant whose trials a run looks up.
        entry = {**content["variants"][variant], "training": merge(training)}
        layers = (spec.name, changed.entry_layers(variant, parameters["readers"]), training)
        homes: dict[str, list[str]] = {}
        for benchmark in changed.parameters.benchmarks_of(variant):
            homes.setdefault(ReaderParameters.model_validate(entry).trained_on(benchmark), []).append(benchmark)
        for home, scored_on in homes.items():
            for benchmark in dict.fromkeys((home, *scored_on)):
                entries.text_profiles(entry, benchmark)
                about = dict(content["benchmarks"][benchmark])
                settings = explain(parameters, about, entry, sources, study=layers, asked_only=benchmark != home)
                title = f"{pipeline}.{variant} on {benchmark}"
                yield title if benchmark == home else f"{title}, trained on {home}", settings


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
