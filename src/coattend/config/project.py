"""The Kedro project: its folder, its commit, and the hooks that act in its runs only."""

import os
import subprocess
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from kedro.framework.hooks import hook_impl
from kedro.utils import find_kedro_project

PACKAGE = "coattend"
CONF_SOURCE = "conf"
RUN_ID = "COATTEND_RUN_ID"
"""Environment variable by which worker processes know that a run of this project started them."""

COMMIT_VARIABLE = "COATTEND_GIT_SHA"
"""Environment variable with the commit of the code where there is no git repository, as in an image."""

_CHECKOUT = Path(__file__).resolve().parents[3]


def project_folder() -> Path:
    """The Kedro project that contains the working directory, else that directory if it has a configuration (as for the
    installed package), else the checkout of this module."""
    # Called thousands of times: a path of the working directory each time would take longer than the rest.
    return _project_containing(os.getcwd())  # noqa: PTH109


@cache
def _project_containing(folder: str) -> Path:
    project_path: Path | None = find_kedro_project(Path(folder))
    if project_path is not None:
        return project_path
    return _CHECKOUT if _has_configuration(_CHECKOUT) and not _has_configuration(Path(folder)) else Path(folder)


def raw_folder(*, generated: bool = False) -> Path:
    """Return the folder of all benchmarks' raw files: ``COATTEND_RAW``, or ``data/01_raw`` of the project, where
    generated files always lie."""
    folder = os.environ.get("COATTEND_RAW")
    return Path(folder).expanduser() if folder and not generated else project_folder() / "data" / "01_raw"


def _has_configuration(folder: Path) -> bool:
    return (folder / CONF_SOURCE / "base").is_dir()


def git_state(project: Path) -> tuple[str, bool] | None:
    """Return the commit of a project, and whether its code or configuration differs from it; None without git or a
    repository."""
    commit = _git(project, "rev-parse", "HEAD")
    return None if commit is None else (commit, bool(_git(project, "status", "--porcelain", "--", "src", "conf")))


@cache
def code_commit(project: Path) -> str | None:
    """Return a project's commit as this process met it first, with ``-dirty`` behind it if files had changed; None if
    it is unknown."""
    state = git_state(project)
    if state is None:
        return os.environ.get(COMMIT_VARIABLE)
    commit, changed = state
    return f"{commit}-dirty" if changed else commit


def _git(project: Path, *command: str) -> str | None:
    try:
        result = subprocess.run(["git", "-C", str(project), *command], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return None if result.returncode else result.stdout.strip()


Hook = TypeVar("Hook", bound=Callable[..., Any])


def project_hook(**options: bool) -> Callable[[Hook], Hook]:
    """Mark a method as a Kedro hook, with options of ``hook_impl``, that does nothing in the runs of other projects.

    Kedro calls hooks of entry points in every project of the Python environment. Hooks in ``settings.HOOKS`` would
    belong to this project alone, but Kedro 1.7 does not register them in the workers that ParallelRunner spawns
    (``KEDRO_MP_CONTEXT=spawn``): ``PACKAGE_NAME`` is None there, and no settings are loaded.
    """

    def mark(method: Hook) -> Hook:
        @wraps(method)
        def hook(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs) if is_own_process() else None

        # Pluggy's overloads list its options one by one.
        return hook_impl(hook, **options)  # type: ignore[call-overload,no-any-return]

    return mark


def is_own_process() -> bool:
    """True in a process that is configured for this project, and in the workers that its runs spawn."""
    from kedro.framework import project  # Sets up logging, which importing a part of the package should not.

    # Spawned workers have no settings; the variable alone says that a run of this project started them.
    return project.PACKAGE_NAME == PACKAGE or (project.PACKAGE_NAME is None and RUN_ID in os.environ)
