"""Readers of words from raw text to the results page: every task, and readers that have no name of their own."""

import json
import math
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from coattend.errors import CoattendError
from coattend.readers.reader import Reader

DATA = "ingestion,tagging,tokenization"
ENTRIES = {
    "aoa": {"reader": "aoa_reader", "hidden": 16},
    "aoa_document": {"reader": "aoa_reader", "hidden": 16, "choose": "document"},
    "attentive": {"reader": "attentive_reader", "hidden": 16},
    "deep_options": {"reader": "recurrent+deep_residual_coattention", "head": "options", "hidden": 8},
    "dcn_plus_small": {"reader": "dcn_plus", "hidden": 16, "pool": 4, "character_width": 8},
    "poi_net_word": {"reader": "poi_net", "head": "word"},
}
TASKS = {"deep_options": "options", "dcn_plus_small": "span"}


@pytest.fixture
def results(project) -> Path:
    """The folder of the tiny environment; the readers of these tests have a file of their own."""
    own = {name: entry for name, entry in ENTRIES.items() if name != "poi_net_word"}
    (project / "conf" / "base" / "parameters_mine.yml").write_text(yaml.safe_dump({"readers": own}))
    return project / "data" / "test"


def predictions(results, reader):
    return pq.read_table(results / f"07_model_output/sample/{reader}/predictions.parquet").to_pylist()


def model(results, reader):
    """The one trial of a reader."""
    (trial,) = json.loads((results / f"06_models/sample/{reader}.json").read_text())["trials"]
    return trial


def weights(results):
    return {path: path.stat().st_mtime_ns for path in (results / "06_models/trials").rglob("model.safetensors")}


def test_readers_of_every_task_from_raw_text_to_the_page(results, kedro_run):
    namespaces = ",".join(f"sample.{name}" for name in ENTRIES)
    kedro_run(DATA, "sample")
    kedro_run("training,evaluation", namespaces)
    kedro_run("reporting", "sample")

    questions = pq.read_table(results / "02_intermediate/sample/questions.parquet").to_pylist()
    dev_questions = {row["question_id"]: row for row in questions if row["split"] == "dev"}
    passages = pq.read_table(results / "02_intermediate/sample/passages.parquet").to_pylist()
    texts = {row["passage_id"]: row["text"] for row in passages}
    page = (results / "08_reporting/sample/index.html").read_text()
    for name in ENTRIES:
        task = TASKS.get(name, "word")
        answers = predictions(results, name)
        assert {row["question_id"] for row in answers} == {
            key for key, row in dev_questions.items() if row["task"] == task
        }
        metrics = json.loads((results / f"07_model_output/sample/{name}/metrics.json").read_text())
        assert metrics["task"] == task
        measure = metrics["splits"]["dev"]["all"]["f1" if task == "span" else "accuracy"]["mean"]
        assert measure == pytest.approx(100 * sum(row["f1"] for row in answers) / len(answers))
        assert name in page
        for row in answers:
            question = dev_questions[row["question_id"]]
            _check(name, row, question, texts[question["passage_id"]])

    _check_models(results, questions, texts)
    before, ids = weights(results), {name: model(results, name)["trial_id"] for name in ENTRIES}
    kedro_run("training", namespaces)
    assert weights(results) == before
    assert {name: model(results, name)["trial_id"] for name in ENTRIES} == ids
    assert len(set(ids.values())) == len(ENTRIES)
    with pytest.raises(CoattendError, match=r"sample\.aoa_document: chose from all words.*choose: candidates"):
        kedro_run("reranking", "sample.aoa_document")


def _check(name, row, question, passage):
    """Check the answers of a reader for its task."""
    if name == "aoa_document":
        assert row["prediction"] in passage.split()
        assert row["scores"] is row["label"] is None
        assert row["correct"] <= (row["prediction"] == question["options"][question["label"]])
    elif name == "dcn_plus_small":
        assert passage[row["start"] : row["end"]].strip()
        assert row["prediction"] in ("", passage[row["start"] : row["end"]])
        assert math.isfinite(row["null_score"])
    else:
        assert row["prediction"] == question["options"][row["label"]]
        assert len(row["scores"]) == len(question["options"])
        assert row["scores"][row["label"]] == max(row["scores"])
        if name in ("aoa", "poi_net_word"):
            assert 0 < sum(row["scores"]) <= 1 + 1e-5  # Candidates differ, and the passage has other words too.


