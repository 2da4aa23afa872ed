"""Model cards: for a logged model, and for a folder on the Hub."""

import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, NotRequired, TypedDict

from coattend.config import BenchmarkParameters
from coattend.evaluation.groups import EVERYTHING
from coattend.evaluation.records import ScoredTrials, TrialRecord, score_of
from coattend.evaluation.summary import METRICS
from coattend.masking import masked, masked_text
from coattend.reports.sections import ENCODER_NOTE
from coattend.trials.run_spec import RunSpec, TrainedOn

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

    from coattend.serving.signature import ExampleQuery


FILE = "README.md"
RESEARCH_ONLY = "Data for research only: a reader that was trained on them should be taken to be, too."


def write(
    spec: RunSpec,
    metrics: ScoredTrials,
    trial: TrialRecord,
    *,
    loading: str,
    commit: str | None,
) -> str:
    """Write the card of a trial.

    Args:
        spec: Description of the trained reader.
        metrics: Metrics of its reader, over all seeds.
        trial: Outcome of the trial itself.
        loading: Instructions for loading it, in Markdown.
        commit: The commit of the project, if it is known.
    """
    blocks = [
        f"# {spec.name} on {spec.title}, seed {trial['seed']}",
        f"The reader `{spec.reader}` with the head `{spec.head}`: it answers {_answers(spec)}.",
        "## Data",
        *_data(spec, trial),
        "## Licence",
        *_licence(spec),
        f"## Scores, in {metrics['unit']}",
        _scores(metrics, trial),
        _intervals(metrics),
        *_cautions(spec, trial),
        "## Parameters",
        _parameters(spec, trial),
        "## Code",
        f"coattend {version('coattend')}" + (f", commit {commit}" if commit else "") + f"; trial {spec.trial_id}.",
        "## How to load it",
        loading,
    ]
    return "\n\n".join(blocks) + "\n"


def _answers(spec: RunSpec) -> str:
    if spec.task == "options":
        return "with one of the options that are given"
    if spec.task == "span":
        return "with a span of the passage" + (", or with nothing" if spec.null_threshold is not None else "")
    return "with the word that fills the question's blank" + (", one of those given" if spec.needs_options else "")


def _data(spec: RunSpec, trial: TrialRecord) -> Iterator[str]:
    titles = {source.name: source.title for source in spec.trained_on}
    names = ", ".join(titles.get(source, source) for source in trial["training"].get("train_on") or (spec.benchmark,))
    yield f"Trained on {trial['questions']:,} questions of {names}; a hash of them is `{trial['data']}`."
    if trial["training"].get("start_from"):
        all_titles = ", ".join(titles.values())
        start = trial["training"]["start_from"]
        yield f"It began with the trial `{start}`; all that it has learned from: {all_titles}."
    for source in spec.trained_on:
        if source.published_at:
            yield f"Published at {source.published_at}."
    encoder = masked_text(spec.encoder)
    yield f"Words are tagged by {spec.tagger}; the encoder and its tokenizer come from `{encoder}`."


def _licence(spec: RunSpec) -> Iterator[str]:
    for source in spec.trained_on:
        yield f"Data of {source.title}: {source.licence_note}"
    if any(source.for_research for source in spec.trained_on):
        yield RESEARCH_ONLY
    yield "Code: Apache-2.0. The encoder has a licence of its own."


def _scores(metrics: ScoredTrials, trial: TrialRecord) -> str:
    """Return a table with each metric of this trial, and over all seeds with its interval."""
    rows = ["| questions | metric | this trial | all seeds | 95 % interval |", "|---|---|---|---|---|"]
    for split, groups in metrics["splits"].items():
        for group, scores in groups.items():
            label = split if group == EVERYTHING else f"{split}, {group}"
            for name, metric in scores.items():
                if isinstance(metric, Mapping):
                    interval = "" if metric["low"] is None else f"{metric['low']:.1f} to {metric['high']:.1f}"
                    seed_mean = metric["seeds"][str(trial["seed"])]
                    rows.append(f"| {label} | {name} | {seed_mean:.1f} | {metric['mean']:.1f} | {interval} |")
    return "\n".join(rows)


def _intervals(metrics: ScoredTrials) -> str:
    seeds = len([trial for trial in metrics["trials"] if not trial.get("failure")])
    return f"Intervals: {metrics['interval']['method']}; seeds: {seeds}."


def _cautions(spec: RunSpec, trial: TrialRecord) -> Iterator[str]:
    if spec.task == "span" and spec.encoder == "embedded":
        yield ENCODER_NOTE
    if trial.get("selection") == "dev":
        yield "Its checkpoint was chosen on dev: its dev scores are too good."


