"""A study of two readers on two benchmarks, from the answers of its trials to its findings and pages."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import yaml

from coattend.config import BenchmarkParameters, StudyParameters, StudySettings
from coattend.pipelines.study.nodes import analyse, tabulate
from coattend.reports.study.table import study_findings
from coattend.reports.study.trial_records import read_records, study_records
from coattend.schemas import PASSAGES, PREDICTIONS, QUESTIONS, TAGS
from coattend.text.hashing import text_id
from coattend.text.tagset import tagset

ROOT = Path(__file__).parents[2]
SEEDS = (0, 1)
WORDS = {"the": "DT", "fox": "NN", "Ann": "NNP", "slept": "VBD", "1066": "CD"}
ANSWERS = ("the fox", "Ann", "slept", "1066")
PASSAGE = "Ann slept in 1066 and the fox slept too"

STUDY = StudyParameters(
    name="mine_turns",
    title="Whether turns matter",
    source="Turns, table 1",
    benchmarks=("exams", "articles"),
    base={"reader": "poi_net"},
    baseline="plain",
    variants={"plain": {"title": "Baseline"}, "poi_net": {"title": "POI-Net"}},
)
TASKS = {"exams": "options", "articles": "span"}

Rows = list[dict[str, Any]]


class StudyReport(NamedTuple):
    """Findings of the study, its pages and its tables."""

    findings: dict[str, Any]
    html: str
    markdown: str
    csv: str
    latex: str


def study(*shows: str, **changes: Any) -> StudyParameters:
    """Change the study, and what it shows."""
    return StudyParameters.model_validate(STUDY.model_dump() | {"shows": shows} | changes)


def question_rows(benchmark: str, count: int = 60) -> Rows:
    """Questions of dev, two about each passage; every fourth of the articles has no answer."""
    rows = []
    for number in range(count):
        row = {"question_id": f"{benchmark}-{number}", "passage_id": f"p{number // 2}", "split": "dev"}
        row |= {"group": row["passage_id"]}
        row |= {"subset": "NE" if number % 3 else "CN", "task": TASKS[benchmark], "question": f"Who slept {number}?"}
        if benchmark == "exams":
            rows.append(row | {"options": list(ANSWERS), "label": number % 4, "answerable": True})
            continue
        text = ANSWERS[number % 4]
        answers = [] if number % 4 == 3 else [{"text": text, "start": PASSAGE.index(text)}]
        rows.append(row | {"answers": answers, "answerable": bool(answers)})
    return rows


def prediction_rows(variant: str, questions: Iterable[Mapping[str, Any]]) -> Rows:
    """Answers of a variant's trials, POI-Net's more often correct."""
    random, rows = np.random.default_rng(len(variant)), []
    for seed in SEEDS:
        for question in questions:
            correct = bool(random.random() < (0.8 if variant == "poi_net" else 0.5))
            row = {"question_id": question["question_id"], "trial_id": f"{variant}{seed}", "seed": seed}
            row |= {"prediction": "Ann", "correct": correct, "f1": float(correct)}
            if question["task"] == "options":
                option = (question["label"] or 0) if correct else 3 - (question["label"] or 0)
                scores = random.normal(size=4)
                scores[option] = scores.max() + random.exponential()
                row |= {"prediction": ANSWERS[option], "label": option, "scores": scores.tolist()}
            else:
                row |= {"null_score": random.normal() + 2 * (not question["answerable"]), "start": 0, "end": 3}
            rows.append(row)
    return rows


def outcome(
    variant: str,
    task: str,
    *,
    curve: Sequence[Mapping[str, Any]] = (),
    training: Mapping[str, Any],
    on_dev: Sequence[int] = (),
) -> dict[str, Any]:
    """The outcome of a variant's trials."""
    trial = {"head": task, "training": dict(training), "held_out": 0.5, "failure": None, "questions": 100}
    trial |= {"questions_per_second": 10.0, "device": "x86_64", "curve": list(curve)}
    trials = [
        trial | {"trial_id": f"{variant}{seed}", "seed": seed, "selection": "dev" if seed in on_dev else "held_out"}
        for seed in SEEDS
    ]
    return {"variant": variant, "task": task, "encoder": "minilm", "trials": trials}


def report(parameters: StudyParameters = STUDY, **changes: Any) -> StudyReport:
    """Run the node that writes a study's pages; the arguments are those of `findings_of`."""
    findings, _, html, markdown, csv, latex, *_ = tabulate(
        parameters, {"left_out": []}, **study_parts(parameters, **changes)
    )
    return StudyReport(findings, html, markdown, csv, latex)


def findings_of(parameters: StudyParameters = STUDY, **changes: Any) -> Any:
    """Collect the findings of a study, without its pages.

    Args:
        parameters: The study.
        changes: Arguments of `study_parts`.
    """
    return study_findings(parameters, study_parts(parameters, **changes))


