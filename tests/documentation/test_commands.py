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

from coattend import configuration, environment, readers, studies
from coattend.config_loader import ConfigLoader
from coattend.parameters import (
    AttentionParameters,
    BenchmarkParameters,
    CompareParameters,
    EncoderParameters,
    EngineParameters,
    PredictionParameters,
    ReaderParameters,
    ShareParameters,
    StudySettings,
    TrackingParameters,
)
from coattend.run_checks import check_overrides
from coattend.settings import CONFIG_LOADER_ARGS

OF_PACKAGES = ("look_once", "midpoint")
"""Readers that a page explains how to add; tests of their own install them."""

ENTRIES = {"benchmarks": BenchmarkParameters, "encoders": EncoderParameters, "readers": ReaderParameters}
BLOCKS = {
    "attention": AttentionParameters,
    "compare": CompareParameters,
    "engine": EngineParameters,
    "prediction": PredictionParameters,
    "share": ShareParameters,
    "study": StudySettings,
    "tracking": TrackingParameters,
}

EVERY = commands()
RUNS = sorted({command for _, command in EVERY if command.startswith("kedro run")})
OTHERS = sorted({command for _, command in EVERY if command.startswith("kedro ")} - set(RUNS))
MODULES = sorted({command.split()[2] for _, command in EVERY if command.startswith("python -m ")})


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


@pytest.mark.parametrize("command", RUNS)
def test_every_run_names_what_exists(command, written_project, pipelines):
    given = kedro_command("run").make_context("run", shlex.split(command)[2:]).params
    names = [name for asked in given["pipelines"] or ["__default__"] for name in fitting(asked, pipelines)]
    nodes = [node for name in names for node in pipelines[name].nodes]
    known = {name for node in nodes for name in prefixes(node.namespace)}
    known |= set() if given["pipelines"] else set(configuration.benchmark_names())
    for asked in given["namespaces"] or ():
        assert asked.endswith(OF_PACKAGES) or fitting(asked, known)
    assert set(given["to_nodes"] + given["from_nodes"] + given["node_names"]) <= {node.name for node in nodes}
    tables = {name for node in nodes for name in (*node.inputs, *node.outputs)}
    assert set(given["to_outputs"] + given["from_inputs"]) <= tables
    filled = kedro_command("run").make_context("run", shlex.split(re.sub("[<>]", "", command))[2:]).params
    check_parameters(names, given["env"], filled["params"] or {}, written_project / "conf")


def fitting(name, known):
    """The known names that a name means: itself, or those that its ``<...>`` stands for."""
    pattern = re.sub("<.*?>", r"\\w+", re.escape(name))
    found = [one for one in known if re.fullmatch(pattern, one)]
    assert found, name
    return found[:1]


def prefixes(namespace):
    parts = (namespace or "").split(".")
    return {".".join(parts[: depth + 1]) for depth in range(len(parts))}


def check_parameters(names, env, params, conf):
    """As Kedro would have them: known blocks, and what is changed of the right type."""
    studied = tuple(name for name in names if name.startswith(studies.PREFIX))
    known = parameters(conf, env, studied)
    if not params:
        return
    params = {key: value for key, value in params.items() if not set(OF_PACKAGES) & set(value)}
    check_overrides(params, known)
    with studies.only(names):
        merged = ConfigLoader(str(conf), env=env, runtime_params=params, **CONFIG_LOADER_ARGS)["parameters"]
    environment.enter(conf, None)
    for kind, changed in params.items():
        if kind in BLOCKS:
            assert BLOCKS[kind].model_validate(merged[kind])
        for name in changed if kind in ENTRIES else ():
            entry = ENTRIES[kind].model_validate(merged[kind][name])
            if kind == "readers":
                assert readers.resolve(entry.reader, head=entry.head, **entry.options)


@cache
def parameters(conf, env, names):
    """As an environment has them; studies that are not run have none."""
    with studies.only(names):
        found = ConfigLoader(str(conf), env=env, **CONFIG_LOADER_ARGS)["parameters"]
    environment.enter(conf, None)
    return found


@pytest.mark.parametrize("command", OTHERS)
def test_every_other_command_of_kedro_exists(command):
    words = [word for word in shlex.split(command)[1:] if not word.startswith("-")]
    assert kedro_command(*words[:2])


@pytest.mark.parametrize("command", sorted({one for _, one in EVERY if one.startswith(("mlflow ", "dask "))}))
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


@pytest.mark.parametrize("module", MODULES)
def test_every_module_that_is_run_has_the_options_that_pages_name(module):
    lines = [command.partition(">")[0].split() for _, command in EVERY if command.startswith(f"python -m {module}")]
    named = {word.partition("=")[0] for words in lines if words[2] == module for word in words if word[:2] == "--"}
    found = importlib.util.find_spec(module)
    assert found, "there is no such module"
    if found.submodule_search_locations:
        found = importlib.util.find_spec(f"{module}.__main__")
    assert named <= set(re.findall(r"\"(--[\w-]+)\"", Path(found.origin).read_text()))
