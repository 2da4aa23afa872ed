"""Kedro's configuration with every benchmark and reader in it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml
from kedro.config import OmegaConfigLoader
from omegaconf.errors import OmegaConfBaseException

from coattend import readers
from coattend.config import entries, source
from coattend.config.parameters import BLOCKS, NAMED, check_parameters, nearest_parameter
from coattend.config.reader import Layer, check_training
from coattend.config.unread import check_files, check_globals
from coattend.config.yaml import Lines, load_yaml
from coattend.errors import CoattendError, did_you_mean

LOADING_ERRORS = (yaml.YAMLError, OmegaConfBaseException, ValueError, TypeError, AttributeError)
"""Errors of reading and merging files that do not name the file, or only its name."""
PROFILES = ("encoders", "tokenizers", "taggings", "engine")
"""Blocks that make up ``profiles``, one input of the nodes that configure readers: kedro-viz shows each input's content
at every node, and all parameters together are too much for that."""

SHAPING = {
    "benchmarks": ("tasks", "readers", "trained_on", "submission", "published_at"),
    "readers": ("benchmarks",),
}
"""Fields that decide which pipelines and nodes there are, which only files of the base environment can."""


class ConfigLoader(OmegaConfigLoader):
    """Kedro's loader; readers and benchmarks get their names, and a reader without a file an entry of defaults."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._is_checked = False
        super().__init__(*args, **kwargs)
        source.enter(str(self.conf_source), self.env, self.runtime_params)

    def __getitem__(self, key: str) -> dict[str, Any]:
        """Load one type of configuration; parameters are completed and checked."""
        _check_environment(str(self.conf_source), self.env)
        try:
            config = super().__getitem__(key)
            if key == "globals":
                check_globals(str(self.conf_source), self._environments(), config)
        except LOADING_ERRORS as error:
            self._check_files()
            where = f"{self.conf_source} ({' and '.join(self._environments())})"
            raise CoattendError(" ".join(str(error).split()), where=where, cure="Mend the file that has it") from error
        if key == "parameters":
            self._check_blocks(config)
            self.complete(config)
            self._check_unread()
        return config

    def complete(self, parameters: dict[str, Any]) -> None:
        """Add to parameters what their files may leave out, and check them; refuse readers and benchmarks that do not
        exist."""
        changes = parameters.get("readers") or {}
        benchmarks = parameters.get("benchmarks") or {}
        self._check_readers(changes)
        self.check_names("benchmark", ("benchmarks",), benchmarks, entries.benchmark_names())
        self._check_shapes({"benchmarks": benchmarks, "readers": changes})
        names = sorted({*readers.names(), *changes})
        parameters["readers"] = {name: entries.complete_reader(name, changes.get(name)) for name in names}
        for name, entry in benchmarks.items():
            entry["name"] = name
        parameters["profiles"] = {block: parameters.get(block, {}) for block in PROFILES}
        check_parameters(parameters, locate=self._nearest_location)
        self._check_differences(parameters)

    def check_names(self, noun: str, block: Sequence[str], names: Iterable[str], declared: list[str]) -> None:
        """Refuse names of a block that no file of the base environment declares."""
        for name in names:
            if name not in declared:
                raise CoattendError(
                    f"there is no such {noun}",
                    where=self._location(*block, name),
                    cure=f"A new one belongs in {self.conf_source}/{source.BASE}. {did_you_mean(name, declared)}",
                )

    def _check_readers(self, names: Iterable[str]) -> None:
        """Readers of the base environment, and those that are called by their parts, may be changed."""
        entries.reader_names()  # A mistake in a file of that environment is none of these names.
        for name in names:
            try:
                entries.check_reader(name)
            except CoattendError as error:
                cure = f"A new one belongs in {self.conf_source}/{source.BASE}. {error.cure}"
                raise CoattendError(error.problem, where=self._location("readers", name), cure=cure) from None

    def _check_differences(self, parameters: Mapping[str, Any]) -> None:
        """Refuse differences from a benchmark's training that no reader can have, or that are those of no benchmark."""
        for name, entry in (parameters.get("benchmarks") or {}).items():
            for block in ("recurrent", "frozen"):
                check_training([Layer(f"benchmarks.{name}.{block}", entry.get(block) or {})])
        for name, entry in parameters["readers"].items():
            check_training([Layer(f"readers.{name}.training", entry.get("training") or {})])
            by_benchmark = entry.get("training_on") or {}
            self.check_names("benchmark", ("readers", name, "training_on"), by_benchmark, entries.benchmark_names())
            for benchmark, values in by_benchmark.items():
                check_training([Layer(f"readers.{name}.training_on.{benchmark}", values)])

    def _check_files(self) -> None:
        """Refuse the first file that is not YAML, and the first block of one that is no mapping of names to entries."""
        for environment in self._environments():
            for file in source.files(str(self.conf_source), environment):
                if not isinstance(load_yaml(file), dict | None):
                    raise CoattendError("must be a mapping of names to entries", where=str(file))
            for file in source.parameter_files(str(self.conf_source), environment):
                content = load_yaml(file)
                for name in NAMED if isinstance(content, dict) else ():
                    if content.get(name) is not None:
                        entries.check_block(file, name, content[name])

    def _check_unread(self) -> None:
        """Refuse or warn of files that nothing reads, once for each loader."""
        if not self._is_checked:
            self._is_checked = True
            patterns = {pattern for patterns in self.config_patterns.values() for pattern in patterns}
            check_files(str(self.conf_source), self._environments(), patterns, blocks=BLOCKS)

    def _check_blocks(self, parameters: dict[str, Any]) -> None:
        """Refuse unknown blocks, and blocks that are no mappings, with the file that has them."""
        for name in parameters:
            # Kedro, too, leaves names that begin with _ to a file's own anchors.
            if name not in BLOCKS and not name.startswith("_"):
                cure = nearest_parameter(name, parameters)
                raise CoattendError("there is no such parameter", where=self._location(name), cure=cure)
        for name in NAMED:
            block = parameters.get(name) or {}
            if not isinstance(block, dict) or not all(isinstance(entry, dict | None) for entry in block.values()):
                self._check_files()
                raise CoattendError("must be a block of entries with fields", where=f"--params {name}")

    def _check_shapes(self, blocks: dict[str, dict[str, Any]]) -> None:
        """Refuse changes that would do nothing: pipelines are those of the base environment."""
        changed = (
            (block, name, field)
            for block, by_name in blocks.items()
            for name, entry in by_name.items()
            for field in SHAPING[block]
            if (entry or {}).get(field) != entries.declared_entry(block, name).get(field)
        )
        for path in changed:
            raise CoattendError(
                "decides which nodes there are, and only files of the base environment can",
                where=self._location(*path),
                cure=f"Write it in {self.conf_source}/{source.BASE}",
            )

    def _location(self, *path: str) -> str:
        """File and line of a block of parameters or of a part of it, or the option that names it."""
        for environment in () if self._is_named(path) else reversed(self._environments()):
            for file in source.parameter_files(str(self.conf_source), environment):
                lines = Lines.of(file)
                if lines.line_of(path) is not None:
                    return lines.where(path)
                if lines.content == path[0]:  # OmegaConf takes a text for the name of a block.
                    return f"{file}, line 1, {path[0][:60]!r}"
        return f"--params {'.'.join(path)}"

    def _is_named(self, path: Sequence[str]) -> bool:
        """Tell if ``--params`` names a parameter."""
        named: Any = self.runtime_params
        for key in path:
            named = named.get(key) if isinstance(named, Mapping) else None
        return named is not None

    def _nearest_location(self, path: Sequence[str]) -> str:
        """File and line of a parameter, or of the nearest block around it that is written somewhere."""
        for length in range(len(path), 1, -1):
            location = self._location(*path[:length])
            if not location.startswith("--params") or self._is_named(path[:length]):
                return ".".join((location, *path[length:]))
        return ".".join(path)

    def _environments(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((source.BASE, self.env or self.default_run_env)))

    def without_runtime_params(self) -> dict[str, Any]:
        """The parameters of the files alone, without those of ``--params``."""
        # Kedro merges these into the parameters on every access, so they are put aside for one.
        runtime_params = self.runtime_params
        self.runtime_params = {}
        try:
            return self["parameters"]
        finally:
            self.runtime_params = runtime_params


def _check_environment(location: str, environment: str | None) -> None:
    environments = source.environments(location) if environment is not None else []
    if environments and environment not in (*environments, source.BASE):
        cure = did_you_mean(str(environment), environments)
        raise CoattendError(f"there is no environment {environment!r}", where=f"--env {environment}", cure=cure)
