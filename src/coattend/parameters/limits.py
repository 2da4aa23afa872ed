"""What a trained reader takes on."""

from pydantic import Field

from coattend.parameters.strict import Parameters


class Limits(Parameters):
    """The largest question that a trained reader answers; larger ones are refused, with what is too large."""

    passage: int = Field(100_000, ge=1, description="Characters of a passage.")
    question: int = Field(5_000, ge=1, description="Characters of a question.")
    option: int = Field(5_000, ge=1, description="Characters of an option.")
    options: int = Field(100, ge=2, description="Options of a question.")
