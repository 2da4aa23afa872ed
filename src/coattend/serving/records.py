"""Types of the JSON records of champions and of shared readers."""

from typing import TypedDict

from coattend.evaluation.records import Groups


class TrialModel(TypedDict):
    """A trial whose reader is logged as a model, by the tags of its run."""

    reader: str
    seed: str
    trial_id: str
    run: str | None
    model: str | None


class ScoredModel(TrialModel):
    """The same with its score on the present dev questions, in percent; None if it is no candidate."""

    score: float | None


class ChampionRecord(TypedDict):
    """The champion of a task and the one that it replaced, if any; ``of`` is the number of candidates."""

    name: str
    alias: str
    metric: str
    of: int
    champion: ScoredModel
    replaced: ScoredModel | None


class SharedReader(TypedDict):
    """Record of an exported reader: its trial, its folder with the files in it, and the scores on its card."""

    trial: str
    about: str
    folder: str
    files: list[str]
    scores: dict[str, Groups]
