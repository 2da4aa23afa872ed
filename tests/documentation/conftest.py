"""A project with the files that pages of the documentation show."""

import re

import pytest
from documented import blocks

from coattend.config import source
from coattend.pipeline_registry import register_pipelines


@pytest.fixture(scope="module")
def written_project(empty_project):
    """A project with the parameter files that pages show; the working folder is inside it."""
    for block in blocks("yaml"):
        if block.path is not None and len(re.findall(r"^# conf/", block.text, re.MULTILINE)) == 1:
            empty_project.joinpath(block.path).write_text(block.text)
    yield empty_project
    source.enter(str(empty_project / "conf"), None)


@pytest.fixture(scope="module")
def pipelines(written_project):
    """All pipelines of that project."""
    return register_pipelines()