def _parameters(spec: RunSpec, trial: TrialRecord) -> str:
    parameters = masked(spec.options | {f"training.{name}": value for name, value in trial["training"].items()})
    lines = [f"- {trial['parameters']:,} trained numbers; {trial['precision']}, on {trial['device']}"]
    return "\n".join([*lines, *(f"- {name}: {json.dumps(value)}" for name, value in parameters.items())])


def from_mlflow(run: str, example: "ExampleQuery", store: str) -> str:
    """Write instructions for loading the model of a run.

    Args:
        run: Id of the run.
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


TASKS = {"options": "multiple-choice", "span": "question-answering", "word": "question-answering"}
"""Names of the tasks on the Hub."""

NAMES = {"exact": "exact_match"}
"""Names of metrics on the Hub, where they differ."""

LICENCES = {"Apache-2.0": "apache-2.0", "CC BY 4.0": "cc-by-4.0", "CC BY-SA 4.0": "cc-by-sa-4.0", "GFDL": "gfdl"}
"""Beginning of a licence note to the licence's name on the Hub, from the most to the least permissive."""

EMBEDDED = "sentence-transformers/all-MiniLM-L6-v2"
"""The encoder that comes with the project, by its name on the Hub."""


def front_matter(spec: RunSpec, metrics: ScoredTrials, benchmark: BenchmarkParameters) -> str:
    """Write the metadata block of a card on the Hub, as YAML.

    Args:
        spec: Description of the trained reader.
        metrics: Return value of `coattend.evaluation.summary.summarise`.
        benchmark: Benchmark that it was trained on.
    """
    from huggingface_hub import ModelCardData

    encoder = EMBEDDED if spec.encoder == "embedded" else spec.encoder
    data = ModelCardData(
        language="en",
        library_name="coattend",
        pipeline_tag=TASKS[spec.task],
        tags=["machine-reading-comprehension", spec.reader],
        datasets=[dataset for dataset in (benchmark.hub, *(other.hub for other in spec.also_trained_on)) if dataset]
        or None,
        metrics=[NAMES.get(name, name) for name in METRICS[spec.task]],
        model_name=f"{spec.name} on {spec.title}",
        eval_results=list(_results(spec, metrics, benchmark.hub or benchmark.name)),
        base_model=None if spec.reads_words else encoder,
        **_licence_metadata(spec),
    )
    return f"---\n{data.to_yaml()}\n---\n\n"


def loading(repository: str, example: "ExampleQuery") -> str:
    """Write instructions for loading a reader and asking it a question.

    Args:
        repository: Its name on the Hub; empty: the folder that the card lies in.
        example: A question that it can answer.
    """
    location = f'snapshot_download("{repository}")' if repository else '"path/to/this/folder"'
    options = f", options={tuple(example['options'])!r}" if "options" in example else ""
    return "\n".join(
        [
            "With coattend installed; nothing but weights and JSON is read:",
            "",
            "```python",
            *(["from huggingface_hub import snapshot_download"] if repository else []),
            "from coattend.serving.predictor import Predictor, Query",
            "",
            f"reader = Predictor.load({location})",
            f"question = Query({example['passage']!r}, {example['question']!r}{options})",
            'reader.answer(question)["answer"]',
            "```",
        ]
    )


def _results(spec: RunSpec, metrics: ScoredTrials, dataset: str) -> Iterator["EvalResult"]:
    from huggingface_hub import EvalResult

    for split, groups in metrics["splits"].items():
        for name in METRICS[spec.task]:
            yield EvalResult(
                task_type=TASKS[spec.task],
                dataset_type=dataset,
                dataset_name=spec.title,
                dataset_split=split,
                metric_type=NAMES.get(name, name),
                metric_name=name,
                metric_value=round(score_of(groups[EVERYTHING], name)["mean"], 2),
            )


class LicenceMetadata(TypedDict):
    """Licence of a reader in a card on the Hub; one that the Hub does not know has a name and an address."""

    license: str
    license_name: NotRequired[str]
    license_link: NotRequired[str]


def _licence_metadata(spec: RunSpec) -> LicenceMetadata:
    """Return the least permissive licence among the data that the reader was trained on."""
    data = max(spec.trained_on, key=_strictness)
    note = _known(data)
    if note:
        return {"license": LICENCES[note]}
    address = re.search(r"https?://[^\s()]+", data.published_at)
    licence = LicenceMetadata(license="other", license_name=f"data-of-{data.name.replace('_', '-')}")
    if address:
        licence["license_link"] = address[0]
    return licence


def _strictness(data: TrainedOn) -> int:
    """Rank a licence by restriction: research-only data last, unknown licences before them."""
    note = _known(data)
    return list(LICENCES).index(note) if note else len(LICENCES) + data.for_research


def _known(data: TrainedOn) -> str | None:
    return next((note for note in LICENCES if data.licence.startswith(note)), None)
