"""What happens in a trial, for those who want to follow it."""

from typing import Any, Protocol


class Listener(Protocol):
    """Follows trials while they are trained."""

    def trial_started(self, trial: dict[str, Any]) -> None:
        """A trial begins or goes on; `trial` is its content with ``trial_id`` and ``seed``."""

    def trial_logged(self, trial_id: str, step: int, values: dict[str, float]) -> None:
        """A point of a curve."""

    def trial_ended(self, trial_id: str, outcome: dict[str, Any]) -> None:
        """A trial has ended, well or with ``failure`` set."""


listeners: list[Listener] = []


def announce(event: str, *arguments: Any) -> None:
    """Tell every listener."""
    for listener in listeners:
        getattr(listener, event)(*arguments)
