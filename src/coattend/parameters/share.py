"""A trained reader to give to others."""

from pydantic import Field

from coattend.parameters.strict import Parameters
from coattend.parameters.trial_id import TrialId


class ShareParameters(Parameters):
    """Which reader is shared, and where."""

    model: TrialId | None = Field(None, description="A trained reader, named as prediction.model is.")
    to: str = Field(
        "",
        pattern=r"^([\w.-]+/[\w.-]+)?$",
        description="Its name on the Hugging Face Hub, <user>/<name>; empty: its folder is written, and nothing sent.",
    )
    private: bool = Field(True, description="Whether a repository that is made for it is seen by its owner alone.")