def _check_models(results, questions, texts):
    """Their words come from training questions alone, and what was asked for is what was trained."""
    folders = {name: results / "06_models/trials" / model(results, name)["folder"] for name in ENTRIES}
    options = {name: model(results, name)["options"] for name in ENTRIES}
    assert options["dcn_plus_small"].items() >= {"objective": "mixed", "context": True, "experts": True}.items()
    assert options["aoa_document"]["choose"] == "document"
    outcome = json.loads((folders["dcn_plus_small"] / "outcome.json").read_text())
    sigmas = [point[name] for point in outcome["curve"] for name in ("sigma_ce", "sigma_rl")]
    assert min(sigmas) >= 0.5
    assert all(map(math.isfinite, sigmas))
    assert len(set(sigmas)) > 2, "they do not learn"
    tokens = pq.read_table(results / "04_feature/sample/nltk_penn/tags").to_pylist()
    content = {row["text_id"]: row["text"] for row in pq.read_table(results / "03_primary/sample/texts").to_pylist()}
    words_of = {content[row["text_id"]]: {word.lower() for word in row["words"]} for row in tokens}
    for name in ("aoa", "attentive", "dcn_plus_small"):
        reader = Reader.load(folders[name] / "model")
        task = TASKS.get(name, "word")
        of_split = {
            split: {
                word
                for row in questions
                if (row["task"], row["split"]) == (task, split)
                for text in (row["question"], texts[row["passage_id"]])
                for word in words_of[text]
            }
            for split in ("train", "dev")
        }
        assert set(reader.encoder.words) <= of_split["train"]
        assert of_split["dev"] - set(reader.encoder.words), "dev has no word of its own: the test shows nothing"
    epochs = {name: model(results, name)["training"]["epochs"] for name in ENTRIES}
    assert epochs == {name: 1 if name == "poi_net_word" else 2 for name in ENTRIES}


def test_another_file_of_word_vectors_is_another_trial(results, kedro_run, project, sample_tables):
    shutil.copytree(sample_tables, results)
    options = {"hidden": 4, "vectors": "file", "vectors_file": "vectors.txt"}
    with pytest.raises(CoattendError, match=r"vectors_file vectors\.txt: cannot be read"):
        kedro_run("training", "sample.aoa", readers={"aoa": options})
    ids, rows = [], []
    for first in ("1 0", "1 0", "0 1"):
        (project / "vectors.txt").write_text(f"the {first}\nfound 2 3\n")
        kedro_run("training", "sample.aoa", readers={"aoa": options})
        trial = model(results, "aoa")
        ids.append(trial["trial_id"])
        encoder = Reader.load(results / "06_models/trials" / trial["folder"] / "model").encoder
        rows.append([encoder.vectors.weight[3 + encoder.words.index(word)].tolist() for word in ("the", "found", ".")])
    assert ids[0] == ids[1] != ids[2]
    assert rows[0] == rows[1] == [[1, 0], [2, 3], [0, 0]]
    assert rows[2] == [[0, 1], [2, 3], [0, 0]]


def test_a_wrong_difference_of_recurrent_readers_is_refused_with_its_place(results, kedro_run):
    with pytest.raises(CoattendError, match=r"benchmarks\.sample\.recurrent\.seeds: the seed 1 is there twice"):
        kedro_run("training", "sample.aoa", benchmarks={"sample": {"recurrent": {"seeds": [1, 1]}}})


def test_a_readers_own_difference_comes_last_and_is_refused_in_its_own_place(results, kedro_run):
    with pytest.raises(CoattendError, match=r"readers\.aoa\.training\.epoch: .*Did you mean 'epochs'"):
        kedro_run("training", "sample.aoa", readers={"aoa": {"training": {"epoch": 3}}})


@pytest.mark.parametrize(
    ("reader", "settings", "message"),
    [
        (
            "plain",
            {"reader": "aoa_reader"},
            r"readers\.plain\.reader: is 'a reader of words', .*'a reader of subwords'",
        ),
        ("aoa", {"reader": "plain"}, r"readers\.aoa\.reader: is 'a reader of subwords', .*'a reader of words'"),
        (
            "attentive",
            {"reader": "recurrent+attention_sum", "head": "vocabulary"},
            r"head 'vocabulary' needs summary.*What would fit: .*head=word",
        ),
    ],
)
def test_what_cannot_be_built_is_refused_before_a_run_is_tracked(
    results, kedro_run, project, reader, settings, message
):
    with pytest.raises(CoattendError, match=message):
        kedro_run("training", f"sample.{reader}", readers={reader: settings})
    assert not (project / "mlflow.db").exists()
