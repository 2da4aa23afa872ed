"""A study from its file to its table: what is trained, what is shared, what fails, what is done again."""

import csv
import json
import shutil

import plotly.io
import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient

from coattend.errors import CoattendError
from coattend.reports.study.page import recorded_page
from coattend.reports.study.trial_records import read_records, recorded_findings

STUDY = """\
paper: { title: Turns, authors: [A. Nobody], year: 2022, venue: none, key: nobody2022 }
studies:
  turns:
    title: Whether turns matter
    source: Turns, table 1
    benchmarks: [sample]
    seeds: [0, 1]
    base: { reader: poi_net, head: options }
    baseline: plain
    variants:
      plain: { title: Baseline, change: { reader: plain } }
      poi_net: { title: POI-Net }
    printed:
      - { encoder: ALBERT-base, numbers: { poi_net: { sample: { dev: 68.6 } } } }
    cited:
      - { name: BERT, source: someone, numbers: { sample: { dev: 3.0 } } }
    notes: [What to know.]
"""
OTHER = STUDY.partition("studies:\n")[2].replace("  turns:", "  other:")
BROKEN = "      broken: { title: Broken, change: { training: { learning_rate: 1.0e+30 } } }\n"
TOO_LONG = "      long: { title: Too long, change: { training: { max_length: 100000 } } }\n"
ONE_BY_ONE = {"processes": 1}
TAGS = {"benchmark", "reader", "variant", "study", "seed", "trial_id", "data_hash"}
"""What a trial of a study is found by."""


def results_in(folder):
    return json.loads((folder / "findings.json").read_text())


def training_answers(folder, questions):
    """Rows that each trial predicted for training questions, by its id."""
    training = {row["question_id"] for row in questions if row["split"] == "train"}
    rows = {}
    for file in sorted(folder.parents[2].glob("06_models/trials/*/predictions-*.parquet")):
        rows.setdefault(file.parent.name, []).extend(
            row for row in pq.read_table(file).to_pylist() if row["question_id"] in training
        )
    return rows


def trial_files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.parents[2].glob("06_models/trials/*/outcome.json")}


