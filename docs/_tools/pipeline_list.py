"""The list of pipelines, as `make pipelines` prints it."""

from docs._tools.markdown import table

from coattend import menu
from coattend.errors import CoattendError, did_you_mean

PARTS = {"stages": menu.STAGES, "trials": menu.TRIALS, "studies": menu.STUDIES}


def pipeline_table(part: str) -> str:
    """Write a table of the pipelines of one part of the menu.

    Args:
        part: Name of the part.

    Raises:
        CoattendError: If there is no such part.
    """
    if part not in PARTS:
        cure = did_you_mean(part, list(PARTS))
        raise CoattendError(f"the menu has no part {part!r}", where="documentation", cure=cure)
    return table(("pipeline", "what it does"), ((f"`{name}`", text) for name, text in PARTS[part].items()))
