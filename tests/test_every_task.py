"""Spans in windows, words as options, and readers that are scored on a benchmark that they were not trained on."""

import csv
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from coattend.evaluation import squad
from coattend.trials import experiment

DATA = "ingestion,tagging,tokenization"
TRAINING = {
    "epochs": 1,
    "evaluations": 1,
    "max_questions": 24,
    "tokens_per_batch": 1024,
    "max_length": 64,
    "stride": 16,
}


@pytest.fixture
def add(project, monkeypatch, sample_tables):
    """Adds a benchmark that reads the sample's raw files."""
    raw = shutil.copytree(sample_tables.parent / "01_raw", project / "data" / "01_raw")
    monkeypatch.setenv("COATTEND_RAW", str(raw))

    def write(name, **fields):
        entry = {"title": name.title(), "shards": 1, "training": TRAINING} | fields
        path = project / "conf" / "base" / "parameters" / "benchmarks" / f"{name}.yml"
        path.write_text(yaml.safe_dump({"benchmarks": {name: entry}}))

    return write


@pytest.fixture
def run(project):
    """Runs pipelines with the benchmarks that a test added."""
    from kedro.framework.project import pipelines, settings
    from kedro.framework.startup import bootstrap_project

    from coattend.config import entries

    def start(stages, *namespaces):
        entries.forget()
        bootstrap_project(project)
        pipelines.configure("coattend.pipeline_registry")
        with settings.SESSION_CLASS.create(project_path=project, env="test") as session:
            session.run(pipeline_names=stages.split(","), namespaces=list(namespaces))

    return start


SQUAD = {"format": "squad", "folder": "sample/squad"}


def results(project, benchmark, reader="plain"):
    folder = project / "data/test/07_model_output" / benchmark / reader
    return json.loads((folder / "metrics.json").read_text()), folder


@pytest.mark.parametrize("reader", [pytest.param("plain", marks=pytest.mark.slow), "dcn"])
def test_spans_in_windows_and_another_benchmark(add, run, project, reader):
    """The other benchmark numbers its words otherwise; readers of words know those that they were trained on."""
    files = {"train": ["train-*.json"], "dev": ["dev-*.json"]}
    add("stories", tasks=["span"], sources=[SQUAD | {"files": files}], submission="squad")
    tests = SQUAD | {"files": {"test": ["dev-*.json"]}, "subset": "again"}
    add("shifts", tasks=["span"], sources=[tests], trained_on="stories", submission="squad")
    run(DATA, "stories", "shifts")
    run("training", f"stories.{reader}")
    run("evaluation,submission", f"stories.{reader}", f"shifts.{reader}")

    stories, folder = results(project, "stories", reader)
    shifts, elsewhere = results(project, "shifts", reader)
    assert (stories["benchmark"], shifts["benchmark"]) == ("stories", "shifts")
    assert stories["trials"][0]["trial_id"] == shifts["trials"][0]["trial_id"]
    for metric in ("exact", "f1"):
        assert shifts["splits"]["test"]["again"][metric]["mean"] == stories["splits"]["dev"]["all"][metric]["mean"]

    answers = json.loads((folder / "submission" / "dev-seed0.json").read_text())
    assert answers == json.loads((elsewhere / "submission" / "again-test-seed0.json").read_text())
    dataset = [
        article
        for path in (project / "data/01_raw/sample/squad").glob("dev-*.json")
        for article in json.loads(path.read_text())["data"]
    ]
    official = squad.score(answers, dataset, version="v2.0")
    assert official["total"] == stories["splits"]["dev"]["all"]["questions"]
    assert official["f1"] == pytest.approx(stories["splits"]["dev"]["all"]["f1"]["mean"])
    assert official["exact"] == pytest.approx(stories["splits"]["dev"]["all"]["exact"]["mean"])
    passages = pq.read_table(project / "data/test/02_intermediate/stories/passages.parquet").to_pylist()
    rows = pq.read_table(folder / "predictions.parquet").to_pylist()
    again = {row["question_id"]: row for row in pq.read_table(elsewhere / "predictions.parquet").to_pylist()}
    assert len({row["null_score"] for row in rows}) > len(rows) / 2
    for row in rows:
        assert any(row["prediction"] in passage["text"] for passage in passages)
        same = again[row["question_id"]]
        assert (same["start"], same["end"]) == (row["start"], row["end"])
        assert same["null_score"] == pytest.approx(row["null_score"], abs=1e-6)
    words = [pq.read_table(project / f"data/test/04_feature/{name}/nltk_penn/tags") for name in ("stories", "shifts")]
    lexicons = [list(dict.fromkeys(table.column("words").combine_chunks().flatten().to_pylist())) for table in words]
    assert lexicons[0] != lexicons[1], "words have the same numbers in both: the test shows nothing"


