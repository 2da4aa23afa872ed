"""A small benchmark with options and spans, and readers that were scored on it."""

from collections.abc import Callable
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from compared import compare

from coattend.config import BenchmarkParameters
from coattend.pipelines.evaluation.nodes import score
from coattend.schemas import PASSAGES, PREDICTIONS, QUESTIONS, REJECTED

HOSTILE = "</script><script>alert(1)</script> | <b>*x*</b>"
VOID_TAGS = {"meta", "br", "link", "img", "input", "hr"}


class ParsedPage(HTMLParser):
    """Elements, visible text and table rows of a page; fails where tags do not close."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open_tags, self.elements, self.texts, self.rows = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID_TAGS:
            self.open_tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open_tags.pop() == tag

    def handle_data(self, data):
        if "script" in self.open_tags or "style" in self.open_tags:
            return
        self.texts.append(data)
        if {"td", "th"} & set(self.open_tags):
            self.rows[-1][-1] += data

    @property
    def text(self):
        return "".join(self.texts)

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)


def dataset(rows, schema):
    return pads.dataset(pa.Table.from_pylist(rows, schema=schema))


def question_rows():
    """Sixty questions with options, and as many with spans, of which every fourth has no answer."""
    for number in range(60):
        row = {"question_id": f"q{number}", "passage_id": f"p{number // 2}", "question": "Who?", "answerable": True}
        row |= {"group": row["passage_id"]}
        split = "dev" if number < 40 else "test"
        yield row | {"split": split, "task": "options", "options": ["a", "b", "c", "d"], "label": 1}
        answers = [{"text": "x", "start": 0}] if number % 4 else []
        span = {"question_id": f"s{number}", "split": "dev", "task": "span", "answers": answers}
        yield row | span | {"answerable": bool(number % 4)}


def prediction_rows(task, share_correct, seeds):
    random = np.random.default_rng(len(seeds))
    for seed in seeds:
        for row in question_rows():
            if row["task"] == task:
                correct = bool(random.random() < share_correct)
                yield _scores(random, int(correct), task) | {
                    "question_id": row["question_id"],
                    "trial_id": f"t{seed}",
                    "seed": seed,
                    "prediction": "x",
                    "null_score": 0.5,
                    "correct": correct,
                    "f1": float(correct),
                }


def _scores(random, option, task):
    """The option with the best of four scores, or the probability of a span."""
    if task != "options":
        return {"scores": [0.3 + 0.4 * option, 0.1]}
    scores = random.normal(size=4)
    scores[option] = scores.max() + random.exponential()
    return {"label": option, "scores": scores.tolist()}


SIGNS = {"final_loss": 1.39, "chance_loss": 1.386, "held_out_questions": 40, "most_given": 0.3, "err_tags": 0.4}


def model_record(reader, task, seeds, **options):
    """The trials of a reader, as the training stage writes them."""
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
def node_inputs():
    """Inputs of the node: two readers of options, two of spans, one that failed, one that was not run."""
    questions, no_rejected = dataset(list(question_rows()), QUESTIONS), dataset([], REJECTED)
    passage_ids = sorted(set(questions.to_table(columns=["passage_id"])["passage_id"].to_pylist()))
    passages = dataset([{"passage_id": name, "text": "x y z", "source": "file"} for name in passage_ids], PASSAGES)
    readers = {}
    for name, task, share_correct, seeds, options in (
        ("poi_net", "options", 0.8, [0, 1], {"turns": 3}),
        ("plain", "options", 0.4, [0, 1], {"pooling": "mean"}),
        ("plain_span", "span", 0.5, [0], {"pooling": "mean"}),
        ("poi_net_span", "span", 0.6, [0], {"pooling": "mean", "note": HOSTILE}),
    ):
        predictions = dataset(list(prediction_rows(task, share_correct, seeds)), PREDICTIONS)
        model = model_record(name, task, seeds, **options)
        readers[f"{name}.metrics"] = score(predictions, questions, passages, model, SAMPLE, no_rejected)
        readers[f"{name}.predictions"] = predictions
    failed = model_record("broken", "options", [0])
    failed["trials"] = [{"trial_id": "t0", "seed": 0, "failure": HOSTILE}]
    no_predictions = dataset([], PREDICTIONS)
    readers["broken.metrics"] = score(no_predictions, questions, passages, failed, SAMPLE, no_rejected)
    readers["broken.predictions"] = no_predictions
    readers |= {"duma.metrics": None, "duma.predictions": None}
    rejected = [{"file": "train.json", "record": str(number), "reason": HOSTILE} for number in range(3)]
    return {"questions": questions, "rejected": dataset(rejected, REJECTED), **readers}


@pytest.fixture(scope="session")
def benchmark_parameters():
    return SAMPLE


@pytest.fixture(scope="session")
def node_outputs(node_inputs, benchmark_parameters):
    """Results, Markdown, HTML and chart of the comparison."""
    return compare(benchmark_parameters, **node_inputs)


@pytest.fixture(scope="session")
def results(node_outputs):
    return node_outputs[0]


@pytest.fixture(scope="session")
def parse_page():
    return ParsedPage


@pytest.fixture
def open_in_browser(dumped, tmp_path) -> Callable[[str], str]:
    """Opens a page's text in Chromium and returns the document as it stands then."""

    def open_page(page: str) -> str:
        file = tmp_path / "index.html"
        file.write_text(page)
        return dumped(file.as_uri())

    return open_page
