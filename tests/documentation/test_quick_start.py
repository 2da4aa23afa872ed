"""The commands of the quick start, one after the other, in a fresh project and on tiny texts."""

import json
import shlex

import pytest
from documented import DOCS, commands

NEEDS_A_NETWORK = "--pipelines download"
STAYS_OPEN = ("make viz", "make mlflow")
"""Pages in a browser, until they are stopped."""


def as_run(command):
    """What `make run` runs behind its set-up is `kedro run`; the sample is the tiny one of the tests."""
    words = shlex.split(command.replace("make run", "kedro run"))
    tiny = words[1] == "run" and not any(word.startswith("dream") for word in words)
    return [*words[1:], *(["--env", "test"] if tiny else [])]


def dialogues(project, split):
    """Some of the sample's, which have the format of DREAM."""
    first, *_ = sorted(project.rglob(f"sample/dream/{split}-*.json"))
    return json.loads(first.read_text())[:8]


@pytest.mark.slow
def test_the_quick_start_leads_to_two_comparisons(kedro, project, monkeypatch):
    monkeypatch.delenv("COATTEND_RAW", raising=False)
    ran = []
    for _, command in commands(DOCS / "quick_start.md", in_lines=False):
        if command in STAYS_OPEN or NEEDS_A_NETWORK in command:
            continue
        if "dream" in command and not (project / "data/01_raw/dream").exists():
            (project / "data/01_raw/dream").mkdir(parents=True)
            for split in ("train", "dev"):
                held = json.dumps(dialogues(project, split))
                (project / f"data/01_raw/dream/{split}.json").write_text(held)
        done = kedro(*as_run(command))
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
        ran.append(command)
    assert ran[0] == "make run"
    scored = {path.parent.name for path in (project / "data/07_model_output/dream").glob("*/metrics.json")}
    assert scored == {"plain", "duma"}
    for page in ("data/test/08_reporting/sample/index.html", "data/08_reporting/dream/index.html"):
        assert (project / page).is_file()
