"""Events of trials while they are trained, and their listeners."""

from collections.abc import Mapping
from typing import Any, NotRequired, Protocol, TypedDict

from coattend.trials.trial import TrialOutcome


class StartedTrial(TypedDict):
    """Content of a trial that is trained, with its id, the name of its reader's entry, and its encoder as on pages."""

    trial_id: str
    name: str
    benchmark: str
    reader: str
    head: str
    options: Mapping[str, object]
    encoder: str
    training: Mapping[str, object]
    seed: int
    data: NotRequired[str]


class Listener(Protocol):
    """Follows trials while they are trained."""

    def trial_started(self, trial: StartedTrial) -> None:
        """Called when a trial starts or resumes; see `StartedTrial`."""

    def trial_logged(self, trial_id: str, step: int, values: dict[str, float]) -> None:
        """Called for each point of a curve."""

    def trial_ended(self, trial_id: str, outcome: TrialOutcome) -> None:
        """Called when a trial has ended, well or with ``failure`` set."""


# Registered for the length of a run, and copied to worker processes.
listeners: list[Listener] = []


def announce(event: str, *arguments: Any) -> None:
    """Call every listener."""
    for listener in listeners:
        getattr(listener, event)(*arguments)
