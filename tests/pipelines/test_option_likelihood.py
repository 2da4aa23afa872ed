"""A language model as it is goes from the tables to the page like every reader, without a training node."""

import json
from pathlib import Path

import mlflow
import pytest
from mlflow import MlflowClient
from sampled import answered
from transformers import AutoTokenizer

from coattend.errors import CoattendError
from coattend.evaluation.calibration import probabilities
from coattend.pipeline_registry import register_pipelines
from coattend.reports.euroeval import vocabulary_size


@pytest.mark.slow
def test_a_named_model_is_answered_scored_tracked_and_compared(kedro_run, sample_project, language_model):
    entry = {"model": str(language_model), "normalise": "none"}
    kedro_run("sample", "sample.option_likelihood", readers={"option_likelihood": entry}, tracking={"models": True})
    metrics = json.loads(
        (sample_project / "data/test/07_model_output/sample/option_likelihood/metrics.json").read_text()
    )
    (trial,) = metrics["trials"]
    assert metrics["splits"]["dev"]["all"]["accuracy"]["seeds"].keys() == {"0"}
    assert 0 <= metrics["calibration"]["dev"]["ece"]["mean"] <= 100
    folder = sample_project / "data/test/06_models/trials" / trial["trial_id"]
    assert [file.name for file in (folder / "model").iterdir()] == ["reader.json"]
    assert vocabulary_size(folder / "model") == len(AutoTokenizer.from_pretrained(language_model))
    client = MlflowClient(f"sqlite:///{sample_project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample").experiment_id
    (run,) = client.search_runs([experiment], "tags.kind = 'trial'")
    assert run.data.params["normalise"] == "none"
    assert run.data.metrics["dev.accuracy"] == metrics["splits"]["dev"]["all"]["accuracy"]["mean"]
    kedro_run("reporting", "sample", readers={"option_likelihood": entry})
    page = (sample_project / "data/test/08_reporting/sample/results.md").read_text()
    (costs,) = [line for line in page.splitlines() if line.startswith("| option_likelihood") and "none (" in line]
    assert f"0 (of {trial['parameters']:,})" in costs
    # It answers a file of questions as it was scored, by its trial and by the model that is logged of it.
    questions = answered(sample_project, "option_likelihood")[:6]
    rows = [{"passage": q.passage, "question": q.question, "options": list(q.options)} for q, _ in questions]
    (sample_project / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for model in ("sample.option_likelihood/0", run.info.run_id):
        kedro_run("prediction", prediction={"model": model, "input": str(sample_project / "rows.jsonl")})
        lines = (sample_project / "data/test/07_model_output/predictions/rows/answers.jsonl").read_text().splitlines()
        for line, (_, row) in zip(lines, questions, strict=True):
            answer = json.loads(line)
            assert (answer["problem"], answer["answer"], answer["label"]) == (None, row["prediction"], row["label"])
            assert answer["probabilities"] == pytest.approx(probabilities(row["scores"], "likelihood"), abs=1e-4)
    (logged,) = client.search_logged_models([experiment], f"source_run_id = '{run.info.run_id}'")
    model = Path(logged.artifact_location.removeprefix("file://"))
    (response,) = mlflow.pyfunc.load_model(str(model)).predict(rows[:1])
    assert response["answer"] == questions[0][1]["prediction"]
    card = (model / "README.md").read_text()
    assert f"The language model `{language_model}` as it is" in card
    # It has learned nothing of the benchmark, and its trials have no weights to share or to look into.
    with pytest.raises(CoattendError, match="no reader of it was scored on dev and logged as a model"):
        kedro_run("champion", "sample")
    with pytest.raises(CoattendError, match="is a language model as it is, whose trials have no weights"):
        kedro_run("share", share={"model": "sample.option_likelihood/0"})
    with pytest.raises(CoattendError, match="which has no attention to show"):
        kedro_run("attention", attention={"left": "sample.option_likelihood/0"})


STUDY = """\
paper: {{ title: Beside, authors: [A. Nobody], year: 2026, venue: none, key: nobody2026 }}
studies:
  turns:
    title: Whether it is worth it
    source: Beside, table 1
    benchmarks: [sample]
    protocol: frozen
    seeds: [0, 1]
    base: {{ reader: plain, head: options }}
    baseline: plain
    variants:
      plain: {{ title: Baseline }}
    options: {{ pooling: max }}
    beside: ["option_likelihood:{model}"]
    shows: [parameters, peak_memory]
"""


@pytest.mark.slow
def test_a_study_has_a_row_for_each_model_beside_its_variants(study, kedro_run, language_model):
    folder = study(STUDY.format(model=language_model))
    for _ in range(2):  # Nothing is answered again.
        kedro_run("study_mine_turns", study={"processes": 1})
    findings = json.loads((folder / "findings.json").read_text())
    row = f"option_likelihood_{language_model.name}"
    assert findings["failures"] == []
    assert [len(findings["trials"]["sample"][name]) for name in ("plain", row)] == [2, 1]
    assert findings["trials"]["sample"][row][0]["encoder"] == str(language_model)
    page = (folder / "table.md").read_text()
    titled = [line for line in page.splitlines() if line.startswith(f"| {language_model}, option_likelihood")]
    # Its score beside the baseline, and its cost.
    assert len(titled) >= 2
    assert any("answered, none trained" in line for line in titled)


SPANS = """\
  spans:
    title: The same of spans
    source: Beside, table 2
    benchmarks: [sample]
    base: { reader: plain, head: span }
    baseline: plain
    variants:
      plain: { title: Baseline }
      poi_net: { title: POI-Net, change: { reader: poi_net } }
"""


@pytest.mark.slow
def test_an_environment_puts_a_model_beside_every_study_that_it_can_answer(study, kedro_run, project, language_model):
    model, row = f"option_likelihood:{language_model}", f"option_likelihood_{language_model.name}"
    folder = study(STUDY.replace('    beside: ["option_likelihood:{model}"]\n', "").format() + SPANS)
    (project / "conf/test/parameters_models.yml").write_text(f"study: {{ beside: {model} }}\n")
    kedro_run("study_mine_turns", study={"processes": 1, "seeds": [0]})
    assert list(json.loads((folder / "findings.json").read_text())["trials"]["sample"]) == ["plain", row]
    assert not [node.name for node in register_pipelines()["study_mine_spans"].nodes if row in node.name]
    # Where a study of spans itself is to have such a row, the reason why it cannot is told.
    with pytest.raises(
        CoattendError, match=r"studies\.mine_spans\.beside: .*chooses among options, and 'plain' answers"
    ):
        kedro_run("study_mine_spans", studies={"mine_spans": {"beside": model}})
    with pytest.raises(CoattendError, match=r"study\.beside: there is no reader 'option_likelihod'"):
        kedro_run("study_mine_turns", study={"beside": ["option_likelihod:here"]})
    with pytest.raises(CoattendError, match=r"'Qwen/Qwen3-0.6B' is not <entry>:<model>"):
        kedro_run("study_mine_turns", study={"beside": ["Qwen/Qwen3-0.6B"]})


def test_without_a_model_it_has_no_nodes_and_the_error_says_how_to_name_one(kedro_run):
    nodes = {node.name for pipeline in register_pipelines().values() for node in pipeline.nodes}
    assert not [name for name in nodes if "option_likelihood" in name]
    with pytest.raises(
        CoattendError, match=r"names no language model.*or with --params readers\.option_likelihood\.model="
    ):
        kedro_run("", "sample.option_likelihood")
