"""A study of two readers on two benchmarks, from what its trials answered to its findings."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.parameters import BenchmarkParameters, StudyParameters, StudySettings
from coattend.pipelines.study.nodes import analyse, tabulate
from coattend.tables import PASSAGES, PREDICTIONS, QUESTIONS, TAGS
from coattend.text.identity import text_id
from coattend.text.tagset import tagset

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


def questions(benchmark: str, count: int = 60) -> list[dict[str, Any]]:
    """Questions of dev, two about each passage; every fourth of the articles has no answer."""
    rows = []
    for number in range(count):
        row = {"question_id": f"{benchmark}-{number}", "passage_id": f"p{number // 2}", "split": "dev"}
        row |= {"subset": "NE" if number % 3 else "CN", "task": TASKS[benchmark], "question": f"Who slept {number}?"}
        if benchmark == "exams":
            rows.append(row | {"options": list(ANSWERS), "label": number % 4, "answerable": True})
            continue
        text = ANSWERS[number % 4]
        answers = [] if number % 4 == 3 else [{"text": text, "start": PASSAGE.index(text)}]
        rows.append(row | {"answers": answers, "answerable": bool(answers)})
    return rows


def answered(variant: str, asked: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the trials of a variant answer, POI-Net more often right."""
    random, rows = np.random.default_rng(len(variant)), []
    for seed in SEEDS:
        for question in asked:
            right = bool(random.random() < (0.8 if variant == "poi_net" else 0.5))
            row = {"question_id": question["question_id"], "trial_id": f"{variant}{seed}", "seed": seed}
            row |= {"prediction": "Ann", "correct": right, "f1": float(right)}
            if question["task"] == "options":
                chosen = (question["label"] or 0) if right else 3 - (question["label"] or 0)
                scores = random.normal(size=4)
                scores[chosen] = scores.max() + random.exponential()
                row |= {"prediction": ANSWERS[chosen], "label": chosen, "scores": scores.tolist()}
            else:
                row |= {"null_score": random.normal() + 2 * (not question["answerable"]), "start": 0, "end": 3}
            rows.append(row)
    return rows


def outcome(
    variant: str, task: str, *, curve: Sequence[Mapping[str, Any]] = (), training: Mapping[str, Any]
) -> dict[str, Any]:
    """What its trials came to."""
    trials = [
        {"trial_id": f"{variant}{seed}", "seed": seed, "head": task, "training": dict(training), "held_out": 0.5}
        | {"failure": None, "questions": 100, "questions_per_second": 10.0, "device": "x86_64", "curve": list(curve)}
        for seed in SEEDS
    ]
    return {"variant": variant, "task": task, "encoder": "minilm", "trials": trials}


def found(
    about: StudyParameters = STUDY,
    *,
    question: str | None = None,
    asked: Mapping[str, list[dict[str, Any]]] | None = None,
    training: Mapping[str, Any] | None = None,
    curve: Sequence[Mapping[str, Any]] = (),
    run: Sequence[str] | None = None,
) -> tuple[dict[str, Any], str, str]:
    """What the study's own nodes make of it: findings, HTML and Markdown.

    Args:
        about: The study.
        question: One more whose answers are shown.
        asked: Questions of benchmarks that have others.
        training: How all trials were trained.
        curve: How the training of each went.
        run: The variants that were run; all, if None.
    """
    parts: dict[str, Any] = {}
    names = about.variants if run is None else run
    readers = {name: {"name": name, "reader": name} for name in about.variants}
    for benchmark in about.benchmarks:
        rows = (asked or {}).get(benchmark, questions(benchmark))
        own = {
            f"{name}.outcome": outcome(name, TASKS[benchmark], curve=curve, training=training or {}) for name in names
        } | {f"{name}.answers": _table(answered(name, rows), PREDICTIONS) for name in names}
        table = _table(rows, QUESTIONS)
        source = {"format": "dream", "folder": "x", "files": {}}
        parameters = BenchmarkParameters(name=benchmark, title=benchmark, tasks=(TASKS[benchmark],), sources=(source,))
        breakdowns, analyses = analyse(
            about, readers, {"nltk_penn": {}}, StudySettings(question=question), parameters, table, _passages(rows),
            **own | {"nltk_penn.tags": _tags()},
        )  # fmt: skip
        parts |= {f"{benchmark}.{name}": value for name, value in own.items()}
        parts |= {f"{benchmark}.questions": table, f"{benchmark}.analyses": analyses}
        parts[f"{benchmark}.breakdowns"] = pads.dataset(breakdowns)
    results, _, page, markdown, *_ = tabulate(about, {"left_out": []}, **parts)
    return results, page, markdown


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pads.Dataset:
    return pads.dataset(pa.Table.from_pylist(rows, schema))


def _passages(rows: Iterable[Mapping[str, Any]]) -> pads.Dataset:
    names = sorted({row["passage_id"] for row in rows})
    return _table([{"passage_id": name, "text": PASSAGE, "source": "file"} for name in names], PASSAGES)


def _tags() -> pads.Dataset:
    names, rows = tagset("penn").names, []
    for text in (PASSAGE, *ANSWERS):
        words = text.split()
        starts = [len(" ".join([*words[:place], ""])) for place in range(len(words))]
        row = {"text_id": text_id(text), "words": words, "starts": starts}
        row["ends"] = [start + len(word) for start, word in zip(starts, words, strict=True)]
        rows.append(row | {"tags": [names.index(WORDS.get(word, "IN")) for word in words]})
    return _table(rows, TAGS)
