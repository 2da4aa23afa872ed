"""The card of a logged reader: what it is, what it was trained on and how well it does, in Markdown."""

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from coattend.answering.recipe import Recipe
from coattend.evaluation.groups import EVERYTHING
from coattend.masking import masked, masked_text
from coattend.reporting.notes import ENCODER_NOTE

FILE = "README.md"
RESEARCH_ONLY = "Data for research only: a reader that was trained on them should be taken to be, too."


def write(
    recipe: Recipe,
    metrics: Mapping[str, Any],
    trial: Mapping[str, Any],
    *,
    loading: str,
    commit: str | None,
) -> str:
    """Write the card of a trial.

    Args:
        recipe: How its reader is asked.
        metrics: What the evaluation of its reader found, over all seeds.
        trial: What it came to itself.
        loading: How it is loaded and asked, in Markdown.
        commit: The commit of the project, if it is known.
    """
    blocks = [
        f"# {recipe.name} on {recipe.title}, seed {trial['seed']}",
        f"The reader `{recipe.reader}` with the head `{recipe.head}`: it answers {_answers(recipe)}.",
        "## Data",
        *_data(recipe, trial),
        "## Licence",
        *_licence(recipe),
        f"## Scores, in {metrics['unit']}",
        _scores(metrics, trial),
        _intervals(metrics),
        *_cautions(recipe, trial),
        "## Parameters",
        _parameters(recipe, trial),
        "## Code",
        f"coattend {version('coattend')}" + (f", commit {commit}" if commit else "") + f"; trial {recipe.trial_id}.",
        "## How to load it",
        loading,
    ]
    return "\n\n".join(blocks) + "\n"


def _answers(recipe: Recipe) -> str:
    if recipe.task == "options":
        return "with one of the options that are given"
    if recipe.task == "span":
        return "with a span of the passage" + (", or with nothing" if recipe.null_threshold is not None else "")
    return "with the word that fills the question's blank" + (", one of those given" if recipe.needs_options else "")


def _data(recipe: Recipe, trial: Mapping[str, Any]) -> Iterator[str]:
    named = {one.name: one.title for one in recipe.trained_on}
    of = ", ".join(named.get(one, one) for one in trial["training"].get("train_on") or (recipe.benchmark,))
    yield f"Trained on {trial['questions']:,} questions of {of}; a hash of them is `{trial['data']}`."
    if trial["training"].get("start_from"):
        every = ", ".join(named.values())
        yield f"It began with the trial `{trial['training']['start_from']}`; all that it has learned from: {every}."
    for one in recipe.trained_on:
        if one.published_at:
            yield f"Published at {one.published_at}."
    encoder = masked_text(recipe.encoder)
    yield f"Words are tagged by {recipe.tagger}; the encoder and its tokenizer come from `{encoder}`."


def _licence(recipe: Recipe) -> Iterator[str]:
    for one in recipe.trained_on:
        yield f"Data of {one.title}: {one.told}"
    if any(one.for_research for one in recipe.trained_on):
        yield RESEARCH_ONLY
    yield "Code: Apache-2.0. The encoder has a licence of its own."


def _scores(metrics: Mapping[str, Any], trial: Mapping[str, Any]) -> str:
    """A table: each metric of this trial, and over all seeds with its interval."""
    rows = ["| questions | metric | this trial | all seeds | 95 % interval |", "|---|---|---|---|---|"]
    for split, groups in metrics["splits"].items():
        for group, found in groups.items():
            place = split if group == EVERYTHING else f"{split}, {group}"
            for name, metric in found.items():
                if isinstance(metric, Mapping):
                    interval = "" if metric["low"] is None else f"{metric['low']:.1f} to {metric['high']:.1f}"
                    own = metric["seeds"][str(trial["seed"])]
                    rows.append(f"| {place} | {name} | {own:.1f} | {metric['mean']:.1f} | {interval} |")
    return "\n".join(rows)


def _intervals(metrics: Mapping[str, Any]) -> str:
    seeds = len([one for one in metrics["trials"] if not one.get("failure")])
    return f"Intervals: {metrics['interval']['method']}; seeds: {seeds}."


def _cautions(recipe: Recipe, trial: Mapping[str, Any]) -> Iterator[str]:
    if recipe.task == "span" and recipe.encoder == "embedded":
        yield ENCODER_NOTE
    if trial.get("selection") == "dev":
        yield "Its checkpoint was chosen on dev: its dev scores are too good."


def _parameters(recipe: Recipe, trial: Mapping[str, Any]) -> str:
    told = masked(recipe.options | {f"training.{name}": value for name, value in trial["training"].items()})
    lines = [f"- {trial['parameters']:,} trained numbers; {trial['precision']}, on {trial['device']}"]
    return "\n".join([*lines, *(f"- {name}: {json.dumps(value)}" for name, value in told.items())])


def from_mlflow(run: str, example: Mapping[str, Any], store: str) -> str:
    """How the model of a run is loaded.

    Args:
        run: Its id.
        example: A question that it can answer.
        store: Address of the MLflow store; credentials in it are masked.
    """
    return "\n".join(
        [
            "With coattend installed, and in its project's folder:",
            "",
            "```python",
            f'import mlflow; mlflow.set_tracking_uri("{masked_text(store)}")',
            f'reader = mlflow.pyfunc.load_model("runs:/{run}/model")',
            f"reader.predict([{dict(example)!r}])",
            "```",
        ]
    )
