"""A Kedro session whose mistakes are told to the user in one line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kedro.framework.project import pipelines
from kedro.framework.session import KedroSession
from kedro.io import DatasetError
from kedro.validation.exceptions import ParameterValidationError

from coattend import configuration, environment, logs, refused, studies
from coattend.errors import CoattendError, did_you_mean

STUDY = "study"
"""What the namespaces of studies begin with."""
ENDS = ("from_nodes", "to_nodes", "from_inputs", "to_outputs")
"""Options that cut a path out of a pipeline: it may go through several stages."""


class Session(KedroSession):
    """Checks names before it runs, and closes the tracked run when it is interrupted."""

    def run(self, pipeline_names: list[str] | None = None, namespaces: list[str] | None = None, **kwargs: Any) -> Any:
        """Run pipelines as `kedro run` does; namespaces without pipelines mean their benchmarks' pipelines, nodes
        without pipelines those that have them.

        Raises:
            CoattendError: For an unknown pipeline, namespace or parameter, and for a table of the wrong shape.
        """
        logs.fit_output()
        environment.enter(Path(self._conf_source), self.store.get("env"))
        pipeline_names, namespaces = list(pipeline_names or ()), list(namespaces or ())
        if namespaces and not pipeline_names:
            pipeline_names = sorted({_pipeline_of(namespace) for namespace in namespaces})
        if not pipeline_names and not any(kwargs.get(end) for end in ENDS):
            pipeline_names = _pipelines_with(kwargs.get("node_names") or ())
        # As Kedro will say, which forgets all pipelines when it is said anew.
        pipelines.set_requested(pipeline_names or None)
        _check_names(pipeline_names, namespaces)
        # Kedro would take the nodes of a namespace inside another one twice.
        namespaces = [one for one in namespaces if not any(one.startswith(f"{other}.") for other in namespaces)]
        try:
            with studies.only(pipeline_names):
                return self._run_tracked(pipeline_names=pipeline_names, namespaces=namespaces, **kwargs)
        except ParameterValidationError as error:
            raise refused.told(error) from None
        except DatasetError as error:
            raise _told_to_the_user(error) from None

    def _run_tracked(self, **kwargs: Any) -> Any:
        """Kedro tells its hooks of what fails inside the runner only: not of Ctrl-C, nor of another hook's refusal."""
        try:
            return super().run(**kwargs)
        except BaseException as error:
            self._hook_manager.hook.on_pipeline_error(error=error, run_params={}, pipeline=None, catalog=None)
            raise


def _told_to_the_user(error: BaseException) -> CoattendError:
    """Our own error inside those that the catalog wrapped around it, else the catalog's message."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CoattendError):
            return cause
        cause = cause.__cause__
    return CoattendError(str(error), cure="Run the stage that writes it again")


def _pipeline_of(namespace: str) -> str:
    """The pipeline that a namespace alone means."""
    first, *rest = namespace.split(".")
    if first == STUDY and rest:
        return f"{studies.PREFIX}{studies.study(rest[0]).name}"
    return _known_benchmark(namespace)


def _pipelines_with(nodes: Sequence[str]) -> list[str]:
    """The pipelines that nodes alone mean: the first one that has each, stages come first; none if one is nowhere."""
    missing, names = set(nodes), []
    for name, pipeline in pipelines.items() if missing else ():
        there = missing & {node.name for node in pipeline.nodes}
        names += [name] if there else []
        missing -= there
        if not missing:
            return names
    return []


def _known_benchmark(namespace: str) -> str:
    benchmark = namespace.split(".")[0]
    known = configuration.benchmark_names()
    if benchmark not in known:
        raise CoattendError(f"no benchmark is called {benchmark!r}", cure=did_you_mean(benchmark, known))
    return benchmark


def _check_names(pipeline_names: list[str], namespaces: list[str]) -> None:
    for name in pipeline_names:
        if name not in pipelines:
            raise CoattendError(f"no pipeline is called {name!r}", cure=did_you_mean(name, list(pipelines)))
    if not namespaces:
        return
    known = {namespace for name in pipeline_names for namespace in _prefixes(pipelines[name])}
    for namespace in namespaces:
        _pipeline_of(namespace)
        if namespace not in known:
            raise _unknown(namespace, pipeline_names, known)


def _unknown(namespace: str, pipeline_names: list[str], known: set[str]) -> CoattendError:
    benchmark, _, reader = namespace.partition(".")
    own = sorted(name for name in known if reader and name.startswith(f"{benchmark}."))
    if own and reader in configuration.reader_names():
        tasks = " or ".join(configuration.answerable_tasks(benchmark))
        return CoattendError(
            f"{reader!r} has no head for {tasks}, which {benchmark} asks for, or its entry leaves {benchmark} out",
            where=f"--namespaces {namespace}",
            cure=f"Readers of {benchmark}: {', '.join(name.partition('.')[2] for name in own)}",
        )
    problem = f"no namespace {namespace!r} in the pipelines {', '.join(pipeline_names)}"
    benchmarks = sorted({name.partition(".")[0] for name in known})
    if benchmark not in benchmarks:
        return CoattendError(problem, cure=f"They are run for: {', '.join(benchmarks) or 'no benchmark'}")
    return CoattendError(problem, cure=did_you_mean(namespace, own or sorted(known)))


def _prefixes(pipeline: Any) -> set[str]:
    parts = [node.namespace.split(".") for node in pipeline.nodes if node.namespace]
    return {".".join(names[: depth + 1]) for names in parts for depth in range(len(names))}