def test_a_study_trains_what_is_missing_and_prints_measured_beside_printed(study, kedro_run, project):
    timed = "    shows: [time_to_score]\n    thresholds: { sample: 0.1 }\n    seeds: [0, 1]"
    folder = study(STUDY.replace("    seeds: [0, 1]", timed) + OTHER)
    kedro_run("study_mine_turns")
    results = results_in(folder)
    rows = [row for row in results["rows"] if row["group"] == "all"]
    assert {row["variant"]: row["trials"] for row in rows} == {"plain": 2, "poi_net": 2}
    poi_net = next(row for row in rows if row["variant"] == "poi_net")
    assert poi_net["printed"] == [{"encoder": "ALBERT-base", "ensemble": False, "value": 68.6}]
    assert poi_net["difference"] == pytest.approx(poi_net["mean"] - rows[0]["mean"])
    assert [seed_score["seed"] for seed_score in poi_net["by_seed"]] == [0, 1]
    page = (folder / "table.md").read_text()
    assert "68.6" in page
    assert "BERT" in page.partition("Only cited")[2]
    assert "BERT |" not in page.partition("Only cited")[0]
    with (folder / "table.csv").open() as file:
        assert {row["variant"] for row in csv.DictReader(file)} == {"plain", "poi_net"}
    assert "\\begin{tabular}" in (folder / "table.tex").read_text()

    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("study_mine_turns").experiment_id
    children = client.search_runs([experiment], "tags.kind = 'trial'")
    seeds = {(run.data.tags["reader"], run.data.tags["seed"]): run.data.metrics["dev.accuracy"] for run in children}
    assert seeds == {(row["variant"], seed): score for row in rows for seed, score in row["seeds"].items()}
    assert {(run.data.tags.get("study"), *TAGS - run.data.tags.keys()) for run in children} == {("mine_turns",)}
    curve = results["trials"]["sample"]["poi_net"][0]["curve"]
    losses = [point["held_out_loss"] for point in curve if point["held_out"] is not None]
    assert losses
    assert all(0 < loss < 10 for loss in losses)
    run = next(run for run in children if (run.data.tags["reader"], run.data.tags["seed"]) == ("poi_net", "0"))
    assert [point.value for point in client.get_metric_history(run.info.run_id, "held_out_loss")] == losses
    (parent,) = client.search_runs([experiment], "tags.kind = 'kedro run' and tags.study = 'mine_turns'")
    assert parent.data.metrics["sample.poi_net.dev.accuracy"] == pytest.approx(poi_net["mean"])
    attached = {file.path for file in client.list_artifacts(parent.info.run_id, "results")}
    pages = {"index.html", "table.md", "table.csv", "table.tex"}
    assert attached == {f"results/{name}" for name in (*pages, "chart.json", "figures")}
    figures = {file.path for file in client.list_artifacts(parent.info.run_id, "results/figures")}
    assert figures == {f"results/figures/{file.name}" for file in (folder / "figures").glob("*.json")}
    assert "results/figures/risk_against_coverage_sample.json" in figures
    chart = plotly.io.from_json((folder / "chart.json").read_text())
    assert poi_net["mean"] in [score for trace in chart.data for score in trace.x]

    # No trial is asked what it learned from unless a study shows it.
    questions = pq.read_table(project / "data/test/02_intermediate/sample/questions.parquet").to_pylist()
    learned = training_answers(folder, questions)
    assert len(learned) == 4
    assert not any(learned.values())
    before = trial_files(folder)
    kedro_run("study_mine_turns", study=ONE_BY_ONE)
    assert trial_files(folder) == before
    assert results_in(folder)["rows"] == results["rows"]

    (folder.parents[1] / "results.html").unlink(missing_ok=True)
    kedro_run("results")
    kedro_run("leaderboard")
    for name in ("results.html", "results.md"):
        page = (folder.parents[1] / name).read_text()
        assert "1 of 2 studies were run." in page
        assert "mine_other" in page.partition("Not run")[2]
        assert "Whether turns matter" in page

    # What version control keeps is enough for the scores, the tests and the page, and has no text of a question.
    shutil.rmtree(project / "data/test/06_models/trials")
    published = project / "data/test/08_reporting/published"
    records = read_records(published / "records/mine_turns")
    rebuilt = recorded_findings(records)
    assert rebuilt["rows"] == results["rows"]
    page = (published / "mine_turns.md").read_text()
    assert recorded_page(recorded_findings(records)) == page
    assert "| POI-Net |" in page and "68.6" in page and "Time to a score on sample" in page
    (ranked, *_) = rows = json.loads((published / "records/leaderboard.json").read_text())
    assert {row["variant"] for row in rows} == {"plain", "poi_net"}
    assert set(ranked["seconds"]) == {"0", "1"} and ranked["peak_memory_mib"] > 0
    assert "to 0.1 % of the held-out questions" in (published / "leaderboard.md").read_text()
    kept = "".join(file.read_text() for file in (published / "records/mine_turns").iterdir())
    asked = [row for row in questions if row["split"] != "train"]
    assert not [row["question"] for row in asked if row["question"] in kept]


SHOWN = "[parameters, seconds_per_epoch, curve, ensemble, by_question_type, by_answer_pos, boundary_pos"
SHOWN += ", predictions, attention, peak_memory, training_score, average]"
TITLES = (
    "What variants cost",
    "Averages over splits",
    "Training on sample",
    "By question word",
    "By part of speech",
    "Ensembles",
    "Words at",
)


