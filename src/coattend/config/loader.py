"""Kedro's configuration with every benchmark and reader in it."""

from collections.abc import Iterable
from typing import Any

from kedro.config import OmegaConfigLoader

from coattend import readers
from coattend.config import entries, source
from coattend.config.parameters import check_parameters
from coattend.errors import CoattendError, did_you_mean

PROFILES = ("encoders", "tokenizers", "taggings", "engine")
"""Blocks that make up ``profiles``, one input of the nodes that configure readers: kedro-viz shows each input's content
at every node, and all parameters together are too much for that."""


class ConfigLoader(OmegaConfigLoader):
    """Kedro's loader; readers and benchmarks get their names, and a reader without a file an entry of defaults."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        source.enter(str(self.conf_source), self.env)

    def __getitem__(self, key: str) -> dict[str, Any]:
        """Load one type of configuration; parameters are completed and checked."""
        _check_environment(str(self.conf_source), self.env)
        config = super().__getitem__(key)
        if key == "parameters":
            self.complete(config)
            check_parameters(config)
        return config

    def complete(self, parameters: dict[str, Any]) -> None:
        """Add to parameters what their files may leave out; refuse readers and benchmarks that do not exist."""
        changes = parameters.get("readers") or {}
        benchmarks = parameters.get("benchmarks") or {}
        _check_readers(changes)
        check_names("benchmark", "benchmarks", benchmarks, entries.benchmark_names())
        names = sorted({*readers.names(), *changes})
        parameters["readers"] = {name: entries.complete_reader(name, changes.get(name)) for name in names}
        for name, entry in benchmarks.items():
            entry["name"] = name
        parameters["profiles"] = {block: parameters.get(block, {}) for block in PROFILES}

    def without_runtime_params(self) -> dict[str, Any]:
        """The parameters of the files alone, without those of ``--params``."""
        # Kedro merges these into the parameters on every access, so they are put aside for one.
        runtime_params = self.runtime_params
        self.runtime_params = {}
        try:
            return self["parameters"]
        finally:
            self.runtime_params = runtime_params


def check_names(noun: str, block: str, names: Iterable[str], declared: list[str]) -> None:
    """Refuse names of a block that no file of the base environment declares: they are misspelt."""
    for name in names:
        if name not in declared:
            where = f"{block}.{name} in a parameter file"
            raise CoattendError(f"there is no such {noun}", where=where, cure=did_you_mean(name, declared))


def _check_environment(location: str, environment: str | None) -> None:
    environments = source.environments(location) if environment is not None else []
    if environments and environment not in (*environments, source.BASE):
        cure = did_you_mean(str(environment), environments)
        raise CoattendError(f"there is no environment {environment!r}", where=f"--env {environment}", cure=cure)


def _check_readers(names: Iterable[str]) -> None:
    """Readers of the base environment, and those that are called by their parts, may be changed."""
    for name in names:
        try:
            entries.check_reader(name)
        except CoattendError as error:
            raise CoattendError(error.problem, where=f"readers.{name} in a parameter file", cure=error.cure) from None
