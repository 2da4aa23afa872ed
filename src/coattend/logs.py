"""Log lines where there is no terminal: whole, one below the other, for a file or a pipe."""

import logging
import sys
from typing import TextIO

from kedro.logging import RichHandler

FORMAT = "%(asctime)s %(levelname)-7s %(message)s"


class Plain(logging.StreamHandler):
    """Writes to what is standard output when it writes."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter(FORMAT, datefmt="%Y-%m-%d %H:%M:%S"))

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        """Standard output of today."""
        return sys.stdout


def fit_output() -> None:
    """Put plain lines in the place of Kedro's columns, which are cut at 80 characters where there is no terminal."""
    # What it says of parameters in several lines is told in one, as the run's error.
    logging.getLogger("kedro.validation.parameter_validator").setLevel(logging.CRITICAL)
    # It warns of a file that only runs of everything write, and that nothing here reads.
    logging.getLogger("kedro_viz.integrations.kedro.run_hooks").setLevel(logging.ERROR)
    if sys.stdout.isatty():
        return
    root = logging.getLogger()
    root.handlers = [Plain() if isinstance(one, RichHandler) else one for one in root.handlers]
