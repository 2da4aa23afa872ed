"""Links between pages, and from pages to MLflow: they are no results, and are looked up where a page is drawn."""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from coattend.config.project import project_folder
from coattend.errors import CoattendError
from coattend.io.mlflow_store import (
    PARENT,
    TRIALS,
    client_of,
    interface_of,
    run_page,
    store_errors,
    store_uri,
    view_address,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient

Links = tuple[tuple[str, str], ...]
"""Texts with their addresses."""

ALL_PAGES = "All pages"
RUN_TITLE = "Its run in MLflow"
LIST_TITLE = "Trials in MLflow"

logger = logging.getLogger(__name__)


def page_links(folder: str, *, experiment: str = "", trials: Iterable[tuple[str, str]] = ()) -> Links:
    """Return the links of a page: to the list of all pages, and to what MLflow has of it.

    Args:
        folder: The folder of all pages, relative to that of the page, with a slash at its end; empty if it is the same.
        experiment: Name of the experiment whose newest parent run has the page.
        trials: Titles and ids of trials that the page is about.
    """
    return ((ALL_PAGES, f"{folder}index.html"), *_tracked_links(lambda client: _find(client, experiment, list(trials))))


def run_addresses(experiments: Iterable[str]) -> dict[str, str]:
    """Map experiments to the addresses of their newest parent runs in MLflow, but for those without one."""
    return dict(_tracked_links(lambda client: _find_parents(client, experiments)))


def _tracked_links(find: Callable[["MlflowClient"], Iterable[tuple[str, str]]]) -> Links:
    """Look up links to MLflow; none without a store, or if it cannot be read now."""
    store = store_uri(project_folder())
    try:
        client = client_of(store)
        if client is None:
            return ()
        with store_errors(store, writing=False):
            return tuple((title, f"{interface_of(store)}/{address}") for title, address in find(client))
    except CoattendError as error:
        logger.warning("the page has no links to MLflow. %s", error)
        return ()


def _find_parents(client: "MlflowClient", experiments: Iterable[str]) -> Iterator[tuple[str, str]]:
    for experiment in experiments:
        stored = client.get_experiment_by_name(experiment)
        if stored is not None and (page := _newest_parent(client, stored.experiment_id)):
            yield experiment, page


def _newest_parent(client: "MlflowClient", experiment_id: str) -> str | None:
    newest = client.search_runs([experiment_id], f"tags.kind = '{PARENT}'", max_results=1)
    return next((run_page(experiment_id, run.info.run_id) for run in newest), None)


def _find(client: "MlflowClient", experiment: str, trials: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    stored = client.get_experiment_by_name(experiment) if experiment else None
    if stored is not None:
        if page := _newest_parent(client, stored.experiment_id):
            yield RUN_TITLE, page
        yield LIST_TITLE, view_address(stored.experiment_id, TRIALS)
    experiments = [listed.experiment_id for listed in client.search_experiments()] if trials else []
    for title, trial_id in trials:
        query = f"tags.trial_id = '{trial_id}' and attributes.status = 'FINISHED'"
        for run in client.search_runs(experiments, query, max_results=1):
            yield f"{title} in MLflow", run_page(run.info.experiment_id, run.info.run_id)
