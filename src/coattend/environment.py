"""What the chosen environment says of readers and studies that decides which tables their pipelines read.

Kedro builds pipelines without knowing the environment, and keeps them: here the session says which one it is.
"""

from pathlib import Path
from typing import Any

from kedro.framework.project import pipelines

from coattend.yaml_lines import BROKEN, loaded

WIRING = ("encoder", "tagging")
"""Fields of a reader that decide which tables it reads."""

_REGISTRY = f"{__package__}.pipeline_registry"
_wired: dict[str, dict[str, dict[str, Any]]] = {"readers": {}, "studies": {}}


def enter(folder: Path, name: str | None) -> None:
    """Build pipelines as an environment has them from now on.

    Args:
        folder: The folder of all environments.
        name: The environment; None: Kedro's own choice, ``local``.
    """
    given = _given(folder / (name or "local"))
    readers = {key: _wiring(entry) for key, entry in given["readers"].items()}
    studies = {key: {"base": entry["base"]} for key, entry in given["studies"].items() if entry and entry.get("base")}
    wired = {"readers": {key: entry for key, entry in readers.items() if entry}, "studies": studies}
    if wired != _wired:
        _wired.update(wired)
        pipelines.configure(_REGISTRY)


def of_reader(name: str) -> dict[str, Any]:
    """What the environment changes in a reader's wiring."""
    return _wired["readers"].get(name, {})


def of_study(name: str) -> dict[str, Any]:
    """What the environment changes in the reader that a study's variants differ from."""
    return _wired["studies"].get(name, {})


def _wiring(entry: dict[str, Any] | None) -> dict[str, Any]:
    return {field: entry[field] for field in WIRING if field in (entry or {})}


def _given(folder: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {"readers": {}, "studies": {}}
    for file in sorted({*folder.glob("parameters*.yml"), *folder.glob("parameters*/**/*.yml")}):
        try:
            content = loaded(file)
        except BROKEN:
            continue  # Kedro reads the file too, and says what is wrong with it.
        for kind in found:
            found[kind] |= (content.get(kind) or {}) if isinstance(content, dict) else {}
    return found
