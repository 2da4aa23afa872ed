"""Kedro's configuration with every benchmark, reader and study in it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kedro.config import OmegaConfigLoader

from coattend import configuration, environment, readers, studies
from coattend.errors import CoattendError, did_you_mean


class ConfigLoader(OmegaConfigLoader):
    """Kedro's loader; entries learn their names, readers without a parameter file get an entry of defaults, and the
    variants and benchmarks of studies are completed from the entries that they differ from."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        environment.enter(Path(self.conf_source), self.env)

    def __getitem__(self, key: str) -> dict[str, Any]:
        """Load one kind of configuration, with every reader among the parameters.

        Raises:
            CoattendError: If there is no such environment, reader, benchmark or study.
        """
        _check_environment(Path(self.conf_source), self.env)
        config = super().__getitem__(key)
        if key == "parameters":
            given = config.get("readers") or {}
            _check_readers(given)
            _check_known("benchmarks", config.get("benchmarks") or {}, configuration.benchmark_names())
            names = {*readers.names(), *given}
            config["readers"] = {name: configuration.complete_reader(name, given.get(name)) for name in sorted(names)}
            for name, entry in (config.get("benchmarks") or {}).items():
                entry["name"] = name
            config["studies"] = _studies(config.get("studies") or {}, config["readers"], config.get("benchmarks") or {})
        return config


def _studies(given: dict[str, Any], readers: dict[str, Any], benchmarks: dict[str, Any]) -> dict[str, Any]:
    """Every study with what an environment changes in it, its variants as readers' entries, and its benchmarks.

    Kedro keeps each parameter apart, and those of all studies are ten thousand: a study that is not run has none.
    """
    _check_known("studies", given, studies.study_names())
    found = {}
    for name in studies.study_names():
        one = studies.changed(name, given.get(name) or {})
        if not studies.is_run(name):
            found[name] = {}
            continue
        variants = {variant: one.entry(variant, readers) for variant in one.parameters.variants}
        read = {benchmark: one.benchmark(benchmark, benchmarks[benchmark]) for benchmark in one.read}
        found[name] = {"about": one.parameters.model_dump(mode="json"), "variants": variants, "benchmarks": read}
    return found


def _check_environment(folder: Path, name: str | None) -> None:
    if name is None or (folder / name).is_dir() or not folder.is_dir():
        return
    known = sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name != "base")
    raise CoattendError(f"there is no environment {name!r}", where=f"--env {name}", cure=did_you_mean(name, known))


def _check_readers(given: Iterable[str]) -> None:
    """Readers of the base environment, and those that are called by their parts, may be changed."""
    for name in given:
        try:
            configuration.check_reader(name)
        except CoattendError as error:
            raise CoattendError(error.problem, where=f"readers.{name} in a parameter file", cure=error.cure) from None


ONE = {"benchmarks": "benchmark", "studies": "study"}


def _check_known(kind: str, given: Iterable[str], known: list[str]) -> None:
    """A name that no file of the base environment declares is a misspelt one."""
    for name in given:
        if name not in known:
            where = f"{kind}.{name} in a parameter file"
            raise CoattendError(f"there is no such {ONE[kind]}", where=where, cure=did_you_mean(name, known))
