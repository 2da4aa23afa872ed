"""The commands of the quick start, one after the other, in a fresh project and on tiny texts."""

import json
import shlex

import pytest
from documented import DOCS, commands

NEEDS_A_NETWORK = "--pipelines download"
STAYS_OPEN = ("make viz", "make mlflow")
"""Pages in a browser, until they are stopped."""
NAMES = list(enumerate(("Mary", "John", "Ann", "Tom", "Eve", "Sam", "Ida", "Leo")))


def as_run(command):
    """Run `kedro run` for `make run`, and the tests' tiny sample."""
    words = shlex.split(command.replace("make run", "kedro run"))
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
    for _, command in commands(DOCS / "quick_start.md", in_lines=False):
        if command in STAYS_OPEN or NEEDS_A_NETWORK in command:
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
    assert ran[0] == "make run"
    scored = {path.parent.name for path in (project / "data/07_model_output/dream").glob("*/metrics.json")}
    assert scored == {"plain", "duma"}
    for page in ("data/08_reporting/dream", "data/test/08_reporting/custom", "data/test/08_reporting/sample"):
        assert (project / page / "index.html").is_file()