def record_study(
    parameters: StudyParameters,
    folder: Path,
    parts: Mapping[str, Any] | None = None,
    *,
    left_out: Sequence[str] = (),
    **changes: Any,
) -> tuple[Any, dict[str, Any]]:
    """Record a study; return its findings, and the records as they are read from the disk. The other arguments are its
    parts, or what `study_parts` makes them from, and what its budget has left out."""
    parts = study_parts(parameters, **changes) if parts is None else parts
    for variant in parameters.variants:
        for seed in SEEDS:
            trial = folder / "trials" / f"{variant}{seed}"
            trial.mkdir(parents=True, exist_ok=True)
            content = {"benchmark": "exams", "reader": variant, "seed": seed, "options": {"vectors_file": "/a/b/v.txt"}}
            content |= {"training": dict(changes.get("training") or {})}
            content |= {"head": "options", "source": f"the code of {variant}"}
            (trial / "trial.json").write_text(json.dumps(content))
            (trial / "outcome.json").write_text("{}")
    findings = study_findings(parameters, parts)
    findings["left_out"] = list(left_out)
    records = folder / "records"
    records.mkdir(exist_ok=True)
    catalog = yaml.safe_load((ROOT / "conf/base/catalog_studies.yml").read_text())
    written = catalog["study.{study}.records"]["dataset"]["save_args"]
    for name, record in study_records(parameters, findings, parts, folder / "trials", commit="abcdef123").items():
        (records / f"{name}.json").write_text(json.dumps(record, **written))
    return findings, read_records(records)


def study_parts(
    parameters: StudyParameters,
    *,
    example: str | None = None,
    questions: Mapping[str, Rows] | None = None,
    training: Mapping[str, Any] | None = None,
    curve: Sequence[Mapping[str, Any]] = (),
    variants: Sequence[str] | None = None,
    on_dev: Mapping[str, Sequence[int]] | None = None,
    simulated: bool = False,
) -> dict[str, Any]:
    """Run the node that analyses a study.

    Args:
        parameters: The study.
        example: One more question whose answers are listed.
        questions: Benchmark to questions that replace the usual ones.
        training: Training parameters of all trials.
        curve: Training curve of all trials.
        variants: The variants that were run; all, if None.
        on_dev: Variant to the seeds whose checkpoints were chosen on dev.
        simulated: True if the benchmarks' texts are generated.
    """
    parts: dict[str, Any] = {}
    names = parameters.variants if variants is None else variants
    readers = {name: {"name": name, "reader": name} for name in parameters.variants}
    for benchmark in parameters.benchmarks:
        rows = (questions or {}).get(benchmark, question_rows(benchmark))
        outcomes = {
            f"{name}.outcome": outcome(
                name, TASKS[benchmark], curve=curve, training=training or {}, on_dev=(on_dev or {}).get(name, ())
            )
            for name in names
        }
        answers = {f"{name}.answers": dataset(prediction_rows(name, rows), PREDICTIONS) for name in names}
        table = dataset(rows, QUESTIONS)
        source = {"format": "dream", "folder": "x", "files": {}}
        benchmark_parameters = BenchmarkParameters(
            name=benchmark,
            title=benchmark,
            tasks=(TASKS[benchmark],),
            sources=(source,),
            generator={} if simulated else None,
        )
        breakdowns, analyses = analyse(
            parameters,
            readers,
            {"nltk_penn": {}},
            StudySettings(question=example),
            benchmark_parameters,
            table,
            _passages(rows),
            **outcomes,
            **answers,
            **{"nltk_penn.tags": _tags()},
        )
        parts |= {f"{benchmark}.{name}": part for name, part in (outcomes | answers).items()}
        parts |= {f"{benchmark}.questions": table, f"{benchmark}.analyses": analyses}
        parts[f"{benchmark}.breakdowns"] = pads.dataset(breakdowns)
    return parts


def with_shared_trials(parts: Mapping[str, Any], parameters: StudyParameters) -> dict[str, Any]:
    """Give the second variant of a study the trials of the first, and leave it its own answers."""
    shared, (first, second) = dict(parts), parameters.variants
    for benchmark in parameters.benchmarks:
        trials = parts[f"{benchmark}.{first}.outcome"]["trials"]
        outcome_of_second = parts[f"{benchmark}.{second}.outcome"]
        names = {own["trial_id"]: to["trial_id"] for own, to in zip(outcome_of_second["trials"], trials, strict=True)}
        table = parts[f"{benchmark}.{second}.answers"].to_table()
        ids = pa.array([names[name] for name in table["trial_id"].to_pylist()])
        table = table.set_column(table.schema.get_field_index("trial_id"), PREDICTIONS.field("trial_id"), ids)
        shared[f"{benchmark}.{second}.answers"] = pads.dataset(table)
        shared[f"{benchmark}.{second}.outcome"] = outcome_of_second | {"trials": trials}
    return shared


def dataset(rows: Rows, schema: pa.Schema) -> pads.Dataset:
    return pads.dataset(pa.Table.from_pylist(rows, schema))


def _passages(rows: Iterable[Mapping[str, Any]]) -> pads.Dataset:
    passage_ids = sorted({row["passage_id"] for row in rows})
    return dataset([{"passage_id": name, "text": PASSAGE, "source": "file"} for name in passage_ids], PASSAGES)


def _tags() -> pads.Dataset:
    names, rows = tagset("penn").names, []
    for text in (PASSAGE, *ANSWERS):
        words = text.split()
        starts = [len(" ".join([*words[:index], ""])) for index in range(len(words))]
        row = {"text_id": text_id(text), "words": words, "starts": starts}
        row["ends"] = [start + len(word) for start, word in zip(starts, words, strict=True)]
        rows.append(row | {"tags": [names.index(WORDS.get(word, "IN")) for word in words]})
    return dataset(rows, TAGS)
