"""What the chosen environment says of readers and studies that decides which tables their pipelines read.

Kedro builds pipelines without knowing the environment, and keeps them: here the session says which one it is.
"""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from kedro.framework.project import pipelines
from kedro.utils import find_kedro_project

WIRING = ("encoder", "tagging")
"""Fields of a reader that decide which tables it reads."""

_DEFAULT = "local"
_REGISTRY = f"{__package__}.pipeline_registry"
_chosen = [_DEFAULT]


def enter(name: str | None) -> None:
    """Build pipelines as an environment has them from now on.

    Args:
        name: The environment; None: Kedro's own choice.
    """
    before = _wiring()
    _chosen[:] = [name or _DEFAULT]
    if _wiring() != before:
        pipelines.configure(_REGISTRY)


def of_reader(name: str) -> dict[str, Any]:
    """What the environment changes in a reader's wiring."""
    entry = _given("readers").get(name) or {}
    return {field: entry[field] for field in WIRING if field in entry}


def of_study(name: str) -> dict[str, Any]:
    """What the environment changes in the reader that a study's variants differ from."""
    entry = _given("studies").get(name) or {}
    return {"base": entry["base"]} if entry.get("base") else {}


def _wiring() -> Any:
    readers = {name: of_reader(name) for name in _given("readers")}
    studies = {name: of_study(name) for name in _given("studies")}
    return [{name: one for name, one in kind.items() if one} for kind in (readers, studies)]


def _given(kind: str) -> dict[str, Any]:
    project = find_kedro_project(Path.cwd())
    if project is None:
        return {}
    folder = project / "conf" / _chosen[0]
    files = sorted({*folder.glob("parameters*.yml"), *folder.glob("parameters*/**/*.yml")})
    found: dict[str, Any] = {}
    for file in files:
        found |= _content(file, file.stat().st_mtime_ns).get(kind) or {}
    return found


@cache
def _content(file: Path, _written: int) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text())
    except (yaml.YAMLError, UnicodeDecodeError):
        return {}  # Kedro reads the file too, and says what is wrong with it.
    return content if isinstance(content, dict) else {}
