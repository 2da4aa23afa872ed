"""Ids of trials as they are given on the command line."""

from typing import Annotated, Any

from pydantic import BeforeValidator


def _as_text(given: Any) -> Any:
    # The command line reads 7886 and 75e2 as numbers; of the second the letters are lost.
    if isinstance(given, float):
        raise ValueError("was read as a number: give more of the id, or quote it twice, as in \"compare.left='75e2'\"")
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


TrialId = Annotated[str, BeforeValidator(_as_text)]
"""An id or its beginning."""
