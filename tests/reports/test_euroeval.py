"""Scores as EuroEval records them: its fields, its names and units of metrics, its intervals."""

import json
import math
import statistics

import numpy as np
import pyarrow as pa
import pytest

from coattend import readers
from coattend.config import BenchmarkParameters
from coattend.reports import euroeval
from coattend.schemas import PREDICTIONS, QUESTIONS

pytest.importorskip("torch")  # Parameters are counted in a reader's weights.

FIELDS = {
    *("dataset", "task", "languages", "model", "results", "num_model_parameters", "max_sequence_length"),
    *("vocabulary_size", "merge", "generative", "few_shot", "validation_split"),
}
"""Of `BenchmarkResult` in EuroEval 16.11, but for those that it adds when it reads a record."""
BENCHMARK = BenchmarkParameters(
    name="mine",
    title="Mine",
    tasks=["options"],
    sources=[{"format": "custom", "folder": "mine", "files": {"train": ["train.jsonl"]}}],
)
GOLD = {"a": 0, "b": 1, "c": 2, "d": 1}


def tables(answers, task="options"):
    """Questions of dev, and the labels that each seed answers them with."""
    questions = [
        dict.fromkeys(QUESTIONS.names)
        | {"question_id": name, "passage_id": name, "group": name, "split": "dev", "task": task, "question": "?"}
        | {"answerable": True, "label": label}
        for name, label in GOLD.items()
    ]
    predictions = [
        dict.fromkeys(PREDICTIONS.names)
        | {"question_id": name, "trial_id": f"t{seed}", "seed": seed, "prediction": "", "label": label}
        | {"correct": label == GOLD[name], "f1": 0.0}
        for seed, labels in answers.items()
        for name, label in labels.items()
    ]
    return pa.Table.from_pylist(predictions, PREDICTIONS), pa.Table.from_pylist(questions, QUESTIONS)


def score(**by_seed):
    return {"seeds": {name.removeprefix("s"): value for name, value in by_seed.items()}}


def metrics(task, splits, seeds):
    trained = {"parameters": 42, "training": {"max_length": 256}, "failure": None}
    trials = [{"trial_id": f"t{seed}", "seed": seed, **trained} for seed in seeds]
    return {"benchmark": "mine", "reader": "duma", "task": task, "splits": splits, "trials": trials}


def records(metrics, predictions, questions, trials):
    return list(euroeval.records(metrics, predictions, questions, BENCHMARK, trials=trials, publisher="us"))


def test_choices_have_accuracy_and_correlation_of_each_seed(tmp_path):
    answers = {10: {"a": 0, "b": 1, "c": 1}, 9: {"a": 0, "b": 1, "c": 2, "d": 0}}
    splits = {"dev": {"all": {"accuracy": score(s10=50.0, s9=75.0)}}, "trial": {"all": {}}}
    (tmp_path / "t9" / "model").mkdir(parents=True)
    (tmp_path / "t9" / "model" / "reader.json").write_text(json.dumps({"encoder": {"vocab_size": 30522}}))
    (record,) = records(metrics("options", splits, (9, 10)), *tables(answers), tmp_path)
    assert record.keys() == FIELDS
    results = record.pop("results")
    assert record == {
        "dataset": "mine",
        "task": "multiple-choice-reading-comprehension",
        "languages": ["en"],
        "model": "us/duma",
        "num_model_parameters": 42,
        "max_sequence_length": 256,
        "vocabulary_size": 30522,
        "merge": False,
        "generative": False,
        "few_shot": None,
        "validation_split": True,
    }
    # A missing answer counts as a label of its own.
    correlation = pytest.importorskip("sklearn.metrics").matthews_corrcoef
    expected = [correlation([0, 1, 2, 1], labels) for labels in ([0, 1, 2, 0], [0, 1, 1, -1])]
    assert [scores["test_accuracy"] for scores in results["raw"]] == [0.75, 0.5]
    assert [scores["test_mcc"] for scores in results["raw"]] == pytest.approx(expected, abs=1e-12)
    for name, values in (("test_accuracy", [0.75, 0.5]), ("test_mcc", expected)):
        assert results["total"][name] == pytest.approx(100 * statistics.mean(values))
        radius = 1.96 * statistics.stdev(values) / math.sqrt(2)
        assert results["total"][f"{name}_se"] == pytest.approx(100 * radius)
    assert results["total"].keys() == {"test_accuracy", "test_accuracy_se", "test_mcc", "test_mcc_se"}


@pytest.mark.parametrize("shots", [0, 2])
def test_a_language_model_as_it_is_is_generative_and_shown_examples_or_not(tmp_path, shots):
    scored = metrics("options", {"dev": {"all": {"accuracy": score(s0=75.0)}}}, (0,))
    scored["trials"][0] |= {"trained": False, "options": {"shots": shots}}
    (record,) = records(scored, *tables({0: GOLD}), tmp_path)
    assert (record["generative"], record["few_shot"]) == (True, shots > 0)


def test_spans_have_f1_and_exact_match_in_percent(tmp_path):
    splits = {"test": {"all": {"exact": score(s0=40.0), "f1": score(s0=61.5)}}}
    (record,) = records(metrics("span", splits, (0,)), *tables({}, task="span"), tmp_path)
    assert (record["task"], record["validation_split"]) == ("reading-comprehension", False)
    assert record["results"]["raw"] == [{"test_f1": 61.5, "test_em": 40.0}]
    # A single seed has no interval: EuroEval writes NaN.
    (line,) = euroeval.to_lines([record]).splitlines()
    total = json.loads(line)["results"]["total"]
    assert (total["test_f1"], total["test_em"]) == (61.5, 40.0)
    assert math.isnan(total["test_f1_se"])
    # Its reader is not there.
    assert record["vocabulary_size"] == -1


@pytest.mark.parametrize(
    ("training", "known"),
    [({"frozen": True}, False), ({"lora": {"rank": 2}}, False), ({"lora": None, "frozen": False}, True)],
)
def test_parameters_are_those_of_the_whole_reader_or_unknown_without_its_weights(tmp_path, training, known):
    import tiny

    scored = metrics("options", {"dev": {"all": {"accuracy": score(s0=75.0)}}}, (0,))
    scored["trials"][0]["training"] |= training
    (record,) = records(scored, *tables({0: GOLD}), tmp_path)
    assert record["num_model_parameters"] == (42 if known else -1)
    # The encoder counts, trained or not.
    reader = readers.build("plain", encoder=tiny.encoder("bert"))
    reader.encoder.requires_grad_(False)
    reader.save(tmp_path / "t0/model")
    (record,) = records(scored, *tables({0: GOLD}), tmp_path)
    assert record["num_model_parameters"] == sum(weights.numel() for weights in reader.parameters())


def test_a_reader_whose_trials_all_failed_has_no_record(tmp_path):
    failed = metrics("options", {}, ()) | {"trials": [{"trial_id": "t0", "seed": 0, "failure": "it diverged"}]}
    assert not records(failed, *tables({}), tmp_path)


@pytest.mark.parametrize("labels", [2, 4, 10])
def test_correlation_is_scikit_learns(labels):
    expected = pytest.importorskip("sklearn.metrics").matthews_corrcoef
    random = np.random.default_rng(labels)
    for _ in range(20):
        gold, predicted = random.integers(0, labels, 30), random.integers(-1, labels, 30)
        assert euroeval.matthews_correlation(gold, predicted) == pytest.approx(expected(gold, predicted), abs=1e-12)
    assert euroeval.matthews_correlation(gold, np.zeros(30, int)) == 0
