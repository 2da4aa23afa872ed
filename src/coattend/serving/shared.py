"""A trained reader as a folder in the layout of the Hugging Face Hub: card, weights, and what it takes to ask it."""

import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from coattend.answering import recipe as recipes
from coattend.answering.packing import pack
from coattend.answering.recipe import Recipe
from coattend.datasets.seals import seal_of
from coattend.datasets.stored_tables import StoredTables
from coattend.evaluation import answers, groups, scoring
from coattend.parameters import BenchmarkParameters
from coattend.serving import card, hub_card
from coattend.training.finished import FinishedTrial, answers_of

CONFIG = "config.json"


def write(
    trial: FinishedTrial,
    target: Path,
    tables: StoredTables,
    benchmark: BenchmarkParameters,
    *,
    to: str,
    commit: str | None,
) -> dict[str, Any]:
    """Write a trial's reader so that others can have it; what lies at the target is replaced once all is written.

    Args:
        trial: The trial.
        target: The folder.
        tables: The tables of all benchmarks.
        benchmark: What it was trained on.
        to: Its name on the Hub; empty: none yet.
        commit: The commit of the project that trained it, if it is known.

    Returns:
        What was written, and the scores that stand on its card.

    Raises:
        CoattendError: If the trial has no recipe, or answered none of the benchmark's questions.
    """
    from coattend.serving.signature import input_example

    recipe = recipes.read(trial.folder).without_credentials()
    metrics = scores_of(trial, recipe, tables)
    example = input_example(recipe).to_dict("records")[0]
    told = card.write(recipe, metrics, trial.outcome, loading=hub_card.loading(to, example), commit=commit)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as temporary:
        made = Path(temporary, target.name)
        pack(trial.folder, made)
        for file in recipes.weights_of(made).iterdir():
            file.rename(made / file.name)
        (made / "model").rmdir()
        # Its files lie elsewhere now, and the Hub has digests of its own.
        (made / recipes.FILE).write_text(
            recipe.model_copy(update={"model_digest": None}).model_dump_json(indent=1) + "\n"
        )
        seal_of(made / recipes.FILE).unlink(missing_ok=True)
        (made / CONFIG).write_text(json.dumps(_config(recipe), indent=1) + "\n")
        (made / card.FILE).write_text(hub_card.front_matter(recipe, metrics, benchmark) + told)
        put(made, target)
    files = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    return {"trial": trial.id, "about": str(trial), "folder": target.name, "files": files, "scores": metrics["splits"]}


def put(made: Path, target: Path) -> None:
    """Put a folder in the place of another, which then lies beside where it was made; so does it after a kill between.

    Args:
        made: The folder, on the same disk.
        target: Its place.
    """
    if target.is_dir():
        target.rename(made.parent / "old")
    made.rename(target)


def scores_of(trial: FinishedTrial, recipe: Recipe, tables: StoredTables) -> dict[str, Any]:
    """What one trial came to on its own benchmark, from the answers that lie in its folder."""
    questions = tables.open("questions", recipe.benchmark).to_table(columns=groups.COLUMNS)
    given = answers_of(trial, trial.id, questions["question_id"], recipe.benchmark)
    given = given.filter(pc.is_in(given["question_id"], questions["question_id"]))
    seeds = {trial.id: trial.outcome["seed"]}
    found = scoring.summarise(given.select(answers.COLUMNS), questions, task=recipe.task, trials=seeds)
    return {"benchmark": recipe.benchmark, "reader": recipe.name, "trials": [trial.outcome]} | found


def _config(recipe: Recipe) -> dict[str, str]:
    """What the Hub counts downloads by, and says of whom it is."""
    made_by = {"library_name": "coattend", "library_version": version("coattend")}
    return made_by | {"reader": recipe.reader, "head": recipe.head, "trial_id": recipe.trial_id}
