"""The demo's page, with a form to ask a trained reader."""

from collections.abc import Mapping

from coattend.config import Limits
from coattend.reports.render import render_template
from coattend.trials.run_spec import RunSpec

HEADERS = {"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


def render(spec: RunSpec, example: Mapping[str, object], limits: Limits) -> str:
    """Render the page of one reader.

    Args:
        spec: The reader.
        example: The question that fills the form at first.
        limits: The most characters of each field.
    """
    return render_template(
        "demo.html.j2", package="coattend.serving", title="Ask a reader", spec=spec, example=example, limits=limits
    )