PLACES = ("in the hall", "in the attic", "at sea", "at home", "in the shed")


def own_rows(split, numbers):
    """Rows with two, three and five options, and for each a span."""
    for number in numbers:
        right, count = PLACES[number % 2], (2, 3, 5)[number % 3]
        passage = f"Ann left the lamp for {number} days. Then the lamp stood {right} , and Bob slept."
        shared = {"passage": passage, "id": f"{split}{number}", "question": "Where is the lamp?"}
        yield shared | {"options": list(PLACES[:count]), "answer": right}, shared | {"answer": right, "start": None}


def write_own(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        cells = [row | {f"option_{n}": option for n, option in enumerate(row.pop("options", []), 1)} for row in rows]
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list({name: None for row in cells for name in row}))
            writer.writeheader()
            writer.writerows(cells)


@pytest.mark.slow
@pytest.mark.parametrize("suffixes", [("csv", "parquet", "jsonl"), ("parquet", "jsonl", "csv")])
def test_own_questions_in_files_of_every_kind_go_through_every_stage(add, run, project, suffixes):
    numbers = {"train": range(30), "dev": range(40, 46), "test": range(50, 56)}
    files = {split: [f"{split}.{suffix}"] for split, suffix in zip(numbers, suffixes, strict=True)}
    for index, task in enumerate(("options", "span")):
        for split, (name,) in files.items():
            rows = [row[index] for row in own_rows(split, numbers[split])]
            write_own(project / "data/01_raw" / task / name, rows)
        add(f"own_{task}", tasks=[task], sources=[{"format": "custom", "folder": task, "files": files}])
    run(DATA, "own_options", "own_span")
    run("training,evaluation", "own_options.plain", "own_span.plain")
    metrics, folder = results(project, "own_options")
    assert {split: groups["all"]["questions"] for split, groups in metrics["splits"].items()} == {"dev": 6, "test": 6}
    rows = pq.read_table(folder / "predictions.parquet").to_pylist()
    assert sorted(len(row["scores"]) for row in rows) == [2] * 4 + [3] * 4 + [5] * 4
    assert all(row["prediction"] == PLACES[row["label"]] for row in rows)
    metrics, folder = results(project, "own_span")
    assert {split: groups["all"]["questions"] for split, groups in metrics["splits"].items()} == {"dev": 6, "test": 6}
    passages = pq.read_table(project / "data/test/02_intermediate/own_span/passages.parquet")["text"].to_pylist()
    spans = pq.read_table(folder / "predictions.parquet")["prediction"].to_pylist()
    assert len(spans) == 12
    assert all(any(span in passage for passage in passages) for span in spans)


def test_training_on_another_benchmark_is_not_offered(add, run):
    add("stories", tasks=["span"], sources=[SQUAD | {"files": {"train": ["train-*.json"]}}])
    add("shifts", tasks=["span"], sources=[SQUAD | {"files": {"test": ["dev-*.json"]}}], trained_on="stories")
    with pytest.raises(ValueError, match=r"'shifts.plain'"):
        run("training", "shifts.plain")


