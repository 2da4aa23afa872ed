"""The configuration source: the folder, archive or address that ``--conf-source`` or ``CONF_SOURCE`` names.

Kedro builds pipelines without telling ``register_pipelines`` the source and the environment of the run
(https://github.com/kedro-org/kedro/issues/3093, and 1908 and 2187 for the source). Both decide here which pipelines
there are and which tables they read: names of tables contain the tokenizer, which follows from the reader's encoder. A
choice at run time would cost the pipelines their edges, and Kedro the order of its nodes. So the config loader, which
Kedro creates before it looks at pipelines, enters its source here, and pipelines that were built from another one are
built anew. This module is the only one with such a state.
"""

import json
import mimetypes
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import fsspec

from coattend.config.project import PACKAGE, project_folder
from coattend.config.yaml import TextFile, load_yaml
from coattend.errors import CoattendError

BASE = "base"
LOCAL = "local"
"""Kedro's environment where none is chosen."""
SUFFIXES = (".yml", ".yaml", ".json")
WIRING_FIELDS = ("encoder", "tagging")
"""Fields of a reader that decide which tables it reads, of which a benchmark may have its own."""
MODEL = "model"
"""Option of a reader that is a language model, without which it has no nodes."""

BESIDE = "beside"
"""Field of a study, and of the settings of all studies: language models that become rows of its table."""

Entries = dict[str, dict[str, Any]]


class StoredFile(NamedTuple):
    """A file of an archive or of remote storage."""

    storage: fsspec.AbstractFileSystem
    path: str

    @property
    def stem(self) -> str:
        """Name without folders and suffix."""
        return PurePosixPath(self.path).stem

    def read_text(self, encoding: str) -> str:
        """Read the file."""
        content: bytes = self.storage.cat_file(self.path)
        return content.decode(encoding)

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class ConfigSource:
    """A configuration source (a folder, an archive, or an address that fsspec knows), and what one of its environments
    changes in the wiring of readers, studies and benchmarks, by name; ``beside`` are the language models that it puts
    beside the readers of all studies."""

    location: str
    readers: Entries = field(default_factory=dict)
    studies: Entries = field(default_factory=dict)
    benchmarks: Entries = field(default_factory=dict)
    beside: tuple[str, ...] = ()

    @classmethod
    def of(cls, location: str, environment: str | None) -> "ConfigSource":
        """Read the wiring of an environment; None: ``local``."""
        changes = _changes(location, environment or LOCAL)
        readers = _chosen(changes["readers"], (*WIRING_FIELDS, MODEL))
        studies = {
            name: {field: entry[field] for field in ("base", BESIDE) if entry.get(field)}
            for name, entry in changes["studies"].items()
            if entry.get("base") or entry.get(BESIDE)
        }
        beside = _models_of_all_studies(location, BASE, environment or LOCAL)
        return cls(location, readers, studies, _chosen(changes["benchmarks"], WIRING_FIELDS), beside)

    def with_models(self, runtime_params: Mapping[str, Any]) -> "ConfigSource":
        """The same with the language models that a command names by ``--params readers.<name>.model=<model>``,
        ``study.beside=<entry>:<model>`` or ``studies.<name>.beside=<entry>:<model>``."""

        def named(block: str, field: str) -> Entries:
            entries = runtime_params.get(block)
            return _chosen(dict(entries), (field,)) if isinstance(entries, Mapping) else {}

        def joined(before: Entries, changes: Entries) -> Entries:
            return before | {name: before.get(name, {}) | entry for name, entry in changes.items()}

        settings = runtime_params.get("study")
        return replace(
            self,
            readers=joined(self.readers, named("readers", MODEL)),
            studies=joined(self.studies, named("studies", BESIDE)),
            beside=listed(settings[BESIDE]) if isinstance(settings, Mapping) and BESIDE in settings else self.beside,
        )


