"""A small benchmark with options and spans, and readers that were scored on it."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from coattend.parameters import BenchmarkParameters
from coattend.pipelines.evaluation.nodes import score
from coattend.pipelines.reporting.nodes import compare
from coattend.tables import PASSAGES, PREDICTIONS, QUESTIONS, REJECTED

HOSTILE = "</script><script>alert(1)</script> | <b>*x*</b>"


def table(rows, schema):
    return pads.dataset(pa.Table.from_pylist(rows, schema=schema))


NONE = table([], REJECTED)


def questions():
    for number in range(60):
        row = {"question_id": f"q{number}", "passage_id": f"p{number // 2}", "question": "Who?", "answerable": True}
        split = "dev" if number < 40 else "test"
        yield row | {"split": split, "task": "options", "options": ["a", "b", "c", "d"], "label": 1}
        answers = [{"text": "x", "start": 0}] if number % 4 else []
        span = {"question_id": f"s{number}", "split": "dev", "task": "span", "answers": answers}
        yield row | span | {"answerable": bool(number % 4)}


def predictions(task, share, seeds):
    random = np.random.default_rng(len(seeds))
    for seed in seeds:
        for row in questions():
            if row["task"] == task:
                correct = bool(random.random() < share)
                yield _chosen(random, int(correct), task) | {
                    "question_id": row["question_id"],
                    "trial_id": f"t{seed}",
                    "seed": seed,
                    "prediction": "x",
                    "null_score": 0.5,
                    "correct": correct,
                    "f1": float(correct),
                }


def _chosen(random, option, task):
    """The option with the best of four scores, or the probability of a span."""
    if task != "options":
        return {"scores": [0.3 + 0.4 * option, 0.1]}
    scores = random.normal(size=4)
    scores[option] = scores.max() + random.exponential()
    return {"label": option, "scores": scores.tolist()}


SIGNS = {"final_loss": 1.39, "chance_loss": 1.386, "held_out_questions": 40, "most_given": 0.3, "err_tags": 0.4}


def model(reader, task, seeds, **options):
    curve = [{"step": 10, "epoch": 1.0, "loss": 1.0, "held_out": None}]
    curve += [{"step": 10, "epoch": 1.0, "loss": None, "held_out": 0.4}]
    trial = {
        "folder": "x",
        "options": options,
        "training": {"epochs": 2.0, "learning_rate": 8e-5},
        "encoder": "embedded",
        "seconds": 90.0,
        "questions_per_second": 8.8,
        "peak_memory_mib": 2048.0,
        "parameters": 22_713_985,
        "device": "x86_64",
        "precision": "bf16",
        "tagger": "perceptron " + HOSTILE,
        "selection": "held_out",
        "curve": curve,
        "signs": SIGNS,
        "failure": None,
    }
    trials = [trial | {"trial_id": f"t{seed}", "seed": seed} for seed in seeds]
    return {"benchmark": "sample", "reader": reader, "task": task, "trials": trials}


SAMPLE = BenchmarkParameters(
    name="sample", title=HOSTILE, tasks=["options"], sources=[{"format": "dream", "folder": "x", "files": {}}]
)


@pytest.fixture(scope="session")
def inputs():
    """What the node gets: two readers of options, two of spans, one that failed, one that was not run."""
    asked = table(list(questions()), QUESTIONS)
    names = sorted(set(asked.to_table(columns=["passage_id"])["passage_id"].to_pylist()))
    texts = table([{"passage_id": name, "text": "x y z", "source": "file"} for name in names], PASSAGES)
    readers = {}
    for name, task, share, seeds, options in (
        ("poi_net", "options", 0.8, [0, 1], {"turns": 3}),
        ("plain", "options", 0.4, [0, 1], {"pooling": "mean"}),
        ("plain_span", "span", 0.5, [0], {"pooling": "mean"}),
        ("poi_net_span", "span", 0.6, [0], {"pooling": "mean", "note": HOSTILE}),
    ):
        answered = table(list(predictions(task, share, seeds)), PREDICTIONS)
        readers[f"{name}.metrics"] = score(answered, asked, texts, model(name, task, seeds, **options), SAMPLE, NONE)
        readers[f"{name}.predictions"] = answered
    failed = model("broken", "options", [0])
    failed["trials"] = [{"trial_id": "t0", "seed": 0, "failure": HOSTILE}]
    nothing = table([], PREDICTIONS)
    readers |= {"broken.metrics": score(nothing, asked, texts, failed, SAMPLE, NONE), "broken.predictions": nothing}
    readers |= {"duma.metrics": None, "duma.predictions": None}
    rejected = [{"file": "train.json", "record": str(n), "reason": HOSTILE} for n in range(3)]
    return {"questions": asked, "rejected": table(rejected, REJECTED), **readers}


@pytest.fixture(scope="session")
def benchmark_parameters():
    return SAMPLE


@pytest.fixture(scope="session")
def compared(inputs, benchmark_parameters):
    return compare(benchmark_parameters, **inputs)


@pytest.fixture
def in_browser(dumped, tmp_path) -> Callable[[str], str]:
    """The same for a page that is given as text."""

    def show(page: str) -> str:
        file = tmp_path / "index.html"
        file.write_text(page)
        return dumped(file.as_uri())

    return show