@pytest.mark.slow
def test_a_study_shows_what_it_is_asked_to_beside_its_scores(study, kedro_run, project, monkeypatch):
    monkeypatch.setattr("coattend.training.study_variant.TRAINING_SAMPLE", 5)
    text = STUDY.replace("head: options", "head: span").replace("{ reader: plain }", "{ reader: plain, head: span }")
    printed = "        - { benchmark: sample, question: no such question }"
    folder = study(text.replace("    printed:", f"    shows: {SHOWN}\n    examples:\n{printed}\n    printed:"))
    kedro_run("ingestion", "sample")
    questions = pq.read_table(project / "data/test/02_intermediate/sample/questions.parquet").to_pylist()
    example = next(row for row in questions if row["task"] == "span" and row["split"] == "dev")
    kedro_run("study_mine_turns", study=ONE_BY_ONE | {"question": example["question_id"]}, attention={"questions": 2})
    page = (folder / "index.html").read_text()
    for title in TITLES:
        assert title in page
    assert "“no such question” is not among the questions of sample." in page
    assert '<a href="sample_attention.html">sample: Baseline beside POI-Net</a>' in page
    looked_at = (folder / "sample_attention.html").read_text()
    trial_ids = [trials[0]["trial_id"] for trials in results_in(folder)["trials"]["sample"].values()]
    assert all(trial in looked_at for trial in trial_ids)
    assert "POI-Net (poi_net)" in looked_at
    assert "Attention and occlusion" in looked_at
    assert "Attention is no explanation" in page
    agreed = json.loads((folder / "sample_attention.json").read_text())["readers"][1]["agreement"]
    assert {level["questions"] for level in agreed["passage_scores"]} <= {0, 1, 2}
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("study_mine_turns").experiment_id
    (parent,) = client.search_runs([experiment], "tags.kind = 'kedro run' and tags.study = 'mine_turns'")
    attached = {file.path for file in client.list_artifacts(parent.info.run_id, "results")}
    assert "results/sample_attention.html" in attached
    maps = pq.read_table(folder / "sample_attention.parquet", columns=["trial_id", "map"]).to_pylist()
    names = {row["map"] for row in maps if row["trial_id"] == trial_ids[1]}
    assert {"start", "end", "passage_scores", "occlusion"} <= names
    analyses = json.loads((folder / "sample_analyses.json").read_text())
    missing, answered = analyses["predictions"]
    assert missing["missing"]
    assert answered["gold"] == [answer["text"] for answer in example["answers"]]
    assert set(answered["answers"]["poi_net"]) == {"0", "1"}
    asked_of = [row for row in questions if row["task"] == "span" and row["split"] == "dev" and row["answers"]]
    assert sum(analyses["boundary_pos"]["plain"]["gold"].values()) == 2 * len(asked_of)
    learned = training_answers(folder, questions)
    for trial in (trial for trials in results_in(folder)["trials"]["sample"].values() for trial in trials):
        scores = [row["f1"] for row in learned[trial["trial_id"]]]
        assert len(scores) == trial["training_sample"] == 5
        assert trial["training_score"] == pytest.approx(sum(scores) / 5)
    rows = pq.read_table(folder / "sample_breakdowns.parquet").to_pylist()
    leading = [row for row in results_in(folder)["rows"] if (row["group"], row["metric"]) == ("all", "f1")]
    scores = {row["variant"]: row["mean"] for row in leading}
    for variant, score in scores.items():
        for breakdown in ("by_question_type", "by_answer_pos"):
            key = {"variant": variant, "breakdown": breakdown, "metric": "f1"}
            groups = [row for row in rows if key.items() <= row.items()]
            total = sum(row["questions"] for row in groups)
            assert sum(row["mean"] * row["questions"] for row in groups) / total == pytest.approx(score)


def test_a_trial_that_fails_does_not_stop_the_others_and_is_tried_again(study, kedro_run):
    one_seed = STUDY.replace("[0, 1]", "[0]")
    folder = study(one_seed.replace("    printed:", f"{BROKEN}    printed:"))
    with pytest.raises(CoattendError, match="broken on sample, seed 0"):
        kedro_run("study_mine_turns", study=ONE_BY_ONE)
    results = results_in(folder)
    assert {failure["variant"] for failure in results["failures"]} == {"broken"}
    assert {row["variant"] for row in results["rows"]} == {"plain", "poi_net"}
    assert "Failed" in (folder / "table.md").read_text()

    before = trial_files(folder)
    study(one_seed.replace("    printed:", f"{BROKEN.replace('1.0e+30', '1.0e-4')}    printed:"))
    kedro_run("study_mine_turns", study=ONE_BY_ONE)
    after = trial_files(folder)
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1
    assert not results_in(folder)["failures"]


@pytest.mark.slow
def test_a_variant_that_cannot_be_built_or_asked_leaves_the_others_alone(study, kedro_run):
    folder = study(STUDY.replace("    printed:", f"{TOO_LONG}    printed:").replace("[0, 1]", "[0]"))
    with pytest.raises(CoattendError, match=r"1 trials failed .long on sample, seed 0: .*is 100000"):
        kedro_run("study_mine_turns", study=ONE_BY_ONE)
    costs = json.loads((folder / "costs.json").read_text())["costs"]["sample"]
    assert costs["long"]["known_from"].startswith("cannot be timed: CoattendError: training.max_length")
    assert costs["long"]["seconds"] == 0 < costs["plain"]["seconds"]
    assert {row["variant"] for row in results_in(folder)["rows"]} == {"plain", "poi_net"}

    # What one answered is lost, and cannot be kept again.
    (trained,) = results_in(folder)["trials"]["sample"]["poi_net"]
    (answers,) = (folder.parents[2] / "06_models/trials" / trained["trial_id"]).glob("predictions-*.parquet")
    answers.unlink()
    answers.mkdir()
    failed = r"2 trials failed .poi_net on sample, seed 0: cannot be asked: .*long on sample, seed 0: "
    with pytest.raises(CoattendError, match=failed):
        kedro_run("study_mine_turns", study=ONE_BY_ONE)
    assert {row["variant"] for row in results_in(folder)["rows"]} == {"plain"}


