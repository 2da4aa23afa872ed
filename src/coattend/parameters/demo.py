"""The application that shows a trained reader."""

from pydantic import Field

from coattend.parameters.limits import Limits
from coattend.parameters.strict import Parameters


class DemoParameters(Parameters):
    """Where it listens, and what it takes on."""

    host: str = Field("127.0.0.1", description="Where it listens; 0.0.0.0: for other machines, too.")
    port: int = Field(8000, ge=0, le=65535, description="The port.")
    most_bytes: int = Field(1_000_000, ge=1, description="Bytes of a request; a larger one is answered with 413.")
    seconds: float = Field(20.0, gt=0, description="Time for an answer; what takes longer is answered with 408.")
    most_at_once: int = Field(16, ge=1, description="Requests that may wait; one more is answered with 429.")
    limits: Limits = Field(
        Limits(passage=20_000, question=1_000, option=1_000, options=20),
        description="The largest question; a larger one is answered with 400.",
    )
