"""Commands that pages show: each is parsed as Kedro parses it, and what it names exists."""

import importlib.util
import re
import shlex
import subprocess
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest
from documented import ROOT, commands

from coattend import readers
from coattend.checks import check_runtime_params
from coattend.config import (
    AttentionParameters,
    BatchInvarianceParameters,
    BenchmarkParameters,
    CompareParameters,
    EncoderParameters,
    EngineParameters,
    ExportParameters,
    PredictionParameters,
    ReaderParameters,
    ShareParameters,
    StudySettings,
    TrackingParameters,
    source,
)
from coattend.settings import CONFIG_LOADER_ARGS
from coattend.settings import ProjectConfigLoader as ConfigLoader

OF_PACKAGES = ("look_once", "midpoint", "qwen")
"""Readers that pages explain how to add; tests of their own install them, or name a model."""

ENTRIES = {"benchmarks": BenchmarkParameters, "encoders": EncoderParameters, "readers": ReaderParameters}
BLOCKS = {
    "attention": AttentionParameters,
    "batch_invariance": BatchInvarianceParameters,
    "compare": CompareParameters,
    "engine": EngineParameters,
    "export": ExportParameters,
    "prediction": PredictionParameters,
    "share": ShareParameters,
    "study": StudySettings,
    "tracking": TrackingParameters,
}

EVERY = commands()
RUNS = sorted({command for _, command in EVERY if command.startswith("kedro run")})
OTHERS = sorted({command for _, command in EVERY if command.startswith("kedro ")} - set(RUNS))
OF_OTHERS = sorted({command for _, command in EVERY if command.startswith(("mlflow ", "dask "))})


def module_of(command):
    """Return the module that a command runs; `perf gpu` is a part of `perf` with options of its own."""
    return command.removeprefix("python -m ").replace("perf gpu", "perf.gpu", 1).split()[0]


MODULES = sorted({module_of(command) for _, command in EVERY if command.startswith("python -m ")})


@cache
def kedro_command(*names):
    from kedro.framework.cli.cli import KedroCLI
    from kedro.framework.startup import bootstrap_project

    bootstrap_project(ROOT)
    command = KedroCLI(project_path=ROOT)
    for name in names:
        command = command.get_command(click.Context(command), name)
        assert command is not None, f"kedro has no command {name}"
    return command


def test_every_run_names_what_exists(subtests, written_project, pipelines):
    for command in RUNS:
        with subtests.test(command=command):
            options = kedro_command("run").make_context("run", shlex.split(command)[2:]).params
            # Namespaces alone mean the pipelines of their benchmarks.
            alone = sorted({namespace.partition(".")[0] for namespace in options["namespaces"]}) or ["__default__"]
            names = [name for pattern in options["pipelines"] or alone for name in matching(pattern, pipelines)]
            nodes = [node for name in names for node in pipelines[name].nodes]
            namespaces = {name for node in nodes for name in prefixes(node.namespace)}
            for pattern in options["namespaces"] or ():
                assert pattern.endswith(OF_PACKAGES) or matching(pattern, namespaces)
            assert set(options["to_nodes"] + options["from_nodes"] + options["node_names"]) <= {
                node.name for node in nodes
            }
            tables = {name for node in nodes for name in (*node.inputs, *node.outputs)}
            assert set(options["to_outputs"] + options["from_inputs"]) <= tables
            filled = kedro_command("run").make_context("run", shlex.split(re.sub("[<>]", "", command))[2:]).params
            check_parameters(names, options["env"], filled["params"] or {}, written_project / "conf")


def matching(pattern, names):
    """The first name that a pattern with ``<...>`` stands for."""
    expression = re.sub("<.*?>", r"\\w+", re.escape(pattern))
    matches = [name for name in names if re.fullmatch(expression, name)]
    assert matches, pattern
    return matches[:1]


def prefixes(namespace):
    parts = (namespace or "").split(".")
    return {".".join(parts[: depth + 1]) for depth in range(len(parts))}


def check_parameters(names, env, params, conf):
    """Check that parameters belong to known blocks and have the right types."""
    defaults = parameters(conf, env)
    if not params:
        return
    params = {key: value for key, value in params.items() if not set(OF_PACKAGES) & set(value)}
    check_runtime_params(params, defaults)
    merged = ConfigLoader(str(conf), env=env, runtime_params=params, **CONFIG_LOADER_ARGS)["parameters"]
    source.enter(str(conf), None)
    for block, changes in params.items():
        if block in BLOCKS:
            assert BLOCKS[block].model_validate(merged[block])
        for name in changes if block in ENTRIES else ():
            entry = ENTRIES[block].model_validate(merged[block][name])
            if block == "readers":
                assert readers.resolve(entry.reader, head=entry.head, **entry.options)


@cache
def parameters(conf, env):
    """Load an environment's parameters."""
    loaded = ConfigLoader(str(conf), env=env, **CONFIG_LOADER_ARGS)["parameters"]
    source.enter(str(conf), None)
    return loaded


def test_every_other_command_of_kedro_exists(subtests):
    for command in OTHERS:
        with subtests.test(command=command):
            name, *words = shlex.split(command)[1:]
            parsed = kedro_command(name)
            while isinstance(parsed, click.Group):
                name, *words = words
                parsed = parsed.get_command(click.Context(parsed), name)
            assert parsed.make_context(name, words)


@pytest.mark.parametrize(
    "command", sorted({command for _, command in EVERY if command.startswith(("mlflow ", "dask "))})
)
def test_every_command_of_mlflow_and_dask_has_the_options_that_pages_name(command):
    program, name, *words = shlex.split(command)
    if program == "dask":
        (entry,) = entry_points(group="dask_cli", name=name)
        command = entry.load()
    else:
        command = importlib.import_module("mlflow.cli").cli.commands[name]
    while isinstance(command, click.Group):
        name, *words = words
        command = command.get_command(click.Context(command), name)
    assert command.make_context(name, words)


def test_make_has_the_targets_that_pages_name():
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for page, command in EVERY:
        if command.startswith("make "):
            assert f"make {shlex.split(command)[1]} " in listed, page


def test_every_module_that_is_run_has_the_options_that_pages_name(subtests):
    for module in MODULES:
        with subtests.test(module=module):
            lines = [
                command.partition(">")[0].split()
                for _, command in EVERY
                if command.startswith("python -m ") and module_of(command) == module
            ]
            options = {word.partition("=")[0] for words in lines for word in words if word[:2] == "--"}
            spec = importlib.util.find_spec(module)
            assert spec, "there is no such module"
            if spec.submodule_search_locations:
                spec = importlib.util.find_spec(f"{module}.__main__")
            assert options <= set(re.findall(r"\"(--[\w-]+)\"", Path(spec.origin).read_text()))
