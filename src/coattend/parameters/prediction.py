"""A trained reader and a file of questions for it."""

from pydantic import Field

from coattend.parameters.limits import Limits
from coattend.parameters.strict import Parameters
from coattend.parameters.trial_id import TrialId


class PredictionParameters(Parameters):
    """Who answers what."""

    model: TrialId | None = Field(
        None,
        description="An MLflow model (runs:/<run>/model, models:/<name>@<alias>), a run's id, a trial's id or how it "
        "begins, or a folder of one of them.",
    )
    input: str | None = Field(None, description="A .jsonl, .csv or .parquet file with the columns of own benchmarks.")
    name: str | None = Field(
        None, pattern=r"^[\w.-]+$", description="Folder of the answers; null: that of the input's name."
    )
    rows_per_shard: int = Field(200, ge=1, description="Questions that are answered before their answers are written.")
    workers: int | None = Field(None, ge=1, description="Processes that answer shards; null: one a core, on a GPU one.")
    limits: Limits = Field(Limits(), description="The largest question that is answered.")
