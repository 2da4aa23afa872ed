"""Two trials to look at side by side."""

from pydantic import Field

from coattend.parameters.strict import Parameters
from coattend.parameters.trial_id import TrialId


class CompareParameters(Parameters):
    """Which trials are compared, and on what."""

    left: TrialId | None = Field(
        None, description="Id of a finished trial or its beginning; <trial>/<answers> where it answered more than once."
    )
    right: TrialId | None = Field(None, description="The other one, likewise.")
    benchmark: str | None = Field(None, description="Whose questions; null: those that both were trained on.")
    most_listed: int = Field(20_000, ge=1, description="Questions on the page; where one alone was correct, first.")
