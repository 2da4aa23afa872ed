"""What a card on the Hugging Face Hub has beside what every card has: front matter, and how the reader is loaded."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from coattend.answering.recipe import Recipe
from coattend.answering.trained_on import TrainedOn
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.scoring import METRICS
from coattend.parameters import BenchmarkParameters

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

TASKS = {"options": "multiple-choice", "span": "question-answering", "word": "question-answering"}
"""What the Hub calls what is asked for."""

NAMES = {"exact": "exact_match"}
"""What the Hub calls metrics, where that differs."""

LICENCES = {"Apache-2.0": "apache-2.0", "CC BY 4.0": "cc-by-4.0", "CC BY-SA 4.0": "cc-by-sa-4.0", "GFDL": "gfdl"}
"""How a licence note may begin, and what the Hub calls that licence, from what allows most to what allows least."""

EMBEDDED = "sentence-transformers/all-MiniLM-L6-v2"
"""The encoder that comes with the project, by its name on the Hub."""


def front_matter(recipe: Recipe, metrics: Mapping[str, Any], benchmark: BenchmarkParameters) -> str:
    """What the Hub reads of a card, as YAML between its two lines.

    Args:
        recipe: How the reader is asked.
        metrics: What it came to, as `coattend.evaluation.scoring.summarise` says it.
        benchmark: What it was trained on.
    """
    from huggingface_hub import ModelCardData

    own = {} if recipe.reads_words else {"base_model": EMBEDDED if recipe.encoder == "embedded" else recipe.encoder}
    data = ModelCardData(
        language="en",
        library_name="coattend",
        pipeline_tag=TASKS[recipe.task],
        tags=["machine-reading-comprehension", recipe.reader],
        datasets=[one for one in (benchmark.hub, *(other.hub for other in recipe.also_trained_on)) if one] or None,
        metrics=[NAMES.get(name, name) for name in METRICS[recipe.task]],
        model_name=f"{recipe.name} on {recipe.title}",
        eval_results=list(_results(recipe, metrics, benchmark.hub or benchmark.name)),
        **_licence(recipe),
        **own,
    )
    return f"---\n{data.to_yaml()}\n---\n\n"


def loading(place: str, example: Mapping[str, Any]) -> str:
    """How a reader is loaded and asked, in three lines behind what they import.

    Args:
        place: Its name on the Hub; empty: the folder that the card lies in.
        example: A question that it can answer.
    """
    fetched = f'snapshot_download("{place}")' if place else '"path/to/this/folder"'
    options = f", options={tuple(example['options'])!r}" if "options" in example else ""
    return "\n".join(
        [
            "With coattend installed; nothing but weights and JSON is read:",
            "",
            "```python",
            *(["from huggingface_hub import snapshot_download"] if place else []),
            "from coattend.answering.answerer import Answerer",
            "from coattend.answering.asked import Asked",
            "",
            f"reader = Answerer.load({fetched})",
            f"question = Asked({example['passage']!r}, {example['question']!r}{options})",
            'reader.answer(question)["answer"]',
            "```",
        ]
    )


def _results(recipe: Recipe, metrics: Mapping[str, Any], dataset: str) -> Iterator["EvalResult"]:
    from huggingface_hub import EvalResult

    for split, groups in metrics["splits"].items():
        for name in METRICS[recipe.task]:
            yield EvalResult(
                task_type=TASKS[recipe.task],
                dataset_type=dataset,
                dataset_name=recipe.title,
                dataset_split=split,
                metric_type=NAMES.get(name, name),
                metric_name=name,
                metric_value=round(groups[EVERYTHING][name]["mean"], 2),
            )


def _licence(recipe: Recipe) -> dict[str, str]:
    """That of the data that allow least: a reader has learned from them all."""
    data = max(recipe.trained_on, key=_strictness)
    known = _known(data)
    if known:
        return {"license": LICENCES[known]}
    address = re.search(r"https?://[^\s()]+", data.published_at)
    return {"license": "other", "license_name": f"data-of-{data.name.replace('_', '-')}"} | (
        {"license_link": address[0]} if address else {}
    )


def _strictness(data: TrainedOn) -> int:
    """How little a licence allows: most what is for research only, then what nobody states or the Hub does not know."""
    known = _known(data)
    return list(LICENCES).index(known) if known else len(LICENCES) + data.for_research


def _known(data: TrainedOn) -> str | None:
    return next((note for note in LICENCES if data.licence.startswith(note)), None)
