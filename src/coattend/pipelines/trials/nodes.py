"""Nodes of the pipeline that lists trials."""

import logging
from pathlib import Path

from coattend.pipelines.annotations import DataFrame, StoredTables

MAX_LINES = 50
"""Trials that are printed; the table and the page have all."""

logger = logging.getLogger(__name__)


def list_trials(trials: Path, stored_tables: StoredTables) -> tuple[DataFrame, str]:
    """List all finished trials, the newest first: as lines of the log, as a table, and as an HTML page."""
    import pandas as pd

    from coattend.errors import CoattendError
    from coattend.reports import trial_list
    from coattend.trials.store import finished_trials, first_training

    listed = trial_list.list_trials(finished_trials(trials), stored_tables)
    if not listed:
        raise CoattendError("no trial is finished", where=str(trials), cure=first_training())
    for line in trial_list.text_lines(listed[:MAX_LINES]):
        logger.info("%s", line, extra={"markup": False})
    if len(listed) > MAX_LINES:
        logger.info("and %d older ones: see the page", len(listed) - MAX_LINES)
    return pd.DataFrame(listed), trial_list.render_html(listed)
