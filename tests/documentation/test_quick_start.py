"""The commands of the quick start and of the tutorial it leads to, in a fresh project and on tiny texts."""

import json
import shlex

import pytest
from documented import DOCS, commands

NEEDS_A_NETWORK = "--pipelines download"
SETS_UP = "make run"
BY_KEDRO = {SETS_UP: "kedro run", "make pipelines": "kedro menu pipelines", "make studies": "kedro menu studies"}
"""The targets that are run, by Kedro's command of each; the others open pages, until they are stopped."""
NAMES = list(enumerate(("Mary", "John", "Ann", "Tom", "Eve", "Sam", "Ida", "Leo")))


def as_run(command):
    """Run Kedro's command for that of `make`, and the tests' tiny sample."""
    words = shlex.split(BY_KEDRO.get(command, command))
    tiny = words[1] == "run" and not any(word.startswith("dream") for word in words)
    return [*words[1:], *(["--env", "test"] if tiny else [])]


def dialogues(project, split):
    """Some dialogues of the sample, which have the format of DREAM."""
    first, *_ = sorted(project.rglob(f"sample/dream/{split}-*.json"))
    return json.loads(first.read_text())[:8]


@pytest.mark.slow
def test_the_quick_start_leads_to_two_comparisons(kedro, project, monkeypatch):
    monkeypatch.delenv("COATTEND_RAW", raising=False)
    ran = []
    for _, command in commands(DOCS / "quick_start.md", DOCS / "tutorials/own_data.md", in_lines=False):
        if NEEDS_A_NETWORK in command or (command.startswith("make ") and command not in BY_KEDRO):
            continue
        if "dream" in command and not (project / "data/01_raw/dream").exists():
            (project / "data/01_raw/dream").mkdir(parents=True)
            for split in ("train", "dev"):
                questions = json.dumps(dialogues(project, split))
                (project / f"data/01_raw/dream/{split}.json").write_text(questions)
        if "custom" in command and not (project / "data/01_raw/custom").exists():
            (project / "data/01_raw/custom").mkdir(parents=True)
            for split, place in (("train", "attic"), ("dev", "cellar")):
                rows = [f"{name} walks to the {place} of house {n},Who?,{name},Zoe,{name}" for n, name in NAMES]
                lines = "\n".join(["passage,question,option_1,option_2,answer", *rows])
                (project / f"data/01_raw/custom/{split}.csv").write_text(lines)
        process = kedro(*as_run(command))
        assert process.returncode == 0, f"{command}: {process.stdout[-2000:]} {process.stderr[-2000:]}"
        ran.append(command)
    assert ran[0] == SETS_UP
    scored = {path.parent.name for path in (project / "data/07_model_output/dream").glob("*/metrics.json")}
    assert scored == {"plain", "duma"}
    for page in ("data/08_reporting/dream", "data/test/08_reporting/custom", "data/test/08_reporting/sample"):
        assert (project / page / "index.html").is_file()
