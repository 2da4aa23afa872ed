"""Base class of all parameter models, and the type of a trial's id."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator


class Parameters(BaseModel):
    """Frozen parameters that refuse unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _from_mapping(cls, values: Any) -> Any:
        return dict(values) if isinstance(values, Mapping) else values


def _as_text(value: Any) -> Any:
    # YAML reads the ids 7886 and 75e2 as numbers; the letters of the second are lost.
    if isinstance(value, float):
        raise ValueError("was read as a number: give more of the id, or quote it twice, as in \"compare.left='75e2'\"")
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


TrialId = Annotated[str, BeforeValidator(_as_text)]
"""A name of a trial: its entry and seed (``sample.plain/0``), or how its id begins."""
