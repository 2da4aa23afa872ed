"""Two trials to look at side by side."""

from typing import Any

from pydantic import Field, field_validator

from coattend.parameters.strict import Parameters


class CompareParameters(Parameters):
    """Which trials are compared, and on what."""

    left: str | None = Field(
        None, description="Id of a finished trial or its beginning; <trial>/<answers> where it answered more than once."
    )
    right: str | None = Field(None, description="The other one, likewise.")
    benchmark: str | None = Field(None, description="Whose questions; null: those that both were trained on.")
    most_listed: int = Field(20_000, ge=1, description="Questions on the page; where one alone was correct, first.")

    @field_validator("left", "right", mode="before")
    @classmethod
    def _not_a_number(cls, value: Any) -> Any:
        # The command line reads 7886 and 75e2 as numbers; of the second the letters are lost.
        if isinstance(value, float):
            raise ValueError("was read as a number: give more of the id, or quote it twice, \"compare.left='75e2'\"")
        return str(value) if isinstance(value, int) else value
