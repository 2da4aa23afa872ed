"""From finished trials to the attention table and its page, on the tiny sample; what cannot be is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from coattend.config import AttentionParameters
from coattend.config.entries import benchmark_entry
from coattend.errors import CoattendError
from coattend.inference.attention_report import explain_trials
from coattend.io.atomic import write_with_checksum
from coattend.io.table_store import StoredTables

ROOT = Path(__file__).parents[2]
READERS = ("poi_net", "plain", "plain_span", "aoa_reader")


@pytest.fixture(scope="module")
def trained(shared_project, run_shared):
    """A project with four trained readers, and how to run in it."""
    # In float32, like the maps: bf16 may decide a near tie otherwise.
    exact = {"sample": {"training": {"precision": "fp32"}}}
    run_shared("training", ",".join(f"sample.{name}" for name in READERS), benchmarks=exact)
    return shared_project, run_shared


@pytest.fixture(scope="module")
def trials(trained):
    """The trial of each reader."""
    trial_ids = {}
    for file in (trained[0] / "data/test/06_models/trials").glob("*/trial.json"):
        content = json.loads(file.read_text())
        trial_ids[f"{content['reader']}{'_span' if content['head'] == 'span' else ''}"] = content["trial_id"]
    return trial_ids


def written(project):
    folder = project / "data/test/08_reporting/attention"
    page = (folder / "index.html").read_text()
    return pq.read_table(folder / "maps.parquet"), json.loads((folder / "readings.json").read_text()), page


@pytest.mark.slow
def test_two_readers_side_by_side(trained, trials):
    project, run = trained
    run(
        "attention",
        attention={"left": trials["poi_net"][:9], "right": trials["plain"], "questions": 4, "occlusion": True},
    )
    maps, summary, page = written(project)
    assert [reader["reader"] for reader in summary["readers"]] == ["poi_net", "plain"]
    assert len(summary["questions"]) == 4
    differ = [len({reading["prediction"] for reading in question["readings"]}) for question in summary["questions"]]
    assert differ == sorted(differ, reverse=True)
    assert all(question["split"] == "dev" for question in summary["questions"])
    assert set(maps.column("trial_id").to_pylist()) == {trials["poi_net"], trials["plain"]}
    left, right = (
        maps.filter(np.array(maps.column("trial_id").to_pylist()) == trials[name]) for name in ("poi_net", "plain")
    )
    names = {"passage_scores", "question_scores", "passage_attention", "question_attention", "occlusion"}
    assert set(left.column("map").to_pylist()) == names
    assert set(right.column("map").to_pylist()) == {"occlusion"}
    for question in summary["questions"]:
        reading = question["readings"][0]
        assert sum(reading["probabilities"]) == pytest.approx(1, abs=1e-5)
        assert reading["probabilities"].index(max(reading["probabilities"])) == reading["label"] == reading["sequence"]
        assert len(reading["agreement"]["passage_scores"]) == 3
    turns = summary["readers"][0]["agreement"]["passage_scores"]
    assert all(-1 <= turn["mean"] <= 1 and turn["questions"] <= 4 for turn in turns if turn["mean"] is not None)
    for row in left.to_pylist():
        if row["map"] == "passage_scores":
            assert len(row["values"]) == 3
            assert all(0 <= value <= 1 for value in row["values"])
        if row["domain"] == "passage" and row["start"] is not None:
            passage = next(
                question["passage"]
                for question in summary["questions"]
                if question["question_id"] == row["question_id"]
            )
            assert passage[row["start"] : row["end"]] == row["text"]
    assert trials["plain"] in page
    assert "Attention and occlusion" in page


@pytest.mark.slow
def test_questions_by_id_and_the_probabilities_of_spans(trained, trials):
    project, run = trained
    run("attention", attention={"left": trials["plain_span"], "questions": 2})
    first = written(project)[1]
    names = [question["question_id"] for question in first["questions"]]
    run("attention", attention={"left": trials["plain_span"], "ids": "+".join(names[::-1])})
    maps, summary, _ = written(project)
    assert [question["question_id"] for question in summary["questions"]] == names[::-1]
    by_name = {question["question_id"]: question["readings"] for question in first["questions"]}
    assert all(by_name[question["question_id"]] == question["readings"] for question in summary["questions"])
    assert set(maps.column("map").to_pylist()) == {"start", "end"}
    sums = maps.group_by(["question_id", "sequence", "map"]).aggregate([])
    for key in sums.to_pylist():
        values = [
            row["values"][0] for row in maps.to_pylist() if all(row[column] == value for column, value in key.items())
        ]
        assert sum(values) == pytest.approx(1, abs=1e-5)
    for (reading,) in by_name.values():
        assert 0 <= reading["probability"] <= 1
        assert reading["spans"][0]["probability"] >= 0
        assert reading["agreement"] == {}


@pytest.fixture(scope="module")
def ask(trained):
    """Looks at questions without a pipeline around it."""
    project, _ = trained
    paths = yaml.safe_load((ROOT / "conf/base/catalog.yml").read_text())["stored_tables"]["paths"]
    store, tables = project / "data/test/06_models/trials", StoredTables(project / "data/test", paths)
    benchmarks = {"sample": benchmark_entry("sample") | {"name": "sample"}}
    return lambda **parameters: explain_trials(AttentionParameters(**parameters), benchmarks, store, tables)


@pytest.mark.slow
def test_words_are_looked_at_and_hidden_too(ask, trials):
    maps, summary = ask(left=trials["aoa_reader"], questions=2, occlusion=True)
    assert set(maps.column("map").to_pylist()) == {"matching", "question_worth", "token_mass", "occlusion"}
    for question in summary["questions"]:
        assert sum(question["readings"][0]["probabilities"]) == pytest.approx(1, abs=1e-5)
        assert question["readings"][0]["agreement"].keys() == {"matching", "token_mass"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "attention.left.*names no trial"),
        ({"left": "zzzz"}, "there is no trial 'zzzz'.*Finished trials"),
        ({"left": ""}, "attention.left.*names no trial"),
        ({"left": "poi_net", "right": "poi_net"}, "attention.right.*once more"),
        ({"left": "poi_net", "right": "plain_span"}, "different questions.*options.*span"),
        ({"left": "poi_net", "ids": "dialogue-dev-0-11111"}, "no question 'dialogue-dev-0-11111'.*Did you mean"),
        ({"left": "poi_net", "split": "dew"}, "attention.split.*no split 'dew'.*Did you mean 'dev'"),
        ({"left": "poi_net", "tagging": "nltk_extended"}, "no tokens of sample.*kedro run .*--namespaces sample; or"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(ask, trials, parameters, message):
    resolved = {key: trials.get(value, value) for key, value in parameters.items()}
    with pytest.raises(CoattendError, match=message):
        ask(**resolved)


@pytest.mark.slow
def test_trials_of_two_benchmarks_or_without_an_end_are_refused(ask, trials, trained):
    store = trained[0] / "data/test/06_models/trials"
    for name, change in (("aaaa-dream", {"benchmark": "dream"}), ("bbbb-open", {})):
        shutil.copytree(store / trials["plain"], store / name)
        content = json.loads((store / name / "trial.json").read_text()) | change | {"trial_id": name}
        with write_with_checksum(store / name / "trial.json") as file:
            file.write_text(json.dumps(content))
    (store / "bbbb-open" / "outcome.json").unlink()
    try:
        with pytest.raises(CoattendError, match="two benchmarks: sample and dream"):
            ask(left=trials["plain"], right="aaaa-dream")
        with pytest.raises(CoattendError, match="'bbbb' is not finished"):
            ask(left="bbbb")
    finally:
        for name in ("aaaa-dream", "bbbb-open"):
            shutil.rmtree(store / name)


@pytest.mark.slow
def test_a_trial_reads_the_tags_that_its_run_spec_names(ask, trials, trained):
    tokens = trained[0] / "data/test/05_model_input/sample"
    shutil.copytree(tokens / "nltk_penn", tokens / "copied")
    try:
        for tagging in (None, "nltk_penn", "copied"):
            assert ask(left=trials["plain"], questions=1, tagging=tagging)[1]["questions"]
    finally:
        shutil.rmtree(tokens / "copied")


def test_an_id_that_reads_like_a_number_is_told():
    with pytest.raises(ValueError, match="was read as a number"):
        AttentionParameters(left=12e5)
    assert AttentionParameters(left=1234).left == "1234"


def test_stored_tables_lie_where_the_catalog_has_them():
    entries = {}
    for file in sorted(Path(ROOT, "conf/base").glob("catalog*.yml")):
        entries |= yaml.safe_load(file.read_text())
    names = {"questions": "{benchmark}.questions", "passages": "{benchmark}.passages"}
    names |= {"problems": "{benchmark}.problems", "tags": "{benchmark}.{tagging}.tags"}
    names["tokens"] = "{benchmark}.{tagging}.{tokenizer}.tokens"
    stored = entries["stored_tables"]
    for table, path in stored["paths"].items():
        assert f"{stored['filepath']}/{path}" == entries[names[table]]["filepath"]