def test_words_as_options_are_ranked_again(add, run, project):
    files = {"train": ["cbtest_*_train-*.txt"], "dev": ["cbtest_*_valid-*.txt"]}
    source = {"format": "cbt", "folder": "sample/cbt", "files": files}
    training = TRAINING | {"max_length": 128, "held_out": 0.2}
    add("gaps", tasks=["word"], sources=[source], words_as_options=True, training=training)
    run(DATA, "gaps")
    run("training,evaluation", "gaps.plain")
    run("reporting", "gaps")
    summary, folder = results(project, "gaps")
    assert summary["task"] == "word"
    assert set(summary["splits"]["dev"]) == {"all", "NE", "CN"}
    questions = pq.read_table(project / "data/test/02_intermediate/gaps/questions.parquet").to_pylist()
    candidates = {row["question_id"]: row["options"] for row in questions}
    rows = pq.read_table(folder / "predictions.parquet").to_pylist()
    assert rows
    assert all(row["prediction"] == candidates[row["question_id"]][row["label"]] for row in rows)
    texts = pq.read_table(project / "data/test/03_primary/gaps/texts").to_pylist()
    filled = {row["text"] for row in texts if row["kind"] == "filled"}
    question = questions[0]
    assert {question["question"].replace("_", option) for option in question["options"]} <= filled
    run("trials")
    (listed,) = csv.DictReader((project / "data/test/08_reporting/trials.csv").open())
    score = summary["splits"]["dev"]["all"]["accuracy"]["mean"]
    assert (listed["metric"], float(listed["score"])) == ("dev.accuracy", pytest.approx(score, abs=0.06))

    run("reranking", "gaps.plain")
    again = pq.read_table(folder / "reranked.parquet").to_pylist()
    assert [row["question_id"] for row in again] == [row["question_id"] for row in rows]
    assert [row["scores"] for row in again] != [row["scores"] for row in rows]
    for before, after in zip(rows, again, strict=True):
        best = sorted(range(len(before["scores"])), key=lambda k: -before["scores"][k])[:5]
        assert after["label"] in best
    changed = json.loads((folder / "reranking.json").read_text())
    for group, metrics in summary["splits"]["dev"].items():
        (seed,) = changed["splits"]["dev"][group]["seeds"].values()
        assert seed["before"] == pytest.approx(metrics["accuracy"]["mean"])
        assert seed["before"] <= seed["right_among_n_best"]
        assert seed["after"] <= seed["right_among_n_best"]
    assert {part["subset"] for part in changed["weights"]} == {"NE", "CN"}


ODD = {
    "right to left": "قال إن الكتاب في البيت.",
    "combining": "Le cafe\u0301 e\u0301tait ferme\u0301 hier soir.",
    "emoji": "She said 👩\u200d👩\u200d👧 and 🇩🇪 came 😀 to the party.",
    "control": "One\u0001two\u0007three\tfour\u000bfive six.",
    "lines": "First line.\r\nSecond line.\u2028Third line.",
    "wide": "彼は東京へ行った。𝒳 is a letter.",
    "spaces": "\u00a0 A \u3000 wide \u200b space. ",
}


