"""A benchmark and its readers' scores for those who measure elsewhere: files, and a run of the tasks in the harness."""

import json

import numpy as np
import pytest

from coattend.readers.prompts import SEPARATOR
from coattend.readers.reader import Reader

QUESTIONS = 6
"""Questions of each task that the harness asks."""


@pytest.fixture(scope="module")
def exported(trained_sample, run_in):
    """The folder of all pages of a project with trained readers, after an export."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(trained_sample)
        monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
        run_in(trained_sample)("export", "sample")
    return trained_sample / "data" / "test" / "08_reporting"


def test_scored_readers_have_records(exported, trained_sample):
    lines = (exported / "euroeval" / "sample.jsonl").read_text().splitlines()
    records = {record["model"]: record for record in map(json.loads, lines)}
    folder = trained_sample / "data" / "test" / "07_model_output" / "sample"
    assert set(records) == {f"coattend/{file.parent.name}" for file in folder.glob("*/metrics.json")}
    for model, metric, name, scale in (
        ("poi_net", "accuracy", "test_accuracy", 100),
        ("aoa_reader", "accuracy", "test_accuracy", 100),
        ("plain_span", "exact", "test_em", 1),
    ):
        metrics = json.loads((folder / model / "metrics.json").read_text())
        record = records[f"coattend/{model}"]
        by_seed = metrics["splits"]["dev"]["all"][metric]["seeds"]
        assert [scale * scores[name] for scores in record["results"]["raw"]] == pytest.approx([*by_seed.values()])
        reader = Reader.load(trained_sample / "data/test/06_models/trials" / metrics["trials"][0]["trial_id"] / "model")
        assert record["num_model_parameters"] == sum(weights.numel() for weights in reader.parameters())
        assert record["vocabulary_size"] > 0
        assert record["validation_split"] is True


def test_files_lie_where_the_harness_finds_their_tables(exported):
    folder = exported / "harness" / "sample"
    names = {file.stem for file in (folder / "tasks").glob("*.yaml")}
    assert {"coattend_sample_options", "coattend_sample_word", "coattend_sample_span"} < names
    assert (folder / "tasks" / "tables.py").is_file()
    assert {"sample_word_cn_dev", "sample_word_cn_train"} < {file.stem for file in (folder / "tables").iterdir()}


def test_without_a_scored_reader_the_record_is_empty(sample_project, kedro_run, caplog):
    kedro_run("export", "sample")
    assert "no reader of it was scored" in caplog.text
    assert "--pipelines evaluation --namespaces sample" in caplog.text
    assert (sample_project / "data/test/08_reporting/euroeval/sample.jsonl").read_text() == ""


@pytest.mark.slow
@pytest.mark.parametrize("shots", [0, 2])
def test_the_harness_runs_the_tasks(exported, language_model, shots, tmp_path, monkeypatch):
    """With a random model, whose choices are those of the log probabilities that the harness recorded."""
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    groups = ("coattend_sample_options", "coattend_sample_word", "coattend_sample_span")
    results = lm_eval.simple_evaluate(
        model=HFLM(pretrained=str(language_model), device="cpu", dtype="float32", batch_size=16),
        tasks=list(groups),
        task_manager=TaskManager(include_path=str(exported / "harness"), include_defaults=False),
        num_fewshot=shots,
        limit=QUESTIONS,
        bootstrap_iters=0,
    )
    assert set(groups) <= set(results["groups"])
    for name, samples in results["samples"].items():
        marks = []
        for sample in samples:
            question, asked = sample["doc"], [arguments[0] for arguments in sample["arguments"]]
            assert len(set(asked)) == 1
            own = f"Passage: {question['passage']}{SEPARATOR}{question['stem']}"
            assert asked[0].endswith(own)
            # Examples have the same form, and their answers are right.
            before = asked[0].removesuffix(own)
            assert before.count("Passage: ") == shots
            if "span" in name:
                assert before.startswith("Answer each question with words of its passage")
                assert sample["target"] == question["answers"]
                continue
            assert not before or before.endswith(SEPARATOR)
            assert [arguments[1] for arguments in sample["arguments"]] == [f" {text}" for text in question["choices"]]
            assert sample["target"] == question["label"]
            log_p = np.array([float(response[0][0]) for response in sample["resps"]])
            lengths = [len(text) for text in question["choices"]]
            chosen = (log_p.argmax(), (log_p / lengths).argmax())
            marks.append([choice == question["label"] for choice in chosen])
        if marks:
            scores = [results["results"][name][f"{metric},none"] for metric in ("acc", "acc_norm")]
            assert scores == pytest.approx(np.mean(marks, axis=0))