@pytest.mark.slow
def test_a_file_of_vectors_that_is_not_there_is_missed_by_its_own_variant(study, kedro_run):
    words = "{ reader: recurrent+gated, head: options, vectors: file, vectors_file: none.txt }"
    text = STUDY.replace("{ title: POI-Net }", f"{{ title: Words, change: {words} }}")
    folder = study(text.replace("[0, 1]", "[0]"))
    failed = r"1 trials failed .poi_net on sample, seed 0: .*vectors_file none\.txt: cannot be read .No such file"
    with pytest.raises(CoattendError, match=failed):
        kedro_run("study_mine_turns", study=ONE_BY_ONE)
    assert {row["variant"] for row in results_in(folder)["rows"]} == {"plain"}


@pytest.mark.slow
def test_a_budget_leaves_out_variants_by_name_and_never_the_baseline(study, kedro_run):
    folder = study(STUDY.replace("[0, 1]", "[0]").replace("    printed:", "    budget_hours: 0.000001\n    printed:"))
    kedro_run("study_mine_turns", study=ONE_BY_ONE)
    assert json.loads((folder / "costs.json").read_text())["left_out"] == ["poi_net"]
    assert {row["variant"] for row in results_in(folder)["rows"]} == {"plain"}
    assert "POI-Net" in (folder / "table.md").read_text().partition("Left out")[2]


@pytest.mark.slow
def test_a_frozen_study_trains_interaction_and_head_alone(study, kedro_run):
    from safetensors.torch import load_file

    frozen = "    protocol: frozen\n    options: { tag_embedding: false }\n"
    folder = study(STUDY.replace("    seeds:", f"{frozen}    seeds:"))
    kedro_run("study_mine_turns", study=ONE_BY_ONE)
    results = results_in(folder)
    weights = [
        load_file(folder.parents[2] / "06_models/trials" / trial["trial_id"] / "model/model.safetensors")
        for trial in results["trials"]["sample"]["plain"]
    ]
    same = {name for name in weights[0] if weights[0][name].equal(weights[1][name])}
    assert {name for name in weights[0] if name.startswith("encoder.model.")} <= same
    assert any(name not in same for name in weights[0])
    assert list(folder.parents[2].glob("06_models/encoder_outputs/*.npy"))


@pytest.mark.slow
def test_a_variant_is_trained_on_two_benchmarks_and_another_begins_with_it(study, kedro_run, custom_questions):
    mixture = "{ train_on: { sample: [], custom: [] }, max_questions: 8 }"
    variants = f"      both: {{ title: Both, change: {{ training: {mixture} }} }}\n"
    variants += "      fine: { title: Fine, change: { training: { start_from: both } } }\n"
    variants += "      taught: { title: Taught, change: { training: { distillation: { teacher: both } } } }\n"
    folder = study(STUDY.replace("    printed:", f"{variants}    printed:").replace("[0, 1]", "[0]"))
    kedro_run("study_mine_turns", study=ONE_BY_ONE)
    assert {row["variant"] for row in results_in(folder)["rows"]} == {"plain", "poi_net", "both", "fine", "taught"}
    (coarse,), (fine,), (taught,), (alone,) = (
        results_in(folder)["trials"]["sample"][name] for name in ("both", "fine", "taught", "poi_net")
    )
    assert coarse["questions"] == 16
    trial = json.loads((folder.parents[2] / "06_models/trials" / fine["trial_id"] / "trial.json").read_text())
    assert trial["training"]["start_from"] == coarse["trial_id"]
    assert taught["training"]["distillation"] == {"teacher": coarse["trial_id"], "weight": 0.5}
    assert len({trial["trial_id"] for trial in (fine, taught, alone)}) == 3
    # Each can be asked other questions, too.
    for variant_trial in (coarse, fine, taught, alone):
        spec = json.loads(
            (folder.parents[2] / "06_models/trials" / variant_trial["trial_id"] / "run_spec.json").read_text()
        )
        assert (spec["trial_id"], spec["tagging"]["tagset"]) == (variant_trial["trial_id"], "penn")