@dataclass
class _Current:
    """The source of the newest config loader, the project folder that it was created in, and the options of ``kedro
    run`` that chose it."""

    folder: Path | None = None
    source: ConfigSource | None = None
    options: dict[str, str] = field(default_factory=dict)


_newest = _Current()


def enter(location: str | None, environment: str | None, runtime_params: Mapping[str, object] | None = None) -> None:
    """Build pipelines from a configuration source from now on, as long as the working directory stays in the project.
    Without a location it is ``CONF_SOURCE`` of the project's settings, without an environment that of ``KEDRO_ENV``."""
    from kedro.framework import project  # Sets up logging, which importing a part of the package should not.

    default = _default_location()
    source = ConfigSource.of(_absolute(location or default), environment or _chosen_environment())
    source, previous = source.with_models(runtime_params or {}), current()
    _newest.folder, _newest.source = project_folder(), source
    params = ",".join(_dotted(runtime_params or {}))
    options = {"env": environment, "conf-source": location if source.location != default else None, "params": params}
    _newest.options = {name: value for name, value in options.items() if value}
    # Configuring again makes Kedro drop the pipelines that it built from the other source.
    if source != previous and project.PACKAGE_NAME == PACKAGE:
        project.pipelines.configure(f"{PACKAGE}.pipeline_registry")


def run_command(*, pipelines: str = "", namespaces: str = "", to_nodes: str = "", with_params: bool = True) -> str:
    """Write a command for ``kedro run`` with the environment, the configuration source and the parameters of this
    process, so that it works when it is pasted."""
    options = dict(_newest.options) if _newest.folder == project_folder() else {}
    params = options.pop("params", None)
    options |= {"pipelines": pipelines, "namespaces": namespaces, "to-nodes": to_nodes}
    if params and with_params:
        options["params"] = params
    words = [f"--{name} {shlex.quote(value)}" for name, value in options.items() if value]
    return " ".join(["kedro run", *words])


def current() -> ConfigSource:
    """The source of the newest config loader; before there is one, ``CONF_SOURCE`` of the project's settings."""
    folder = project_folder()
    if _newest.source is not None and _newest.folder == folder:
        return _newest.source
    return _default_source(folder, _chosen_environment())


@contextmanager
def base_environment() -> Iterator[None]:
    """Have `current` be without the changes of its environment meanwhile: what its files say is right by themselves."""
    before = _newest.folder, _newest.source
    _newest.folder, _newest.source = project_folder(), ConfigSource(current().location)
    try:
        yield
    finally:
        _newest.folder, _newest.source = before


@cache
def _default_source(_folder: Path, environment: str | None) -> ConfigSource:
    return ConfigSource.of(_default_location(), environment)


def _chosen_environment() -> str | None:
    return os.environ.get("KEDRO_ENV")


