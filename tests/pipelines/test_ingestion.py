"""The ingestion stage: native files to stored tables."""

import json
import logging
import subprocess
import sys
from collections import Counter

import pyarrow.parquet as pq
import pytest

from coattend.config import BenchmarkParameters
from coattend.errors import CoattendError
from coattend.io.sharded import ShardedTableDataset
from coattend.pipelines.ingestion.nodes import ingest
from coattend.settings import CONFIG_LOADER_ARGS, ProjectConfigLoader
from coattend.text.hashing import text_id

SIZES = {"dialogues": (52, 2), "stories": (52, 3)}


def table(project, benchmark, name):
    return pq.read_table(project / "data" / "test" / "02_intermediate" / benchmark / f"{name}.parquet").to_pylist()


def texts(project, benchmark):
    folder = project / "data" / "test" / "03_primary" / benchmark / "texts"
    return ShardedTableDataset(filepath=str(folder)).load().to_table().to_pylist()


def written(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def dream(project, monkeypatch):
    """A raw folder with a small DREAM, and its dialogues."""
    monkeypatch.setenv("COATTEND_RAW", str(project / "raw"))
    questions = [
        {"question": "Where is the lamp?", "choice": ["Here.", "There."], "answer": "Here."},
        {"question": "The lamp is _ .", "choice": ["here", "there"], "answer": "there"},
    ]
    dialogues = [[["M: The lamp is here.", "W: No."], questions, "1"]]

    def write(train=dialogues, dev=None):
        folder = project / "raw" / "dream"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "train.json").write_text(json.dumps(train))
        (folder / "dev.json").write_text(json.dumps(dev or [[*dialogues[0][:2], "2"]]))

    write()
    return write


def test_the_sample_from_a_seed_to_distinct_texts(kedro_run, project):
    kedro_run("ingestion", "sample")
    passages, questions = table(project, "sample", "passages"), table(project, "sample", "questions")
    assert table(project, "sample", "rejected") == []
    assert {row["task"] for row in questions} == {"options", "span", "word"}
    assert {row["split"] for row in questions} == {"train", "dev"}
    assert Counter(row["subset"] for row in questions) == {
        "dialogues": 52 * 2,
        "stories": 52 * 3,
        "tales": 3 * 2,
        "summaries": 3,
        "news": 3,
        "rows": 3 * 3 * 3,
        "middle": 1 * 3,
        "high": 2 * 3,
        "NE": 6,
        "CN": 6,
    }
    assert {len(row["options"]) for row in questions if row["task"] == "options"} == {2, 3, 4, 5}
    assert {row["passage_id"] for row in questions} == {row["passage_id"] for row in passages}

    expected = {row["text"] for row in passages}
    for row in questions:
        blank = next((gap for gap in ("_", "@placeholder") if gap in row["question"]), None)
        if row["task"] == "options" and blank:
            expected |= {row["question"].replace(blank, option) for option in row["options"]}
        else:
            expected |= {row["question"], *(row["options"] if row["task"] == "options" else [])}
    stored = texts(project, "sample")
    assert sorted(row["text"] for row in stored) == sorted(expected)
    assert all(row["text_id"] == text_id(row["text"]) for row in stored)


def test_groups_in_several_splits_are_told_and_stay_where_they_are(kedro_run, project, dream, caplog):
    with caplog.at_level(logging.INFO):
        kedro_run("ingestion", "dream")
    assert "groups of questions whose passages overlap: 1 in dev, 1 in train" in caplog.text
    assert "groups with questions in several splits, whose passages overlap: 1; nothing is moved" in caplog.text
    questions = table(project, "dream", "questions")
    assert {row["split"] for row in questions} == {"train", "dev"}
    assert len({row["group"] for row in questions}) == 1


def test_a_second_run_writes_no_raw_file_and_no_shard_again(kedro_run, project):
    kedro_run("ingestion", "sample")
    raw, primary = project / "data" / "01_raw" / "sample", project / "data" / "test" / "03_primary"
    before = written(raw) | written(primary)
    tables = table(project, "sample", "questions")
    kedro_run("ingestion", "sample")
    after = written(raw) | written(primary)
    changed = {path.name for path in after if after[path] != before.get(path)}
    assert changed <= {"written.json"}
    assert table(project, "sample", "questions") == tables


