"""Pipelines as a warm interpreter runs them: everything is imported and registered once."""

from pathlib import Path
from typing import Any

import kedro.runner  # noqa: F401
from kedro.framework.project import pipelines, settings
from kedro.framework.startup import bootstrap_project

bootstrap_project(Path.cwd())
len(pipelines)  # They are registered when they are first asked for.

import mlflow.store.tracking.sqlalchemy_store  # noqa: E402, F401

import coattend.reports.render  # noqa: E402
import coattend.serving.predictor  # noqa: E402
import coattend.training.run_trial  # noqa: E402, F401


def run(names: str, namespaces: str, params: dict[str, Any]) -> None:
    """Run pipelines in the test environment, as the command line does."""
    with settings.SESSION_CLASS.create(project_path=Path.cwd(), env="test", runtime_params=params) as session:
        session.run(pipeline_names=names.split(","), namespaces=namespaces.split())
