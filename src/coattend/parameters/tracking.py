"""What is kept in MLflow."""

from pydantic import Field

from coattend.parameters.strict import Parameters


class TrackingParameters(Parameters):
    """What runs leave in the MLflow store beside numbers."""

    models: bool = Field(
        True, description="Whether evaluation logs each trained reader as a model; it takes the size of its weights."
    )