def test_odd_texts_go_through_whole(add, run, project, monkeypatch):
    """Offsets are code points from the raw file to the prediction; half a surrogate is listed, and the rest goes on.

    The benchmark may have options too, as one's own may: readers answer what its questions ask for.
    """
    monkeypatch.setattr(experiment, "MOST_UNKNOWN", 1.0)  # Odd characters are those that an encoder does not know.
    folder = project / "data" / "01_raw" / "odd"
    folder.mkdir()
    rows = []
    for number in range(6):
        for name, text in ODD.items():
            passage = f"{text} {number}"
            word = max(passage.split(), key=len)
            answers = [{"text": word, "start": passage.index(word)}]
            rows.append({"id": f"{name}-{number}", "passage": passage, "question": f"{text}?", "answers": answers})
    rows.append({"id": "half", "passage": "a \ud800 b", "question": "What?", "answers": [{"text": "a", "start": 0}]})
    rows.append({"id": "past", "passage": "a b", "question": "What?", "answers": [{"text": "b", "start": 99}]})
    rows.append({"id": "twice", "passage": "b a b", "question": "What?", "answers": [{"text": "b", "start": 99}]})
    for split in ("train", "dev"):
        lines = [json.dumps(row | {"id": f"{split}-{row['id']}"}) + "\n" for row in rows]
        (folder / f"{split}.jsonl").write_text("".join(lines))
    source = {"format": "custom", "folder": "odd", "files": {split: [f"{split}.jsonl"] for split in ("train", "dev")}}
    add("odd", tasks=["options", "span"], sources=[source], training=TRAINING | {"held_out": 0.2})
    run(DATA, "odd")
    run("training,evaluation", "odd.plain")
    tables = project / "data/test/02_intermediate/odd"
    passages = {row["passage_id"]: row["text"] for row in pq.read_table(tables / "passages.parquet").to_pylist()}
    questions = {row["question_id"]: row for row in pq.read_table(tables / "questions.parquet").to_pylist()}
    assert len(questions) == 2 * (len(rows) - 2)
    rejected = [row["record"] for row in pq.read_table(tables / "rejected.parquet").to_pylist()]
    assert len(rejected) == 4
    for question in questions.values():
        (answer,) = question["answers"]
        assert passages[question["passage_id"]][answer["start"] :].startswith(answer["text"])
    _, results_folder = results(project, "odd")
    predictions = pq.read_table(results_folder / "predictions.parquet").to_pylist()
    assert len(predictions) == len(rows) - 2
    for row in predictions:
        text = passages[questions[row["question_id"]]["passage_id"]]
        assert row["prediction"] == text[row["start"] : row["end"]]


def test_a_recam_submission_numbers_questions_as_its_file(add, run, project):
    folder = project / "data" / "01_raw" / "recam"
    folder.mkdir()
    rows = [
        {
            "article": f"The lamp {n} is in the hall.",
            "question": f"The lamp {n} is in the @placeholder .",
            "label": n % 5,
        }
        | {f"option_{k}": word for k, word in enumerate(("hall", "attic", "garden", "sea", "sky"))}
        for n in range(30)
    ]
    for name, file_rows in (
        ("Task_1_Imperceptibility", rows[:22]),
        ("Task_1_dev", rows[20:]),
        ("Task_2_dev", rows[:3]),
    ):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in file_rows))
    (folder / "Task_2_Nonspecificity.jsonl").write_text(json.dumps(rows[9]) + "\n")
    run(DATA, "recam")
    questions = pq.read_table(project / "data/test/02_intermediate/recam/questions.parquet").to_pylist()
    counts = {(row["subset"], row["split"]) for row in questions}
    assert counts == {("task 1", "train"), ("task 1", "dev"), ("task 2", "dev")}
    assert sum(row["split"] == "train" for row in questions) == 17  # Five are asked in dev, one came twice.
    texts = pq.read_table(project / "data/test/03_primary/recam/texts").to_pylist()
    assert "The lamp 3 is in the attic ." in {row["text"] for row in texts if row["kind"] == "filled"}
    run("training,evaluation,submission", "recam.plain")
    _, folder = results(project, "recam")
    with (folder / "submission" / "task_1-dev-seed0.csv").open() as file:
        written = list(csv.DictReader(file))
    dev_ids = [row["question_id"] for row in questions if (row["subset"], row["split"]) == ("task 1", "dev")]
    labels = {row["question_id"]: row["label"] for row in pq.read_table(folder / "predictions.parquet").to_pylist()}
    assert [(int(row["id"]), int(row["label"])) for row in written] == [(n, labels[q]) for n, q in enumerate(dev_ids)]
