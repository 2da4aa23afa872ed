"""Views of an experiment in MLflow's interface: its trials in a table, and their charts with the mean over seeds.

MLflow keeps the views that its users save as tags of the experiment, and opens them by an address.
"""

import base64
import json
import time
import zlib
from typing import Any

from coattend.io.mlflow_store import CHARTS, TRIALS

TAG = "mlflow.sharedViewState."
"""Beginning of the tag of a view; what follows is its key in addresses."""

_COLUMNS = (
    "attributes.`Models`",
    "tags.`reader`",
    "tags.`seed`",
    "tags.`task`",
    "metrics.`score`",
    "metrics.`seconds`",
)
_BARS = {"score": "Score that counts on dev, in percent", "seconds": "Seconds of training"}
_LINES = {
    "held_out": "Score on held-out questions",
    "held_out_loss": "Loss on held-out questions",
    "loss": "Loss in training",
}
_SECTION = "scores_and_curves"


def view_tags() -> dict[str, str]:
    """Return the tags of the views."""
    grouped = {"aggregateFunction": "average", "groupByKeys": [{"mode": "tag", "groupByData": "reader"}]}
    section = {"uuid": _SECTION, "name": "Scores and curves", "display": True, "isReordered": False, "deleted": False}
    charts = {
        "compareRunCharts": [
            *(_chart("BAR", metric, title) for metric, title in _BARS.items()),
            *(_chart("LINE", metric, title) for metric, title in _LINES.items()),
        ],
        "compareRunSections": [section | {"isGenerated": False}],
        "groupBy": grouped,
    }
    return {f"{TAG}{TRIALS}": _view("Trials, best first", {}), f"{TAG}{CHARTS}": _view("Charts by reader", charts)}


def _chart(kind: str, metric: str, title: str) -> dict[str, Any]:
    chart: dict[str, Any] = {
        "uuid": f"{_SECTION}_{metric}",
        "type": kind,
        "runsCountToCompare": 20,
        "metricSectionId": _SECTION,
        "deleted": False,
        "isGenerated": False,
        "displayName": title,
        "metricKey": metric,
    }
    if kind == "BAR":
        return chart
    lines = {"selectedMetricKeys": [metric], "lineSmoothness": 0, "xAxisKey": "step", "xAxisScaleType": "linear"}
    axes = {"scaleType": "linear", "range": {}, "selectedXAxisMetricKey": "", "yAxisKey": "metric"}
    return chart | lines | axes | {"yAxisExpressions": [], "ignoreOutliers": False, "useGlobalXaxisKey": True}


def _view(name: str, changes: dict[str, Any]) -> str:
    """Write a view of all trials as the value of its tag, with what differs from the table."""
    state = {
        "searchFilter": "tags.kind = 'trial'",
        "orderByKey": "metrics.`score`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(_COLUMNS),
        "columnOrder": [],
        "columnWidths": {},
        "runsHiddenMode": "FIRST_20_RUNS",
        "viewMaximized": False,
        "runListHidden": False,
        "isAccordionReordered": False,
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "groupBy": None,
        "groupsExpanded": {},
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }
    compressed = base64.b64encode(zlib.compress(json.dumps(state | changes).encode())).decode()
    now = int(time.time() * 1000)
    return json.dumps({"name": name, "createdAt": now, "updatedAt": now, "state": f"deflate;{compressed}"})
