"""What the attention page shows."""

from typing import Any

from pydantic import Field, field_validator

from coattend.parameters.strict import Parameters
from coattend.parameters.trial_id import TrialId


class AttentionParameters(Parameters):
    """Which readers and questions the attention page shows."""

    left: TrialId | None = Field(None, description="Id of a finished trial, or how it begins.")
    right: TrialId | None = Field(None, description="Id of the trial beside it; null: there is none.")
    questions: int = Field(
        20, ge=1, le=1000, description="So many questions; of two readers those first where their answers differ."
    )
    ids: str | None = Field(None, description="Ids of questions with + between them; null: as `questions` says.")
    split: str = Field("dev", description="Where the questions are taken from, unless ids say which.")
    occlusion: bool | None = Field(
        None,
        description="Whether each word of the passage is hidden in turn, each a pass over the reader; null: on the "
        "pages of studies alone.",
    )
    tagging: str | None = Field(
        None, description="Tagging profile that the trials read; null: the one that their record says."
    )

    @field_validator("ids", mode="before")
    @classmethod
    def _as_text(cls, given: Any) -> Any:
        return str(given) if isinstance(given, int) and not isinstance(given, bool) else given
