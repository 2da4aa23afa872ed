"""The menu of what people run: stages, benchmarks, trials and studies, a sentence each."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from coattend import studies
from coattend.config import StudyParameters, entries
from coattend.evaluation.runs import included_costs
from coattend.readers import registry
from coattend.studies.study import Study

STAGES: Mapping[str, str] = {
    "download": "Fetches a benchmark's published files, resumed and checked",
    "validate": "Lists all that is wrong with a benchmark's raw files at once",
    "ingestion": "Reads raw files as tables of passages and questions, and each distinct text once",
    "tagging": "Adds words and part-of-speech tags to each distinct text",
    "tokenization": "Adds subword tokens to each distinct text, each with the tag of its word",
    "profile": "Shows what a benchmark is made of, beside what its publishers say, and trivial baselines",
    "training": "Trains a reader: a trial for each seed",
    "evaluation": "Lets trials answer dev and test, and scores the answers",
    "reporting": "Compares a benchmark's readers on a page",
    "submission": "Writes predictions in the form that the benchmark's own scorer reads (SQuAD, ReCAM)",
    "reranking": "Ranks the best candidates again with language models (missing words)",
    "champion": "Names a benchmark's best reader in MLflow's registry",
    "export": "Writes a benchmark for lm-evaluation-harness, and its readers' scores for EuroEval",
    "book_cloze": "Makes questions with a missing word from a folder of books; books goes on from there",
}
TRIALS: Mapping[str, str] = {
    "trials": "Lists all finished trials, the newest first, with what is set differently",
    "compare": "Compares two trials, question by question: --params compare.left=…,compare.right=…",
    "attention": "Shows where one or two trials look: --params attention.left=…",
    "prediction": "Answers a file of questions: --params prediction.model=…,prediction.input=…",
    "verify": "Repeats a run's evaluation from what it left behind: --params run=…",
    "batch_invariance": "Counts answers that depend on what a question shares its batch with",
    "share": "Writes a reader's folder for the Hugging Face Hub: --params share.model=…",
}
STUDIES: Mapping[str, str] = {
    "study_<name>": "Repeats a table or figure of a paper (make studies)",
    "results": "Puts all studies that were run on one page",
    "leaderboard": "Ranks what studies have timed, from their records: study_ours_time_to_score_dream,leaderboard",
}
COSTS = "costs.json"


def pipeline_lines() -> Iterator[str]:
    """List what people run, with a sentence each."""
    yield "kedro run compares some readers on the sample, from raw text to a page. Others run by their names:"
    yield "kedro run --pipelines <name>, and with --namespaces <benchmark> or <benchmark>.<reader> a part of it."
    yield from _block("Stages, of a benchmark or of one of its readers", STAGES)
    for title, names in _by_task().items():
        yield from _block(f"Benchmarks of {title}: all stages, with every reader", dict(map(_benchmark, names)))
    yield from _block("Trials, which parameters name", TRIALS)
    yield from _block("Studies", STUDIES)


def study_lines(results: Path, parameters: Mapping[str, Any]) -> Iterator[str]:
    """List the studies with what they train by a run's parameters, and what that costs where the folder of their
    results says so."""
    for file, members in _by_file(parameters).items():
        yield from _block(file, {f"{studies.PREFIX}{study.name}": _describe(study, results) for study in members})
    groups = {f"{studies.PREFIX}{name}": ", ".join(members) for name, members in studies.study_groups().items()}
    yield from _block("Several at once", groups)
    yield "\nHours are estimated on this machine, without training, by the study's first node:"
    yield "kedro run --pipelines study_<name> --to-nodes study.<name>.prepare"


def reader_lines() -> Iterator[str]:
    """List the readers with what they answer by: their heads, the default first."""
    yield "kedro run --namespaces <benchmark>.<reader> runs a reader, from raw files to the page that shows it, and"
    yield "kedro explain <benchmark>.<reader> prints its parameters."
    yield from _block("Readers", {name: _reader(name) for name in entries.reader_names()})


def _reader(name: str) -> str:
    entry = entries.reader_entry(name)
    reader = registry.find(entry["reader"])
    return f"{reader.title}: {', '.join([entry['head']] if entry.get('head') else reader.heads)}"


def _by_task() -> dict[str, list[str]]:
    """Group benchmarks by what their questions ask for."""
    titles: dict[tuple[str, ...], str] = {("options",): "options", ("span",): "spans", ("word",): "missing words"}
    by_task: dict[str, list[str]] = {title: [] for title in (*titles.values(), "several kinds")}
    for name in entries.benchmark_names():
        by_task[titles.get(entries.benchmark(name).tasks, "several kinds")].append(name)
    return {title: names for title, names in by_task.items() if names}


def _benchmark(name: str) -> tuple[str, str]:
    readers = entries.readers_of(name)
    return name, f"{entries.benchmark(name).title}, {len(readers)} readers"


def _by_file(parameters: Mapping[str, Any]) -> dict[str, list[Study]]:
    """Group the studies, with what a run's parameters change in them, by paper."""
    by_file: dict[str, list[Study]] = {}
    changed: dict[str, Any] = {"seeds": seeds} if (seeds := parameters["study"].get("seeds")) else {}
    for name in studies.study_names():
        about = StudyParameters.model_validate({**parameters["studies"][name]["about"], **changed})
        study = replace(studies.load_study(name), parameters=about)
        paper = study.paper
        others = " and others" if len(paper.authors) > 1 else ""
        cited = f"{paper.title} ({paper.authors[0]}{others}, {paper.venue} {paper.year})"
        by_file.setdefault(cited, []).append(study)
    return by_file


def _describe(study: Study, results: Path) -> str:
    parameters = study.parameters
    benchmarks = sorted({name for variant in parameters.variants for name in parameters.benchmarks_of(variant)})
    trials = len(study.trainings) * parameters.trials
    return f"{parameters.title} ({', '.join(benchmarks)}; {trials} trials, {_hours(results / study.name / COSTS)})"


def _hours(file: Path) -> str:
    """The estimate that a study's folder holds."""
    if not file.is_file():
        return "not estimated"
    estimates = json.loads(file.read_text(encoding="utf-8"))
    seconds = sum(cost["seconds"] for cost in included_costs(estimates["costs"], estimates["left_out"]))
    return f"about {seconds / 3600:.1f} hours"


def _block(title: str, sentences: Mapping[str, str]) -> Iterable[str]:
    width = max(map(len, sentences), default=0)
    return [f"\n{title}", *(f"  {name:<{width}}  {sentence}" for name, sentence in sentences.items())]