def _dotted(values: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    """Write parameters in the form of ``--params``, but for lists, which that option cannot have."""
    from omegaconf import OmegaConf

    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{name}.")
        elif not isinstance(value, list | tuple):
            text = value if isinstance(value, str) else json.dumps(value)
            # A text that would be read as something else, such as the id 75e2, is quoted.
            is_read = OmegaConf.from_dotlist([f"value={text}"])["value"] == value
            yield f"{prefix}{name}={text if is_read else json.dumps(value)}"


def _default_location() -> str:
    from kedro.framework import project

    return _absolute(str(project_folder() / project.settings.CONF_SOURCE))


def files(location: str, environment: str, folder: str = "") -> Iterator[TextFile]:
    """The YAML and JSON files of an environment or of a folder in it, sorted by path."""
    return (file for file, _ in located_files(location, environment, folder))


def located_files(location: str, *folders: str) -> Iterator[tuple[TextFile, PurePosixPath]]:
    """The YAML and JSON files of a source or of a folder in it, sorted, each with its path from there."""
    storage, root = _open(location)
    top = "/".join(part for part in (root, *folders) if part)
    if not storage.isdir(top):
        return
    for path in sorted(storage.find(top)):
        if path.endswith(SUFFIXES):
            file = Path(path) if _is_local(location) else StoredFile(storage, path)
            yield file, PurePosixPath(path).relative_to(top)


def parameter_files(location: str, environment: str) -> Iterator[TextFile]:
    """The parameter files of an environment, sorted by path: those that Kedro reads."""
    for file, path in located_files(location, environment):
        if path.name.startswith("parameters") or (len(path.parts) > 1 and path.parts[0].startswith("parameters")):
            yield file


def environments(location: str) -> list[str]:
    """Names of the environments of a source, without the base environment."""
    storage, root = _open(location)
    if not storage.isdir(root):
        return []
    folders = (
        PurePosixPath(entry["name"]).name for entry in storage.ls(root, detail=True) if entry["type"] == "directory"
    )
    return sorted(name for name in folders if name != BASE)


def _open(location: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """The file system of a source, and its root there, as Kedro's OmegaConfigLoader finds them."""
    archive, _ = mimetypes.guess_type(location)
    if archive in ("application/x-tar", "application/zip", "application/x-zip-compressed"):
        storage = fsspec.filesystem("tar" if archive == "application/x-tar" else "zip", fo=location)
        # Kedro packs a configuration as one folder at the top of the archive.
        return storage, storage.ls("", detail=False)[-1].rstrip("/")
    storage, root = fsspec.core.url_to_fs(location)
    return storage, root.rstrip("/")


def _is_local(location: str) -> bool:
    return "://" not in location and Path(location).is_dir()


def _absolute(location: str) -> str:
    return location if "://" in location else str(Path(location).absolute())


def _changes(location: str, environment: str) -> dict[str, Entries]:
    """Changes to readers, studies and benchmarks in the parameter files of an environment."""
    changes: dict[str, Entries] = {"readers": {}, "studies": {}, "benchmarks": {}}
    for file in parameter_files(location, environment):
        try:
            content = load_yaml(file)
        except CoattendError:
            continue  # Kedro reads the file too, and says what is wrong with it.
        for name, entries in changes.items() if isinstance(content, dict) else ():
            block = content.get(name)
            # The config loader refuses what is no mapping.
            if isinstance(block, dict):
                entries |= {
                    entry: _merged(entries.get(entry, {}), fields)
                    for entry, fields in block.items()
                    if isinstance(fields, dict)
                }
    return changes


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Join the blocks of two files as Kedro does: where both have a value, the second's counts."""
    blocks = {
        key: _merged(first[key], value)
        for key, value in second.items()
        if isinstance(value, Mapping) and isinstance(first.get(key), Mapping)
    }
    return {**first, **second, **blocks}


def _models_of_all_studies(location: str, *environments: str) -> tuple[str, ...]:
    """The field ``beside`` of the settings of all studies; of several environments the last counts that has it."""
    models: tuple[str, ...] = ()
    for environment in environments:
        for file in parameter_files(location, environment):
            # Few files have it, and reading all of YAML takes longer than everything else here.
            if BESIDE not in file.read_text(encoding="utf-8"):
                continue
            try:
                content = load_yaml(file)
            except CoattendError:
                continue
            settings = content.get("study") if isinstance(content, dict) else None
            if isinstance(settings, dict) and BESIDE in settings:
                models = listed(settings[BESIDE])
    return models


def listed(names: Any) -> tuple[str, ...]:
    """One name or a list of them as a tuple; parameters are checked elsewhere."""
    if isinstance(names, str):
        return (names,)
    return tuple(map(str, names)) if isinstance(names, Sequence) else ()


def _chosen(entries: Entries, fields: Sequence[str]) -> Entries:
    """Some fields of the entries that have any of them."""
    chosen = {
        name: {field: entry[field] for field in fields if field in entry}
        for name, entry in entries.items()
        if isinstance(entry, Mapping)
    }
    return {name: entry for name, entry in chosen.items() if entry}
