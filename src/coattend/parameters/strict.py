"""What all parameters have in common."""

from pydantic import BaseModel, ConfigDict


class Parameters(BaseModel):
    """Frozen, and strict about names."""

    model_config = ConfigDict(extra="forbid", frozen=True)
