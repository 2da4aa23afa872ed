"""MLflow: a parent run for each benchmark of a Kedro run, a child run for each trial."""

from coattend.tracking.hooks import Tracking

tracking = Tracking()
"""The hooks, as their entry point names them."""

__all__ = ["Tracking", "tracking"]