def test_a_damaged_raw_file_is_written_again(kedro_run, project):
    kedro_run("ingestion", "sample")
    path = project / "data" / "01_raw" / "sample" / "dream" / "train-0000.json"
    content = path.read_text()
    path.write_text(content[:1000])
    kedro_run("ingestion", "sample")
    assert path.read_text() == content


def test_the_sample_ignores_the_raw_folder_of_real_data(kedro_run, project, monkeypatch):
    monkeypatch.setenv("COATTEND_RAW", str(project / "elsewhere"))
    kedro_run("ingestion", "sample")
    assert table(project, "sample", "passages")
    assert not (project / "elsewhere").exists()


def test_a_real_benchmark(kedro_run, project, dream):
    kedro_run("ingestion", "dream")
    assert [row["question_id"] for row in table(project, "dream", "questions")] == ["1-1", "1-2", "2-1", "2-2"]
    kind_of_text = {row["text"]: row["kind"] for row in texts(project, "dream")}
    assert kind_of_text == {
        "M: The lamp is here.\nW: No.": "passage",
        "Where is the lamp?": "question",
        "Here.": "option",
        "There.": "option",
        "The lamp is _ .": "question",
        "here": "option",
        "there": "option",
    }


def test_bad_records_are_stored_and_reported(kedro_run, project, dream, caplog):
    good = [["M: The lamp is here."], [{"question": "?", "choice": ["a", "b"], "answer": "a"}], "3"]
    dream(train=[good, [["M: ..."], [], "4"], [*good[:2], "3"]])
    with caplog.at_level(logging.WARNING, "coattend"):
        kedro_run("ingestion", "dream")
    rejected = {(row["file"], row["record"]): row["reason"] for row in table(project, "dream", "rejected")}
    assert rejected == {
        ("train.json", "4"): "the dialogue has no words",
        ("train.json", "3-1"): "a question with this id, or these texts, came before",
    }
    (message,) = [record.message for record in caplog.records if "left out" in record.message]
    assert "2 records" in message
    assert "dream.rejected" in message
    assert "no words" in message


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "no train files"),
        (lambda path: path.write_text(path.read_text()[:-5]), "not whole JSON"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_bytes(b"\xff\xfe[]"), "not UTF-8"),
        (lambda path: path.write_text('{"data": 1}'), "instead of a list of dialogues"),
        (lambda path: path.write_text("[null]"), "no question of the split 'train' can be used"),
    ],
)
def test_a_bad_file_is_one_error_and_leaves_no_table(kedro_run, project, dream, damage, message):
    damage(project / "raw" / "dream" / "train.json")
    with pytest.raises(CoattendError, match=message) as caught:
        kedro_run("ingestion", "dream")
    assert str(project / "raw" / "dream") in str(caught.value) or "train.json" in str(caught.value)
    assert not (project / "data" / "test" / "02_intermediate").exists()


def test_files_of_other_settings_are_refused(kedro_run, project):
    kedro_run("ingestion", "sample")
    manifest = json.loads((project / "data" / "01_raw" / "sample" / "written.json").read_text())
    # The benchmark of another environment, whose sample is larger.
    benchmark = ProjectConfigLoader("conf", **CONFIG_LOADER_ARGS)["parameters"]["benchmarks"]["sample"]
    with pytest.raises(CoattendError, match=r"sample: its raw files were written with other settings.* ingestion"):
        ingest(BenchmarkParameters.model_validate(benchmark), manifest)


def test_a_wrong_setting_of_the_generator(kedro_run):
    with pytest.raises(CoattendError, match=r"generator\.dialoges"):
        kedro_run("ingestion", "sample", benchmarks={"sample": {"generator": {"dialoges": {"train": 1, "dev": 1}}}})


def test_the_stage_imports_nothing_heavy():
    code = (
        "import sys; import coattend.pipelines.ingestion.nodes, coattend.data.formats as f; f.names(); "
        "print(sorted({'torch', 'transformers', 'nltk', 'mlflow', 'sklearn'} & set(sys.modules)))"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_whole_of_dream(kedro_run, project, raw, monkeypatch):
    monkeypatch.setenv("COATTEND_RAW", str(raw))
    kedro_run("ingestion", "dream")
    counts = Counter(row["split"] for row in table(project, "dream", "questions"))
    assert (counts["train"], counts["dev"]) == (6116, 2040)
    assert table(project, "dream", "rejected") == []