@pytest.mark.slow
def test_a_study_changes_training_and_an_environment_a_reader_that_is_called_by_its_parts(study, kedro_run, project):
    joined = "      gated: { title: Gated, change: { reader: transformer+gated, head: options } }\n"
    text = STUDY.replace("      poi_net: { title: POI-Net }\n", joined).replace("poi_net: { sample", "gated: { sample")
    folder = study(text.replace("[0, 1]", "[0]\n    training: { sample: { learning_rate: 1.0e-3 } }"))
    parameters = project / "conf" / "test" / "parameters.yml"
    before = parameters.read_text()
    parameters.write_text(f"{before}readers: {{ transformer+gatd: {{ hops: 2 }} }}\n")
    with pytest.raises(CoattendError, match=r"parameters.yml, line \d+, readers.transformer\+gatd: .*'gatd'.*'gated'"):
        kedro_run("study_mine_turns", study=ONE_BY_ONE)
    parameters.write_text(f"{before}readers: {{ transformer+gated: {{ hops: 2 }} }}\n")
    kedro_run("study_mine_turns", study=ONE_BY_ONE)
    (plain,), (gated,) = (results_in(folder)["trials"]["sample"][name] for name in ("plain", "gated"))
    assert (gated["variant"], gated["head"], gated["options"]["hops"]) == ("transformer+gated", "options", 2)
    assert plain["training"]["learning_rate"] == gated["training"]["learning_rate"] == 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [("{ turns: -4 }", r"option 'turns' .*greater than"), ("{ strategy: foo }", r"option 'strategy' .*'forgetting'")],
)
def test_an_environments_option_is_refused_with_its_variant_before_any_is_trained(
    study, kedro_run, project, options, message
):
    folder = study(STUDY)
    with (project / "conf" / "test" / "parameters.yml").open("a") as parameters:
        parameters.write(f"readers: {{ poi_net: {options} }}\n")
    with pytest.raises(CoattendError, match=rf"^study\.mine_turns\.sample\.poi_net, {message}"):
        kedro_run("study_mine_turns", study=ONE_BY_ONE)
    assert not (folder / "costs.json").exists()


def test_variants_that_turn_out_to_answer_different_questions_are_refused_before_any_is_trained(study, kedro_run):
    words = "      aoa_reader: { title: AoA Reader, change: { reader: aoa_reader } }\n"
    folder = study(STUDY.replace(", head: options", "").replace("    printed:", f"{words}    printed:"))
    with pytest.raises(CoattendError, match="'aoa_reader' answers word on sample, and 'plain' options"):
        kedro_run("study_mine_turns", study=ONE_BY_ONE)
    assert not trial_files(folder)


@pytest.mark.slow
def test_a_benchmark_without_known_answers_makes_a_study_without_scores(study, kedro_run, project, monkeypatch):
    monkeypatch.setenv("COATTEND_RAW", str(project / "raw"))
    raw = project / "raw" / "recam"
    raw.mkdir(parents=True)
    row = {"question": "After a while @placeholder slept ."} | {f"option_{n}": f"name {n}" for n in range(5)}
    for split, label, hours in (("train", {"label": 1}, range(24)), ("dev", {}, range(30, 34))):
        rows = [row | label | {"article": f"They met . {n} hours later they slept ."} for n in hours]
        for task in (1, 2):
            (raw / f"Task_{task}_{split}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in rows))
    base = "reader: poi_net, training: { epochs: 1, evaluations: 1, max_questions: 8 }"
    text = STUDY.replace("sample", "recam").replace("[0, 1]", "[0]").replace("reader: poi_net, head: options", base)
    settings = "    shows: [by_answer_pos, ensemble, attention]\n"
    settings += f"    examples: [{{ benchmark: recam, question: {row['question']!r} }}]\n"
    folder = study(text.replace("    printed:", f"{settings}    printed:"))
    kedro_run("study_mine_turns", study=ONE_BY_ONE)
    assert json.loads((folder / "costs.json").read_text())["resolves"] == {"recam": None}
    assert results_in(folder)["rows"] == []
    assert "POI-Net (poi_net)" in (folder / "recam_attention.html").read_text()
    looked_at = json.loads((folder / "recam_attention.json").read_text())["questions"]
    assert [question["question"] for question in looked_at] == [row["question"]]  # The example alone, of many.
