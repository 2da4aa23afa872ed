"""The packaged project: ``python -m coattend`` and the command ``coattend`` are ``kedro run`` without a checkout."""

import sys
from typing import Any

from kedro.framework.cli.utils import find_run_command
from kedro.framework.project import configure_project

from coattend.config.project import PACKAGE


def main(*args: Any, **kwargs: Any) -> Any:
    """Run pipelines with the configuration in the folder ``conf``, or in that of ``--conf-source``."""
    configure_project(PACKAGE)
    kwargs["standalone_mode"] = not hasattr(sys, "ps1")  # An interactive shell stays open.
    return find_run_command(PACKAGE)(*args, **kwargs)


if __name__ == "__main__":
    main()
