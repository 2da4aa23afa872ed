"""Model cards: for a logged model, and for a folder on the Hub."""

import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import ScoredTrials, TrialRecord, score_of
from coattend.evaluation.summary import METRICS
from coattend.masking import masked, masked_text
from coattend.readers.encoders.configs import CHARACTERS
from coattend.reports.sections import chosen_on_dev, encoder_notes
from coattend.serving.queries import example_query
from coattend.trials.run_spec import RunSpec, TrainedOn

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

FILE = "README.md"
TEMPLATE = Path(__file__).with_name("templates") / "model_card.md.j2"
RESEARCH_ONLY = "Data for research only: a reader that was trained on them should be taken to be, too."


class LoggedRun(NamedTuple):
    """MLflow run that has the reader as its model, with the address of its store and the model's id."""

    id: str
    store: str
    model: str = ""


def build(
    spec: RunSpec,
    metrics: ScoredTrials,
    trial: TrialRecord,
    *,
    commit: str | None,
    run: LoggedRun | None = None,
    repository: str = "",
) -> "ModelCard":
    """Build the card of a trial, with the metrics over all seeds. Credentials in addresses and parameters are masked.

    A reader without a run is loaded from a folder: that of its repository on the Hub, else the one of the card.
    """
    from huggingface_hub import ModelCard

    example = example_query(spec.task)
    titles = {source.name: source.title for source in spec.trained_on}
    parameters = masked(spec.options | {f"training.{name}": value for name, value in trial["training"].items()})
    card: ModelCard = ModelCard.from_template(
        metadata(spec, metrics),
        str(TEMPLATE),
        spec=spec,
        metrics=metrics,
        trial=trial,
        answer=_describe_answer(spec),
        trained_on=[titles.get(name, name) for name in trial["training"].get("train_on") or (spec.benchmark,)],
        encoder=masked_text(spec.encoder_title),
        research_only=RESEARCH_ONLY if any(source.for_research for source in spec.trained_on) else "",
        scores=list(_score_rows(metrics, trial)),
        cautions=list(_cautions(spec, trial)),
        parameters={name: json.dumps(value, ensure_ascii=False) for name, value in parameters.items()},
        version=version("coattend"),
        commit=commit,
        example=example,
        options=tuple(example.get("options", ())),
        run=run,
        store=masked_text(run.store) if run else "",
        repository=repository,
    )
    return card


def _describe_answer(spec: RunSpec) -> str:
    if spec.task == "options":
        return "with one of the options that are given"
    if spec.task == "span":
        return "with a span of the passage" + (", or with nothing" if spec.null_threshold is not None else "")
    return "with the word that fills the question's blank" + (", one of those given" if spec.needs_options else "")


def _score_rows(metrics: ScoredTrials, trial: TrialRecord) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield each metric of this trial, and over all seeds with its interval."""
    for split, groups in metrics["splits"].items():
        for group, scores in groups.items():
            label = split if group == EVERYTHING else f"{split}, {group}"
            for name, metric in scores.items():
                if isinstance(metric, Mapping):
                    interval = "" if metric["low"] is None else f"{metric['low']:.1f} to {metric['high']:.1f}"
                    seed_mean = metric["seeds"][str(trial["seed"])]
                    yield label, name, f"{seed_mean:.1f}", f"{metric['mean']:.1f}", interval


def _cautions(spec: RunSpec, trial: TrialRecord) -> Iterator[str]:
    yield from encoder_notes([spec.encoder_title], spans=spec.task == "span")
    yield from chosen_on_dev(trial, spec.benchmark)


TASKS = {"options": "multiple-choice", "span": "question-answering", "word": "question-answering"}
"""Names of the tasks on the Hub."""

NAMES = {"exact": "exact_match"}
"""Names of metrics on the Hub, where they differ."""

LICENCES = {"Apache-2.0": "apache-2.0", "CC BY 4.0": "cc-by-4.0", "CC BY-SA 4.0": "cc-by-sa-4.0", "GFDL": "gfdl"}
"""Beginning of a licence note to the licence's name on the Hub, from the most to the least permissive."""

EMBEDDED = "sentence-transformers/all-MiniLM-L6-v2"
"""The encoder that comes with the project, by its name on the Hub."""


def metadata(spec: RunSpec, metrics: ScoredTrials) -> "ModelCardData":
    """Return the metadata block of a card on the Hub."""
    from huggingface_hub import ModelCardData

    encoder = EMBEDDED if spec.encoder == "embedded" else spec.encoder
    strictest = max(spec.trained_on, key=_strictness)
    licence = _licence_on_hub(strictest)
    address = re.search(r"https?://[^\s()]+", strictest.published_at)
    return ModelCardData(
        language=spec.language,
        library_name="coattend",
        pipeline_tag=TASKS[spec.task],
        tags=["machine-reading-comprehension", spec.reader],
        datasets=[source.hub for source in spec.trained_on if source.hub] or None,
        metrics=[NAMES.get(name, name) for name in METRICS[spec.task]],
        model_name=f"{spec.name} on {spec.title}",
        eval_results=list(_results(spec, metrics)),
        base_model=None if spec.reads_words or spec.encoder == CHARACTERS else encoder,
        # The Hub takes a licence that it does not know by name and address.
        license=licence or "other",
        license_name=None if licence else f"data-of-{strictest.name.replace('_', '-')}",
        license_link=None if licence or not address else address[0],
    )


def _results(spec: RunSpec, metrics: ScoredTrials) -> Iterator["EvalResult"]:
    from huggingface_hub import EvalResult

    for split, groups in metrics["splits"].items():
        for name in METRICS[spec.task]:
            yield EvalResult(
                task_type=TASKS[spec.task],
                dataset_type=spec.hub or spec.benchmark,
                dataset_name=spec.title,
                dataset_split=split,
                metric_type=NAMES.get(name, name),
                metric_name=name,
                metric_value=round(score_of(groups[EVERYTHING], name)["mean"], 2),
            )


def _strictness(data: TrainedOn) -> int:
    """Rank a licence by restriction: research-only data last, unknown licences before them."""
    licence = _licence_on_hub(data)
    return list(LICENCES.values()).index(licence) if licence else len(LICENCES) + data.for_research


def _licence_on_hub(data: TrainedOn) -> str | None:
    return next((name for note, name in LICENCES.items() if data.licence.startswith(note)), None)
